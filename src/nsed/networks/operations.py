"""Operations: from scores in the cells that arcs leave to log-probabilities of the arcs, in one of two normalisations.

`incoming` (the paper, Equation 3): the arcs that enter a cell compete, and the Matcher's non-match class with them.
What writes the next symbol is then known only in part, because the delete arc into the next column depends on the
symbol: Equation 7 leaves it out.

`outgoing` (exact): in each cell one distribution over all that can happen next. `delete`, `insert y` and `substitute y`
compete; where the source is consumed only inserts remain, and the end is an insert that is possible only there. So `log
p(target | source)` is exact, sums to one over all targets, and the next-symbol distribution needs no approximation.

Both work on whole tables and, as decoding needs it, column by column: a step costs a column, never the whole table.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from nsed.encoders.base import inside
from nsed.kernels.dispatch import ARCS
from nsed.kernels.torch.arcs import entered as moved_to_ends
from nsed.kernels.torch.arcs import next_symbol, possible_cells
from nsed.lattice import Arcs
from nsed.types import NEG, Lengths, PerPair, Table

ClassScores = Float[Tensor, "batch src tgt classes"]


def entered(delete: Table, insert: Table, substitute: Table) -> Arcs:
    """Scores shifted from the cells that arcs leave to the cells that they enter; NEG where no arc enters."""
    return Arcs(*moved_to_ends(delete, insert, substitute))


class MatchScores(NamedTuple):
    """Log-probabilities of the arcs into each cell, and of the non-match class: the strings do not match."""

    arcs: Arcs
    non_match: Table


def match_scores(scores: ClassScores) -> MatchScores:
    """Operation inventory `shared`: delete, insert, substitute and non-match, softmax over incoming arcs.

    The non-match class of a cell is scored where its substitution starts, on the borders where its only arc starts.

    Paper: Equation 3 and section 3.1.
    """
    delete, insert, substitute, non_match = ARCS.choose(scores).code.match_arcs(scores)
    return MatchScores(Arcs(delete, insert, substitute), non_match)


class TargetScores(NamedTuple):
    """Operation inventory `per_target`: one delete class, and one insert and one substitute class per target symbol."""

    classes: ClassScores
    """Class scores, in this order: delete, inserts, substitutes."""

    @property
    def symbols(self) -> int:
        """Target vocabulary size."""
        return (self.classes.shape[-1] - 1) // 2

    @property
    def delete(self) -> Table:
        """Delete scores: of deleting the next source symbol."""
        return self.classes[..., 0]

    @property
    def insert(self) -> ClassScores:
        """Insert scores: of inserting each target symbol."""
        return self.classes[..., 1 : 1 + self.symbols]

    @property
    def substitute(self) -> ClassScores:
        """Substitute scores: of writing each target symbol for the next source symbol."""
        return self.classes[..., 1 + self.symbols :]


Column = Float[Tensor, "batch src"]
Written = Float[Tensor, "batch symbols"]
Rows = Int[Tensor, " rows"]
Memory = tuple[Tensor, ...]
"""Decoder state: what a column hands on to the next, tensors whose first axis is the batch of hypotheses."""


class Opened(NamedTuple):
    """Open lattice column of incremental decoding: its prefix is known, the next symbol is not."""

    log_alpha: Column
    """Forward log-probability: of having written the prefix with i source symbols consumed."""
    written: Written
    """Log-probability of the prefix and each next symbol; with `</s>`, that of the prefix as a whole target."""
    scores: TargetScores
    """Class scores of the column's cells, as `close` needs them."""

    def of_symbols(self, rows: Rows, symbols: Rows) -> tuple[Column, Column]:
        """Insert and substitute scores of one symbol per chosen hypothesis, in every cell of the column."""
        return self.scores.insert[rows, :, 0, symbols], self.scores.substitute[rows, :, 0, symbols]


class NormalisedArcs(NamedTuple):
    """Arc log-probabilities of given targets, with what happens after their last cell."""

    arcs: Arcs
    """Arc log-probabilities."""
    end: PerPair
    """End log-probability: of the target's end when all is consumed and written."""


