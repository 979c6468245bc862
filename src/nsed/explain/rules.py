"""Learned rules: posteriors of all lattices of a data set, added up per operation, with neighbours and examples.

The posteriors of a batch come as flat arrays: operation, neighbours, how probable, in which pair.
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch

from nsed.errors import ArgumentError
from nsed.explain.rule_statistics import BestExamples, KeyedSums, Shown, Sums, g_squared
from nsed.explain.rule_table import ContextSide, Rule, RuleContext, RuleExample, RuleKind, RuleTable
from nsed.lattice import EditLattice
from nsed.progress import OnBatch, ignore
from nsed.text import EncodedStrings, PairBatch, Pairs, Tokenizer, Tokenizers, Vocabulary
from nsed.text.pairs import PairsLike
from nsed.types import END, PAD, REACHABLE, START

LEAST_POSTERIOR = 1e-7
"""Minimum posterior: what is below is rounding."""


class Uses(NamedTuple):
    """Operation uses: columns of equal length, a row per operation and place.

    `source` is PAD for an insertion, `target` for a deletion; `left` and `right` are the neighbours in the source,
    START and END at its edges. `pair` is a row of the batch, `i` and `j` the symbols before the operation.
    """

    source: np.ndarray
    target: np.ndarray
    left: np.ndarray
    right: np.ndarray
    weight: np.ndarray
    pair: np.ndarray
    i: np.ndarray
    j: np.ndarray

    def where(self, chosen: np.ndarray) -> "Uses":
        """Row selection: a mask, or their places in a new order."""
        return Uses(*(column[chosen] for column in self))


def with_edges(source: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Edge symbols around each padded source, START and END: symbol i, from 1, stands in column i."""
    framed = np.pad(source, ((0, 0), (1, 1)), constant_values=PAD)
    framed[:, 0] = START
    framed[np.arange(len(framed)), lengths + 1] = END
    return framed


