"""Optimal transport between the symbols of two strings, by Sinkhorn's algorithm in logarithms."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from nsed.encoders.base import inside
from nsed.types import Lengths, Table

NEVER = -1e30
"""A log-weight whose exponential is exactly zero, and that stays finite whatever is added to it."""


def real_pairs(source_lengths: Lengths, target_lengths: Lengths, like: Table) -> Bool[Tensor, "batch src tgt"]:
    """True where both symbols are there, False where one is padding."""
    rows, columns = inside(source_lengths, like.shape[1]), inside(target_lengths, like.shape[2])
    return rows[:, :, None] & columns[:, None, :]


def transport_plan(
    similarity: Table, source_lengths: Lengths, target_lengths: Lengths, *, temperature: float, iterations: int
) -> Table:
    """How much of each source symbol goes to each target symbol: much where they are similar.

    All symbols of a string have the same mass, and each string's add up to one. Every iteration makes the masses of
    the sources right and then those of the targets: the latter are exact, the former the better the more iterations.
    A lower `temperature` makes plans that are closer to one symbol for one symbol. Padding has no mass at all. Strings
    must have a symbol.

    >>> similarity = torch.tensor([[[5.0, 0.0], [0.0, 5.0]]])
    >>> two = torch.tensor([2])
    >>> (transport_plan(similarity, two, two, temperature=1.0, iterations=20) * 100).round()
    tensor([[[50.,  0.],
             [ 0., 50.]]])
    """
    real = real_pairs(source_lengths, target_lengths, similarity)
    kernel = torch.where(real, similarity / temperature, NEVER)
    rows, columns = real[:, :, :1], real[:, :1, :]
    row_mass, column_mass = _log_mass(source_lengths, kernel), _log_mass(target_lengths, kernel)
    by_row, by_column = torch.zeros_like(kernel[:, :, :1]), torch.zeros_like(kernel[:, :1, :])
    for _ in range(iterations):
        by_row = torch.where(rows, row_mass - (kernel + by_column).logsumexp(2, keepdim=True), 0)
        by_column = torch.where(columns, column_mass - (kernel + by_row).logsumexp(1, keepdim=True), 0)
    return (kernel + by_row + by_column).exp()


def _log_mass(lengths: Lengths, like: Table) -> Float[Tensor, "batch 1 1"]:
    """Of one symbol of each string, to be added to tables."""
    return -lengths.to(like.dtype).log()[:, None, None]