class Normalisation(ABC):
    """Normalisation of scores into arcs: which operations compete, for whole targets or column by column."""

    @abstractmethod
    def normalise(
        self, scores: TargetScores, target: Int[Tensor, "batch m"], lengths: tuple[Lengths, Lengths]
    ) -> NormalisedArcs:
        """Lattices of given targets, normalised."""

    @abstractmethod
    def begin(self, like: Column) -> Memory:
        """Initial state: what the first column starts from."""

    @abstractmethod
    def open(self, column: TargetScores, memory: Memory, source_lengths: Lengths) -> Opened:
        """Lattice column opened, from the scores of its cells and what the one before handed on."""

    @abstractmethod
    def close(self, opened: Opened, rows: Rows, symbols: Rows) -> Memory:
        """Lattice column closed: what to hand on when chosen hypotheses go on with a known symbol each."""


def first_column(like: Column) -> Column:
    """Initial forward column, before anything is written: all probability at i = 0."""
    column = torch.full_like(like, NEG)
    column[:, 0] = 0.0
    return column


def from_above(column: Column) -> Column:
    """Row shift: each row's value moved one row down; NEG in row 0."""
    return functional.pad(column[:, :-1], (1, 0), value=NEG)


def with_deletes(entering: Column, delete: Column) -> Column:
    """Parallel scan, log2(rows) steps, over deletions: alpha[i] = log(exp(entering[i]) + exp(alpha[i-1] + delete[i])).

    `delete[i]` is the arc from row i-1 to row i. Doubling only ever adds log-weights, so nothing cancels.
    """
    reached, weight, reach = entering, delete.clamp(min=NEG), 1
    while reach < entering.shape[1]:
        reached = torch.logaddexp(reached, _moved(reached, reach) + weight)
        weight = (weight + _moved(weight, reach)).clamp(min=NEG)
        reach *= 2
    return reached.clamp(min=NEG)


def _moved(column: Column, rows: int) -> Column:
    return functional.pad(column[:, :-rows], (rows, 0), value=NEG)


class Incoming(Normalisation):
    """Incoming normalisation, the paper's: alpha is a mixture of its predecessors and stays between 0 and 1."""

    def normalise(
        self, scores: TargetScores, target: Int[Tensor, "batch m"], lengths: tuple[Lengths, Lengths]
    ) -> NormalisedArcs:
        """See `Normalisation.normalise`: no target has an end of its own.

        Alpha at (n, m) is between 0 and 1, but no probability over targets. Paper: Equation 3, with one insert and
        substitute class per target symbol.
        """
        picked = entered(scores.delete, next_symbol(scores.insert, target), next_symbol(scores.substitute, target))
        rivals = entered(scores.delete, scores.insert.logsumexp(-1), scores.substitute.logsumexp(-1))
        total = torch.stack(list(rivals)).logsumexp(0)
        return NormalisedArcs(picked.map(lambda table: (table - total).clamp(min=NEG)), total.new_zeros(len(total)))

    def begin(self, like: Column) -> Memory:
        """See `Normalisation.begin`: alpha, chosen insert and substitute scores, and those of all symbols; history."""
        nothing = torch.full_like(like, NEG)
        return first_column(like), nothing, nothing, nothing, nothing, like.new_zeros(len(like))

    def open(self, column: TargetScores, memory: Memory, source_lengths: Lengths) -> Opened:
        """See `Normalisation.open`; `written` adds up the logarithms of the next-symbol distributions."""
        before, insert, substitute, any_insert, any_substitute, history = memory
        delete, substitute, any_substitute = map(from_above, (column.delete[:, :, 0], substitute, any_substitute))
        total = torch.stack([delete, any_insert, any_substitute]).logsumexp(0)
        entering = torch.logaddexp(before + insert - total, from_above(before) + substitute - total)
        is_first = (any_insert <= NEG).all(1, keepdim=True)
        entering = torch.where(is_first, before, entering).clamp(min=NEG)
        log_alpha = with_deletes(entering, delete - total)
        written = next_symbol_distribution(column, log_alpha[..., None], source_lengths)[:, 0]
        return Opened(log_alpha, history[:, None] + written, column)

    def close(self, opened: Opened, rows: Rows, symbols: Rows) -> Memory:
        """See `Normalisation.close`."""
        any_insert, any_substitute = (
            part[:, :, 0].logsumexp(-1)[rows] for part in (opened.scores.insert, opened.scores.substitute)
        )
        chosen = opened.of_symbols(rows, symbols)
        return opened.log_alpha[rows], *chosen, any_insert, any_substitute, opened.written[rows, symbols]


