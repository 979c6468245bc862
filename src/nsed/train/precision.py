"""The precision of matrix products on a GPU while a training runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import torch

Precision = Literal["tf32", "fp32"]


@contextmanager
def products_in(precision: Precision) -> Iterator[None]:
    """While this lasts, products of fp32 matrices use tf32 or not; afterwards as before."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
