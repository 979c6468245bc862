"""Expected operations of many pairs, added up in arrays: how often, between which neighbours, with which examples."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch

from nsed.explain.keyed_sums import KeyedSums, Sums
from nsed.explain.rule_examples import BestExamples, Shown
from nsed.explain.rule_uses import Uses, derivable, opportunities_of, uses_of, with_edges
from nsed.lattice import EditLattice
from nsed.progress import OnBatch
from nsed.text import Coders, EncodedStrings, PairBatch, Pairs, StringCoder, Vocabulary


@runtime_checkable
class HasLattices(Protocol):
    """Whatever has lattices of pairs: a Matcher, a Transducer, a learnable edit distance."""

    @property
    def coders(self) -> Coders:
        """How sources and targets become numbers."""

    def lattices(self, pairs: Pairs) -> Iterator[tuple[PairBatch, EditLattice]]:
        """The lattices of pairs, in batches of similar lengths."""


class Numbered(NamedTuple):
    """One side of the pairs under the numbers of its own symbols, those that the model does not know included."""

    vocabulary: Vocabulary
    strings: EncodedStrings

    @classmethod
    def of(cls, coder: StringCoder, texts: list[str]) -> "Numbered":
        """Cut as the model cuts them."""
        vocabulary = StringCoder.learned(coder.side, coder.symboliser, texts).vocabulary
        return cls(vocabulary, EncodedStrings.of(texts, coder.symboliser, vocabulary))


class RuleCounts(NamedTuple):
    """What was added up. An operation's number is `source * targets + target`, PAD (0) for what it does not have.

    `left` and `right` have the key `operation * sources + neighbour`, the opportunities `source * sources + neighbour`;
    without contexts the neighbour is always PAD, and nothing is to the right.
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
    """Sums of one data set, filled batch by batch."""

    def __init__(self, source: Numbered, target: Numbered, *, contexts: bool, examples: int) -> None:
        self._source, self._target, self._contexts = source, target, contexts
        self._sums = [KeyedSums() for _ in range(4)]
        self._examples = BestExamples(examples)
        self._unusual = np.abs(source.strings.lengths - np.median(source.strings.lengths))
        self._underivable = 0

    def add(self, uses: Uses, opportunities: Uses, rows: np.ndarray, words: np.ndarray) -> None:
        """The operations of a batch, whose pairs are these rows of the data and have these sources."""
        operation = uses.source * len(self._target.vocabulary) + uses.target
        for place, (numbers, used) in enumerate([(operation, uses), (opportunities.source, opportunities)]):
            for sums, neighbour in zip(self._sums[2 * place :], (used.left, used.right), strict=False):
                self._add_to(sums, numbers, neighbour, used.weight)
        pair = rows[uses.pair]
        self._examples.add(Shown(operation, words[pair], self._unusual[pair], pair, uses.i, uses.j, uses.weight))

    def _add_to(self, sums: KeyedSums, numbers: np.ndarray, neighbour: np.ndarray, weight: np.ndarray) -> None:
        sums.add(numbers * len(self._source.vocabulary) + (neighbour if self._contexts else 0), weight)

    def leave_out(self, count: int) -> None:
        """So many pairs cannot be derived."""
        self._underivable += count

    def counts(self) -> RuleCounts:
        """All of it."""
        left, right, left_opportunities, right_opportunities = (sums.total() for sums in self._sums)
        sums = left, right, left_opportunities, right_opportunities
        return RuleCounts(self._source, self._target, *sums, self._examples.best(), self._underivable)


@torch.no_grad()
def count_rules(model: HasLattices, pairs: Pairs, *, contexts: bool, examples: int, on_batch: OnBatch) -> RuleCounts:
    """Go through the lattices of all pairs and add their posteriors up."""
    sources, targets = list(pairs.sources), list(pairs.targets)
    source, target = Numbered.of(model.coders.source, sources), Numbered.of(model.coders.target, targets)
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