def next_symbol_distribution(
    scores: TargetScores, log_alpha: Table, source_lengths: Lengths
) -> Float[Tensor, "batch tgt symbols"]:
    """Next-symbol distribution: log-probabilities after each target prefix, rows weighted by the prefix's alpha.

    Insertions leave (i, j) with weight alpha[i, j]; the substitution beside it, into the same cell (i, j + 1), leaves
    (i - 1, j) with weight alpha[i - 1, j]. Rows beyond a source's own length count for nothing.

    Paper: Equations 6 and 7. Ours weights rows with the alpha of the prefix before the symbol, and is normalised.
    """
    above = functional.pad(scores.substitute[:, :-1], (0, 0, 0, 0, 1, 0), value=NEG)
    total = torch.logaddexp(scores.insert.logsumexp(-1), above.logsumexp(-1))[..., None]
    padding = ~inside(source_lengths + 1, log_alpha.shape[1])[:, :, None]
    beside, alpha_above = (
        alpha.masked_fill(padding, NEG)
        for alpha in (log_alpha, functional.pad(log_alpha[:, :-1], (0, 0, 1, 0), value=NEG))
    )
    inserted = scores.insert - total + beside[..., None]
    substituted = (above - total).clamp(min=NEG) + alpha_above[..., None]
    written = torch.logaddexp(inserted, substituted).logsumexp(1)
    return written - written.logsumexp(-1, keepdim=True)


class Outgoing(Normalisation):
    """Outgoing normalisation: exact conditional probabilities."""

    def normalise(
        self, scores: TargetScores, target: Int[Tensor, "batch m"], lengths: tuple[Lengths, Lengths]
    ) -> NormalisedArcs:
        """See `Normalisation.normalise`: with the end, alpha at (n, m) is exact, and 1 over all targets."""
        *arcs, end = ARCS.choose(scores.classes).code.outgoing_arcs(scores.classes, target, lengths)
        return NormalisedArcs(Arcs(*arcs), end)

    def begin(self, like: Column) -> Memory:
        """See `Normalisation.begin`."""
        return (first_column(like),)

    def open(self, column: TargetScores, memory: Memory, source_lengths: Lengths) -> Opened:
        """See `Normalisation.open`."""
        (entering,) = memory
        leaving = leaving_cells(column, source_lengths)
        log_alpha = with_deletes(entering, from_above(leaving.delete[:, :, 0]))
        writing = torch.logaddexp(leaving.insert[:, :, 0], leaving.substitute[:, :, 0])
        return Opened(log_alpha, (log_alpha[..., None] + writing).logsumexp(1), leaving)

    def close(self, opened: Opened, rows: Rows, symbols: Rows) -> Memory:
        """See `Normalisation.close`."""
        log_alpha = opened.log_alpha[rows]
        inserted, substituted = (log_alpha + scores for scores in opened.of_symbols(rows, symbols))
        return (torch.logaddexp(inserted, from_above(substituted)).clamp(min=NEG),)


def leaving_cells(scores: TargetScores, source_lengths: Lengths) -> TargetScores:
    """Softmax per cell: log-probabilities of everything that can happen in each cell."""
    return TargetScores(possible_cells(scores.classes, source_lengths).log_softmax(-1))
