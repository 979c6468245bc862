"""Operations: from scores in the cells that arcs leave to log-probabilities of the arcs.

Two normalisations. `incoming` (the paper, Equation 3): the arcs that enter a cell compete, and the Matcher's non-match
class with them. `outgoing`: the operations that leave a cell compete, which makes exact conditional probabilities.
Both work on whole tables and, as decoding needs it, column by column: a step costs a column, never the whole table.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from nsed.kernels.dispatch import ARCS
from nsed.kernels.torch.arcs import entered as moved_to_ends
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
