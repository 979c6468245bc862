"""Which implementations of the kernels can be tried here, beside their twins in torch.

Triton's run on a GPU, or interpreted where TRITON_INTERPRET=1: then they are all there is to try.
"""

from typing import Any, NamedTuple

import pytest
import torch

from nsed.kernels.dispatch import Kernel
from nsed.kernels.switch import installed, interprets_triton

TIGHT, LOOSE = {"rtol": 1e-5, "atol": 1e-4}, {"rtol": 1e-4, "atol": 1e-4}


class Way(NamedTuple):
    backend: str
    device: torch.device

    def of(self, kernel: Kernel) -> Any:
        """Its implementation of a kernel."""
        return kernel.implementations[self.backend].code

    def twin(self, kernel: Kernel) -> Any:
        return kernel.implementations["torch"].code

    def refuses(self, kernel: Kernel, *given: Any) -> bool:
        return bool(kernel.implementations[self.backend].refusal(*given))

    @property
    def dtypes(self) -> list[torch.dtype]:
        return [torch.float32] if self.backend == "triton" else [torch.float32, torch.float64]

    def poison(self) -> None:
        """Freed memory full of NaN, so that a kernel that reads what nobody wrote is found out."""
        for size in (1 << 8, 1 << 12, 1 << 18):
            torch.full((size,), float("nan"), device=self.device)


def _ways() -> list[Way]:
    if interprets_triton():
        return [Way("triton", torch.device("cpu"))]
    found = [Way("numba", torch.device("cpu"))] if installed("numba") else []
    on_gpu = torch.cuda.is_available() and installed("triton")
    return [*found, Way("triton", torch.device("cuda"))] if on_gpu else found


def shapes(*small: tuple[int, ...], large: tuple[tuple[int, ...], ...] = ()) -> pytest.MarkDecorator:
    """Parameters `shape`; large ones take an interpreter too long."""
    return pytest.mark.parametrize("shape", small if interprets_triton() else [*small, *large], ids=str)


WAYS = _ways()
every_way = pytest.mark.parametrize("way", WAYS, ids=[way.backend for way in WAYS])
numba_only = pytest.mark.skipif(
    interprets_triton() or not installed("numba"), reason="kernels of the extra cpu, not interpreted ones of Triton"
)
