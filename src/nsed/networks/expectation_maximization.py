"""Expectation-maximization for the operation table: count operations by how probable they are, then normalise.

Paper: section 2, Equation 2; Ristad and Yianilos 1998, Algorithms 1 to 5.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from nsed.lattice import Arcs
from nsed.networks.operation_table import OperationTable
from nsed.progress import OnBatch
from nsed.text import PairBatch


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
