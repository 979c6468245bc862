"""Operation table: the memoryless edit model, one probability per edit operation, whatever the context; learned by EM.

Expectation-maximization counts operations by how probable they are, then normalises.
Paper: section 2, Equation 2; Ristad and Yianilos 1998, Algorithms 1 to 5.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import log
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from nsed.errors import ArgumentError
from nsed.lattice import Arcs, EditLattice
from nsed.networks.bulk_scores import CompiledTable, SymbolKinds
from nsed.progress import OnBatch
from nsed.text import Edit, EncodedStrings, PairBatch, Vocabulary
from nsed.text.batch import DistinctPairs
from nsed.text.edit_script import EditKind
from nsed.text.tokenizer import SPECIALS
from nsed.types import UNKNOWN

DTYPE = torch.float64
TOLERANCE = 1e-6
"""How far from one the sum of a saved table may be."""

MOST_SUBSTITUTIONS = 2**27
"""Maximum substitution table, in pairs of symbols: one gigabyte."""


class LearnedOperation(NamedTuple):
    """Operation with its probability. `cost`, its negative log, is what a weighted Levenshtein distance adds up.

    >>> operation = LearnedOperation("substitute", "k", "c", probability=0.25)
    >>> str(operation), round(operation.cost, 2)
    ('k→c', 1.39)
    """

    kind: EditKind
    source: str
    target: str
    probability: float

    @property
    def cost(self) -> float:
        """Negative log-probability, in nats."""
        return -log(self.probability)

    @property
    def numbers(self) -> dict[str, float]:
        """What is known of the operation, by name."""
        return {"probability": self.probability, "cost (nats)": self.cost}

    def __str__(self) -> str:
        return str(Edit(self.kind, self.source, self.target, 0, 0))


@dataclass(frozen=True)
class OperationTable:
    """Probability table of deleting, inserting and substituting symbols (by their numbers), and of stopping.

    All of them together sum to one, so the table is a distribution over pairs of strings. `counts` of operations have
    the same shape, and `normalised` makes them probabilities.

    Paper: section 2; Ristad and Yianilos 1998. Ours has their end mark, which the paper leaves out.
    """

    delete: Float[Tensor, " sources"]
    insert: Float[Tensor, " targets"]
    substitute: Float[Tensor, "sources targets"]
    end: Float[Tensor, ""]

    @classmethod
    def zeros(cls, source: Vocabulary, target: Vocabulary) -> "OperationTable":
        """Zero counts: an empty table to add to. Raises `ArgumentError` for vocabularies that no table can hold."""
        if len(source) * len(target) > MOST_SUBSTITUTIONS:
            raise ArgumentError(
                "pairs",
                got=f"{len(source):,} source and {len(target):,} target symbols",
                expected=f"at most {MOST_SUBSTITUTIONS:,} kinds of substitutions",
                advice="Did you mean graphemes rather than tokens?",
            )
        return cls(*(torch.zeros(size, dtype=DTYPE) for size in _sizes(source, target)))

    def check(self, source: Vocabulary, target: Vocabulary) -> None:
        """Shape check: the table must be as large as its vocabularies, and in double precision."""
        for name, size in zip(("delete", "insert", "substitute", "end"), _sizes(source, target), strict=True):
            shape, dtype = tuple(getattr(self, name).shape), getattr(self, name).dtype
            if shape != size:
                raise ArgumentError(name, got=shape, expected=f"{size}, the size of the vocabularies")
            if dtype != DTYPE:
                raise ArgumentError(name, got=dtype, expected=str(DTYPE))

    def check_probabilities(self) -> None:
        """Raise `ArgumentError` for a table that is no distribution: numbers below zero, or another sum than one."""
        least = min(float(part.min()) if part.numel() else 0.0 for part in vars(self).values())
        total = float(self.total())
        if least < 0 or not abs(total - 1) < TOLERANCE:
            got = f"numbers from {least:g} on with a sum of {total:g}"
            raise ArgumentError("table", got=got, expected="probabilities, which sum to one")

    @classmethod
    def uniform(cls, source: Vocabulary, target: Vocabulary, *, unknown: bool) -> "OperationTable":
        """Uniform distribution over the end and all operations on the vocabularies, with or without `<unk>`."""
        table = cls.zeros(source, target)
        rows, columns = _symbol_numbers(source, unknown), _symbol_numbers(target, unknown)
        table.delete[rows] = 1.0
        table.insert[columns] = 1.0
        table.substitute[rows[:, None], columns] = 1.0
        table.end.fill_(1.0)
        return table.normalised()

    def total(self) -> Float[Tensor, ""]:
        """Total mass: sum of everything in the table."""
        return self.delete.sum() + self.insert.sum() + self.substitute.sum() + self.end

    def normalised(self) -> "OperationTable":
        """M-step of EM: the same proportions, summing to one."""
        total = self.total()
        return OperationTable(self.delete / total, self.insert / total, self.substitute / total, self.end / total)

    def plus(self, other: "OperationTable") -> "OperationTable":
        """Sum of two tables of counts."""
        return OperationTable(
            *(own + more for own, more in zip(vars(self).values(), vars(other).values(), strict=True))
        )

    def mixed(self, other: "OperationTable", share: float) -> "OperationTable":
        """Interpolation (smoothing): `share` of the other table's operations in this one; the end stays as it is."""
        scale = (1 - self.end) / (1 - other.end)
        return OperationTable(
            torch.lerp(self.delete, other.delete * scale, share),
            torch.lerp(self.insert, other.insert * scale, share),
            torch.lerp(self.substitute, other.substitute * scale, share),
            self.end,
        )

    def lattice(self, batch: PairBatch, *, backend: str) -> EditLattice:
        """Lattices of some pairs under this table."""
        delete = functional.pad(self.delete.log()[batch.source], (1, 0))[:, :, None]
        insert = functional.pad(self.insert.log()[batch.target], (1, 0))[:, None, :]
        chosen = self.substitute.log()[batch.source[:, :, None], batch.target[:, None, :]]
        substitute = functional.pad(chosen, (1, 0, 1, 0))
        return EditLattice(
            delete.expand_as(substitute),
            insert.expand_as(substitute),
            substitute,
            batch.source_lengths,
            batch.target_lengths,
            backend=backend,
        )

    def compiled(self, source: EncodedStrings, target: EncodedStrings) -> CompiledTable:
        """Log-probabilities of operations as a table for the kernel, every symbol a kind of its own."""
        of_source = SymbolKinds.of_symbols(source, self.delete.log()).strings(source.starts)
        of_target = SymbolKinds.of_symbols(target, self.insert.log()).strings(target.starts)
        return CompiledTable(of_source, of_target, self.substitute.log())

    def operations(self, source: Vocabulary, target: Vocabulary) -> Iterator[LearnedOperation]:
        """Operations of probability above zero, in no particular order."""
        for s, probability in enumerate(self.delete.tolist()):
            if probability > 0:
                yield LearnedOperation("delete", source.names[s], "", probability)
        for t, probability in enumerate(self.insert.tolist()):
            if probability > 0:
                yield LearnedOperation("insert", "", target.names[t], probability)
        for s, t in self.substitute.nonzero().tolist():
            yield LearnedOperation("substitute", source.names[s], target.names[t], float(self.substitute[s, t]))


