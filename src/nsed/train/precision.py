"""The precision of matrix products while a training runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import torch

Precision = Literal["tf32", "fp32", "bf16"]


@contextmanager
def products_in(precision: Precision, device: torch.device) -> Iterator[None]:
    """While this lasts, products of fp32 matrices are computed so; afterwards as before."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest" if precision == "fp32" else "high")
    try:
        with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16", cache_enabled=False):
            yield
    finally:
        torch.set_float32_matmul_precision(before)
