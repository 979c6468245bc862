"""Random lattices for the tests, with rubbish where nothing may be read."""

import dataclasses
from typing import Any

import pytest
import torch
from torch import Tensor

from nsed.kernels import switch
from nsed.lattice import Arcs, EditLattice
from nsed.lattice.reference import Grids

BACKENDS = tuple(filter(switch.installed, switch.BACKENDS))
SLOW = ("reference",)
every_backend = pytest.mark.parametrize(
    "backend", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in BACKENDS]
)


@dataclasses.dataclass(frozen=True)
class Case:
    arcs: Arcs
    source_lengths: Tensor
    target_lengths: Tensor

    def lattice(self, backend: str = "torch") -> EditLattice:
        return EditLattice(*self.arcs, self.source_lengths, self.target_lengths, backend=backend)

    def grids(self, pair: int) -> Grids:
        rows, columns = self.source_lengths[pair] + 1, self.target_lengths[pair] + 1
        return Grids(*(table[pair, :rows, :columns].tolist() for table in self.arcs))

    def replace(self, **changes: Any) -> "Case":
        return dataclasses.replace(self, **changes)

    def __len__(self) -> int:
        return len(self.source_lengths)


def random_case(seed: int, *, batch: int = 7, n: int = 4, m: int = 4, dtype: torch.dtype = torch.float64) -> Case:
    """Pairs of every length up to n and m; the first are the corner cases: both empty, one empty, full size."""
    generator = torch.Generator().manual_seed(seed)
    arcs = Arcs(*(torch.randn(batch, n + 1, m + 1, generator=generator, dtype=dtype) * 2 for _ in range(3)))
    sources = torch.randint(0, n + 1, (batch,), generator=generator)
    targets = torch.randint(0, m + 1, (batch,), generator=generator)
    for pair, (source, target) in enumerate([(0, 0), (0, m), (n, 0), (n, m)][:batch]):
        sources[pair], targets[pair] = source, target
    return Case(arcs, sources, targets)


def padded(case: Case, rows: int, columns: int, fill: float) -> Case:
    """The same pairs in larger tables."""
    grow = (0, columns, 0, rows)
    return case.replace(arcs=case.arcs.map(lambda table: torch.nn.functional.pad(table, grow, value=fill)))


def with_rubbish(case: Case, value: float) -> Case:
    """The same pairs with `value` in every place that no arc can enter."""
    rows = torch.arange(case.arcs.delete.shape[1])[None, :, None]
    columns = torch.arange(case.arcs.delete.shape[2])[None, None, :]
    outside = (rows > case.source_lengths[:, None, None]) | (columns > case.target_lengths[:, None, None])
    return case.replace(
        arcs=Arcs(
            case.arcs.delete.masked_fill(outside | (rows == 0), value),
            case.arcs.insert.masked_fill(outside | (columns == 0), value),
            case.arcs.substitute.masked_fill(outside | (rows == 0) | (columns == 0), value),
        )
    )
