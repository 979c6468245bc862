"""One column of the lattice at a time, as decoding needs it: a step costs a column, never the whole table again."""

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from nsed.lattice import Arcs
from nsed.networks.op_scores import TargetScores
from nsed.types import NEG, Lengths, PerPair

Column = Float[Tensor, "batch src"]
Written = Float[Tensor, "batch symbols"]
Rows = Int[Tensor, " rows"]
Memory = tuple[Tensor, ...]
"""What a column hands on to the next: tensors whose first axis is the batch of hypotheses."""


class Opened(NamedTuple):
    """A column when its prefix is known."""

    log_alpha: Column
    """Log-probability of having written the prefix with i source symbols consumed."""
    written: Written
    """Log-probability of the prefix and each next symbol; with `</s>`, that of the prefix as a whole target."""
    scores: TargetScores
    """Of the column's cells, as `close` needs them."""

    def of_symbols(self, rows: Rows, symbols: Rows) -> tuple[Column, Column]:
        """Insert and substitute scores of one symbol each of chosen hypotheses, in every cell of the column."""
        return self.scores.insert[rows, :, 0, symbols], self.scores.substitute[rows, :, 0, symbols]


class Weighed(NamedTuple):
    """Lattices of given targets, with what happens after their last cell."""

    arcs: Arcs
    """Log-probabilities."""
    end: PerPair
    """Log-probability of the target's end when all is consumed and written."""


class Normalisation(ABC):
    """Which operations compete with each other: how scores become arcs, for whole targets or column by column."""

    @abstractmethod
    def weigh(self, scores: TargetScores, target: Int[Tensor, "batch m"], lengths: tuple[Lengths, Lengths]) -> Weighed:
        """The lattices of given targets."""

    @abstractmethod
    def begin(self, like: Column) -> Memory:
        """What the first column starts from."""

    @abstractmethod
    def open(self, column: TargetScores, memory: Memory, source_lengths: Lengths) -> Opened:
        """A column, from the scores of its cells and what the one before handed on."""

    @abstractmethod
    def close(self, opened: Opened, rows: Rows, symbols: Rows) -> Memory:
        """What to hand on when chosen hypotheses go on with a known symbol each."""


def first_column(like: Column) -> Column:
    """Before anything is written: all probability at i = 0."""
    column = torch.full_like(like, NEG)
    column[:, 0] = 0.0
    return column


def from_above(column: Column) -> Column:
    """Each row's value moved one row down; NEG in row 0."""
    return functional.pad(column[:, :-1], (1, 0), value=NEG)


def with_deletes(entering: Column, delete: Column) -> Column:
    """alpha[i] = log(exp(entering[i]) + exp(alpha[i-1] + delete[i])), for all rows in log2(rows) steps.

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