def _sizes(source: Vocabulary, target: Vocabulary) -> list[tuple[int, ...]]:
    return [(len(source),), (len(target),), (len(source), len(target)), ()]


def _symbol_numbers(vocabulary: Vocabulary, unknown: bool) -> Int[Tensor, " symbols"]:
    return torch.tensor([UNKNOWN] * unknown + list(range(len(SPECIALS), len(vocabulary))), dtype=torch.long)


def by_chance(table: OperationTable, pairs: DistinctPairs) -> np.ndarray:
    """Independence model: log p(s) + log p(t) of each pair, the margins of the table's own joint distribution.

    Each symbol is written with or without a partner, and any number of the other side's symbols before it and before
    the end, which is a geometric series.
    """
    source = _margins(table.delete + table.substitute.sum(1), table.insert.sum(), table.end, pairs.source)
    target = _margins(table.insert + table.substitute.sum(0), table.delete.sum(), table.end, pairs.target)
    return np.asarray(source[pairs.rows[0]] + target[pairs.rows[1]])


def _margins(
    symbols: Float[Tensor, " symbols"], others: Float[Tensor, ""], end: Float[Tensor, ""], strings: EncodedStrings
) -> np.ndarray:
    """Log-probability of each string."""
    log_symbols, log_end = (symbols / (1 - others)).log(), (end / (1 - others)).log()
    lengths = torch.from_numpy(strings.lengths)
    sums = torch.segment_reduce(log_symbols[torch.from_numpy(strings.flat)], "sum", lengths=lengths, initial=0.0)
    return np.asarray((sums + log_end).numpy())


class Expectation(NamedTuple):
    """Expected counts of all operations under a table (E-step), and the log-likelihood of the pairs."""

    counts: OperationTable
    log_likelihood: float


class Iteration(NamedTuple):
    """EM iteration: the log-likelihood per pair of the table that it started from, and the better table."""

    number: int
    log_likelihood: float
    table: OperationTable


def iterate(
    table: OperationTable,
    batches: Iterable[PairBatch],
    *,
    pairs: int,
    first: int,
    last: int,
    backend: str,
    on_batch: OnBatch,
    prior: OperationTable | None = None,
) -> Iterator[Iteration]:
    """EM iterations `first` to `last`. The log-likelihood never falls; `on_batch` hears how many pairs are done.

    With `prior` counts, which are added to those of the pairs, what never falls is the posterior (MAP).
    """
    for number in range(first, last + 1):
        expectation = expect(table, batches, backend=backend, on_batch=on_batch)
        table = (expectation.counts if prior is None else expectation.counts.plus(prior)).normalised()
        yield Iteration(number, expectation.log_likelihood / pairs, table)


def expect(table: OperationTable, batches: Iterable[PairBatch], *, backend: str, on_batch: OnBatch) -> Expectation:
    """E-step, over all batches: expected counts under the table."""
    counts = OperationTable(*(torch.zeros_like(part) for part in vars(table).values()))
    log_likelihood = 0.0
    for batch in batches:
        lattice = table.lattice(batch, backend=backend)
        log_likelihood += float((lattice.log_prob + table.end.log()).sum())
        add_counts(counts, batch, lattice.posteriors)
        on_batch(len(batch.rows))
    return Expectation(counts, log_likelihood)


def add_counts(counts: OperationTable, batch: PairBatch, posteriors: Arcs) -> None:
    """Posterior counts: add the probability that each operation was used, at every place of every pair."""
    deleted = posteriors.delete[:, 1:].sum(2)
    inserted = posteriors.insert[:, :, 1:].sum(1)
    substituted = posteriors.substitute[:, 1:, 1:]
    numbers = batch.source[:, :, None] * counts.substitute.shape[1] + batch.target[:, None, :]
    _add_at(counts.delete, batch.source, deleted)
    _add_at(counts.insert, batch.target, inserted)
    _add_at(counts.substitute.view(-1), numbers, substituted)
    counts.end.add_(len(batch.rows))


def _add_at(counts: Float[Tensor, " symbols"], numbers: Tensor, amounts: Tensor) -> None:
    counts.index_add_(0, numbers.reshape(-1), amounts.reshape(-1))
