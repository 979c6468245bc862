"""Lattice recursions in torch, vectorised: all pairs and a whole anti-diagonal of cells per step, on any device.

Cells with the same i + j do not depend on each other, so n + m steps do the table. The batch is the innermost axis: an
anti-diagonal is then a strided view of whole batches, nothing is copied or skewed, and no step asks the device for a
value.

Rows could be done in n steps with prefix sums, `C + logcumsumexp(r - C)`. That subtracts large numbers: with one
blocked arc in a row it is wrong by whole nats (`benchmarks/row_scan.py` measures it), so it is not used.
"""

from functools import lru_cache
from typing import NamedTuple

from torch.nn import functional

from nsed.kernels.contracts import Backend
from nsed.kernels.semiring import Semiring
from nsed.types import NEG, Cells, Stack

Place = tuple[tuple[int, ...], tuple[int, ...], int]


class Diagonal(NamedTuple):
    """Strided views of one anti-diagonal's cells (i, j): arguments of `as_strided`, as (size, stride, offset).

    Tables of results have a border, one more row above and one more column to the left, so that every arc starts
    somewhere; their cell (i, j) stands at (i + 1, j + 1).
    """

    delete_insert: Place
    """The two arcs in the stack of weights."""
    substitute: Place
    """The third arc in the stack of weights."""
    end: Place
    """The cells themselves, in a bordered table."""
    starts: Place
    """Where the delete and the insert arc start: the same cells of the diagonal before, one apart."""
    start: Place
    """Where the substitute arc starts."""


@lru_cache(maxsize=16)
def diagonals(rows: int, columns: int, batch: int) -> list[Diagonal]:
    """All anti-diagonals of a table but the first, which is the cell (0, 0)."""
    table, down, border = rows * columns * batch, (columns - 1) * batch, columns * batch
    places = []
    for number in range(1, rows + columns - 1):
        first, last = max(0, number - columns + 1), min(number, rows - 1) + 1
        line, pair = (last - first, batch), (2, last - first, batch)
        here = (first * columns + number - first) * batch
        bordered = ((first + 1) * (columns + 1) + number - first + 1) * batch
        above = bordered - border - batch
        places.append(
            Diagonal(
                delete_insert=(pair, (table, down, 1), here),
                substitute=(line, (down, 1), 2 * table + here),
                end=(line, (border, 1), bordered),
                starts=(pair, (border, border, 1), above),
                start=(line, (border, 1), above - batch),
            )
        )
    return places


class TorchBackend(Backend):
    """Lattice backend in torch, vectorised over pairs and anti-diagonals; float32 and float64."""

    def forward(self, weights: Stack, semiring: Semiring) -> Cells:
        """See `Backend.forward`."""
        weights = weights.detach().contiguous()
        _, rows, columns, batch = weights.shape
        alpha = weights.new_full((rows + 1, columns + 1, batch), NEG)
        alpha[1, 1] = 0.0
        for line in diagonals(rows, columns, batch):
            delete, insert = alpha.as_strided(*line.starts) + weights.as_strided(*line.delete_insert)
            substitute = alpha.as_strided(*line.start) + weights.as_strided(*line.substitute)
            semiring.plus(semiring.plus(delete, insert), substitute, out=alpha.as_strided(*line.end))
        return alpha[1:, 1:].contiguous()

    def sweep(self, injection: Cells, ratios: Stack, reverse: bool) -> Cells:
        """See `Backend.sweep`."""
        ratios = ratios.detach().contiguous()
        solved = functional.pad(injection.detach(), (0, 0, 1, 0, 1, 0))
        lines = diagonals(*injection.shape)
        for line in reversed(lines) if reverse else lines:
            end = solved.as_strided(*line.end)
            delete, insert = ratios.as_strided(*line.delete_insert)
            for ratio, start in (
                (delete, solved.as_strided(*line.starts)[0]),
                (insert, solved.as_strided(*line.starts)[1]),
                (ratios.as_strided(*line.substitute), solved.as_strided(*line.start)),
            ):
                taken, given = (start, end) if reverse else (end, start)
                taken.addcmul_(ratio, given)
        return solved[1:, 1:].contiguous()