def uses_of(lattice: EditLattice, framed: np.ndarray, target: np.ndarray) -> Uses:
    """Operation uses of a batch of lattices, with their posteriors."""
    tables = [table.detach().cpu().double().numpy() for table in lattice.posteriors]
    deleted, inserted, substituted = tables
    parts = [_deletions(deleted, framed), _insertions(inserted, framed, target)]
    parts.append(_substitutions(substituted, framed, target))
    return Uses(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def derivable(lattice: EditLattice) -> np.ndarray:
    """Derivability mask: which pairs of the batch some operations make."""
    reached: np.ndarray = (lattice.log_prob > REACHABLE).cpu().numpy()
    return reached


def opportunities_of(framed: np.ndarray, lengths: np.ndarray) -> Uses:
    """Opportunities: every source symbol between its neighbours and (source PAD) every place between symbols, once."""
    symbol_pair, i = np.nonzero(np.arange(1, framed.shape[1] - 1) <= lengths[:, None])
    symbols = framed[symbol_pair, i], framed[symbol_pair, i + 1], framed[symbol_pair, i + 2]
    gap_pair, gap = np.nonzero(np.arange(framed.shape[1] - 1) <= lengths[:, None])
    gaps = framed[gap_pair, gap], framed[gap_pair, gap + 1]
    count = len(i) + len(gap)
    return Uses(
        np.concatenate([symbols[1], np.full(len(gap), PAD)]),
        np.full(count, PAD),
        np.concatenate([symbols[0], gaps[0]]),
        np.concatenate([symbols[2], gaps[1]]),
        np.ones(count),
        np.concatenate([symbol_pair, gap_pair]),
        np.concatenate([i, gap]),
        np.zeros(count, dtype=np.int64),
    )


def _deletions(posteriors: np.ndarray, framed: np.ndarray) -> Uses:
    """Deletions, a row per source symbol, however much of the target is written: `j` is the most probable place."""
    total = posteriors.sum(2)
    pair, i = np.nonzero(total > LEAST_POSTERIOR)
    j, nothing = posteriors[pair, i].argmax(1), np.full(len(pair), PAD)
    neighbours = framed[pair, i - 1], framed[pair, i + 1]
    return Uses(framed[pair, i], nothing, *neighbours, total[pair, i], pair, i - 1, j)


def _insertions(posteriors: np.ndarray, framed: np.ndarray, target: np.ndarray) -> Uses:
    pair, i, j = np.nonzero(posteriors > LEAST_POSTERIOR)
    nothing, neighbours = np.full(len(pair), PAD), (framed[pair, i], framed[pair, i + 1])
    return Uses(nothing, target[pair, j - 1], *neighbours, posteriors[pair, i, j], pair, i, j - 1)


def _substitutions(posteriors: np.ndarray, framed: np.ndarray, target: np.ndarray) -> Uses:
    pair, i, j = np.nonzero(posteriors > LEAST_POSTERIOR)
    neighbours = framed[pair, i - 1], framed[pair, i + 1]
    return Uses(framed[pair, i], target[pair, j - 1], *neighbours, posteriors[pair, i, j], pair, i - 1, j - 1)


@runtime_checkable
class HasLattices(Protocol):
    """Lattice protocol: whatever has lattices of pairs, a Matcher, a Transducer, a learnable edit distance."""

    @property
    def tokenizers(self) -> Tokenizers:
        """Tokenizers: how sources and targets become numbers."""

    def lattices(self, pairs: Pairs) -> Iterator[tuple[PairBatch, EditLattice]]:
        """Lattices of pairs, in batches of similar lengths."""


class Numbered(NamedTuple):
    """Encoded side of the pairs under the numbers of its own symbols, those that the model does not know included."""

    vocabulary: Vocabulary
    strings: EncodedStrings

    @classmethod
    def of(cls, tokenizer: Tokenizer, texts: list[str]) -> "Numbered":
        """Encoded strings, cut as the model cuts them."""
        vocabulary = Tokenizer.learned(tokenizer.side, tokenizer.splitter, texts).vocabulary
        return cls(vocabulary, EncodedStrings(vocabulary.encode(tokenizer.split(text)) for text in texts))


class RuleCounts(NamedTuple):
    """Rule counts. An operation's number is `source * targets + target`, PAD (0) for what it does not have.

    `left` and `right` have the key `operation * sources + neighbour`, the opportunities `source * sources + neighbour`;
    without contexts the neighbour is always PAD.
    """

    source: Numbered
    target: Numbered
    left: Sums
    right: Sums
    left_opportunities: Sums
    right_opportunities: Sums
    examples: Shown
    underivable: int


class _Counter:
    """Rule counter: sums of one data set, filled batch by batch."""

    def __init__(self, source: Numbered, target: Numbered, *, contexts: bool, examples: int) -> None:
        self._source, self._target, self._contexts = source, target, contexts
        self._sums = [KeyedSums() for _ in range(4)]
        self._examples = BestExamples(examples)
        self._unusual = np.abs(source.strings.lengths - np.median(source.strings.lengths))
        self._underivable = 0

    def add(self, uses: Uses, opportunities: Uses, rows: np.ndarray, words: np.ndarray) -> None:
        """Add the operations of a batch, whose pairs are these rows of the data and have these sources."""
        operation = uses.source * len(self._target.vocabulary) + uses.target
        for place, (numbers, used) in enumerate([(operation, uses), (opportunities.source, opportunities)]):
            for sums, neighbour in zip(self._sums[2 * place :], (used.left, used.right), strict=False):
                self._add_to(sums, numbers, neighbour, used.weight)
        pair = rows[uses.pair]
        self._examples.add(Shown(operation, words[pair], self._unusual[pair], pair, uses.i, uses.j, uses.weight))

    def _add_to(self, sums: KeyedSums, numbers: np.ndarray, neighbour: np.ndarray, weight: np.ndarray) -> None:
        sums.add(numbers * len(self._source.vocabulary) + (neighbour if self._contexts else 0), weight)

    def leave_out(self, count: int) -> None:
        """Leave out so many pairs that cannot be derived."""
        self._underivable += count

    def counts(self) -> RuleCounts:
        """Rule counts of everything added."""
        left, right, left_opportunities, right_opportunities = (sums.total() for sums in self._sums)
        sums = left, right, left_opportunities, right_opportunities
        return RuleCounts(self._source, self._target, *sums, self._examples.best(), self._underivable)


@torch.no_grad()
def count_rules(model: HasLattices, pairs: Pairs, *, contexts: bool, examples: int, on_batch: OnBatch) -> RuleCounts:
    """Count rules: add up the posteriors of the lattices of all pairs."""
    sources, targets = list(pairs.sources), list(pairs.targets)
    source, target = Numbered.of(model.tokenizers.source, sources), Numbered.of(model.tokenizers.target, targets)
    counter = _Counter(source, target, contexts=contexts, examples=examples)
    _, words = np.unique(np.array(sources, dtype=object), return_inverse=True)
    for batch, lattice in model.lattices(pairs):
        rows, reached = batch.rows.cpu().numpy(), derivable(lattice)
        lengths = source.strings.lengths[rows]
        framed = with_edges(source.strings.padded(rows).numpy(), lengths)
        possible = opportunities_of(framed, lengths)
        uses = uses_of(lattice, framed, target.strings.padded(rows).numpy())
        counter.add(uses, possible.where(reached[possible.pair]), rows, words)
        counter.leave_out(int((~reached).sum()))
        on_batch(len(rows))
    return counter.counts()


LEAST_COUNT = 0.5
"""Minimum expected count from which a neighbour is listed."""
EDGES = {START: "^", END: "$"}


def contexts_of(counts: RuleCounts) -> dict[int, tuple[RuleContext, ...]]:
    """Rule contexts of each operation's number, the most surprising first."""
    found: dict[int, list[RuleContext]] = {}
    for operation, context in (*_one_side(counts, "after"), *_one_side(counts, "before")):
        found.setdefault(operation, []).append(context)
    return {operation: tuple(sorted(some, key=_order)) for operation, some in found.items()}


def _order(context: RuleContext) -> tuple[float, str, str]:
    return -context.g2, context.side, context.symbol


def _one_side(counts: RuleCounts, side: ContextSide) -> Iterator[tuple[int, RuleContext]]:
    used, possible = (
        (counts.left, counts.left_opportunities) if side == "after" else (counts.right, counts.right_opportunities)
    )
    sources, targets = len(counts.source.vocabulary), len(counts.target.vocabulary)
    operation, neighbour = np.divmod(used.keys, sources)
    figures = _compared(used, possible, operation, (sources, targets))
    listed, names = used.values >= LEAST_COUNT, counts.source.vocabulary.names
    columns = (column[listed].tolist() for column in (operation, neighbour, *figures))
    for number, other, *numbers in zip(*columns, strict=True):
        yield number, RuleContext(side, EDGES.get(other, names[other]), other in EDGES, *numbers)


def _compared(
    used: Sums, possible: Sums, operation: np.ndarray, sizes: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Context statistics: count, opportunities, probability, ratio and signed G² of each operation and neighbour."""
    sources, targets = sizes
    source, neighbour = operation // targets, used.keys % sources
    count, tries = used.values, possible.of(source * sources + neighbour)
    all_count = used.grouped(operation).of(operation)
    all_tries = possible.grouped(possible.keys // sources).of(source)
    here, anywhere = count / tries, all_count / all_tries
    g2 = g_squared(count, tries, all_count - count, all_tries - tries)
    return count, tries, here, here / anywhere, np.where(here >= anywhere, g2, -g2)


def rules(
    model: HasLattices, pairs: PairsLike, *, contexts: bool = True, examples: int = 4, on_batch: OnBatch = ignore
) -> RuleTable:
    """Learned rules that a model applies to pairs; of labelled pairs, to those that match.

    Every source symbol is deleted or substituted once and every target symbol inserted or substituted once, in
    expectation, so the counts of a symbol's rules add up to its occurrences. `on_batch` gets the number of pairs just
    done. Raises `ArgumentError` where there is no pair.
    """
    chosen = Pairs.of(pairs).positives()
    if not len(chosen):
        raise ArgumentError("pairs", got="no pair, or none that matches", expected="at least one to find rules in")
    counts = count_rules(model, chosen, contexts=contexts, examples=examples, on_batch=on_batch)
    found = contexts_of(counts) if contexts else {}
    shown = _examples(counts, chosen, model.tokenizers)
    made = _rules(counts, found, shown)
    return RuleTable(made, len(chosen) - counts.underivable, counts.underivable, separators_of(model.tokenizers))


def separators_of(tokenizers: Tokenizers) -> tuple[str, str]:
    """Symbol separators on both sides."""
    source, target = (tokenizer.splitter.join(("", "")) for tokenizer in (tokenizers.source, tokenizers.target))
    return source, target


def kind_of(source: str, target: str) -> RuleKind:
    """Operation kind: what it does with these symbols, empty where it has none."""
    if not source:
        return "insert"
    if not target:
        return "delete"
    return "keep" if source == target else "substitute"


def _rules(
    counts: RuleCounts, contexts: dict[int, tuple[RuleContext, ...]], examples: dict[int, list[RuleExample]]
) -> tuple[Rule, ...]:
    sources, targets = counts.source.vocabulary, counts.target.vocabulary
    totals = counts.left.grouped(counts.left.keys // len(sources))
    tries = counts.left_opportunities.grouped(counts.left_opportunities.keys // len(sources))
    possible, everything = tries.of(totals.keys // len(targets)), totals.values.sum()
    columns = zip(totals.keys.tolist(), totals.values.tolist(), possible.tolist(), strict=True)
    made = []
    for number, count, opportunities in columns:
        s, t = divmod(number, len(targets))
        source, target = "" if s == PAD else sources.names[s], "" if t == PAD else targets.names[t]
        known = contexts.get(number, ()), tuple(examples.get(number, ()))
        figures = count, opportunities, count / opportunities, count / everything
        made.append(Rule(kind_of(source, target), source, target, *figures, *known))
    return tuple(made)


def _examples(counts: RuleCounts, pairs: Pairs, tokenizers: Tokenizers) -> dict[int, list[RuleExample]]:
    found: dict[int, list[RuleExample]] = {}
    for number, pair, i, j, weight in _rows(counts.examples):
        source, target = tokenizers.source.split(pairs.sources[pair]), tokenizers.target.split(pairs.targets[pair])
        found.setdefault(number, []).append(RuleExample(source, target, i, j, min(1.0, weight)))
    return found


def _rows(shown: Shown) -> "zip[tuple[int, int, int, int, float]]":
    columns: list[np.ndarray] = [shown.operation, shown.pair, shown.i, shown.j, shown.weight]
    return zip(*(column.tolist() for column in columns), strict=True)
