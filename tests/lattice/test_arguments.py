"""Wrong arguments: the error names the argument, what came and what was expected."""

import pytest
import torch

from nsed.errors import ArgumentError, DeviceError, DTypeError, ShapeError, UnknownNameError
from nsed.lattice import EditLattice

TABLE = torch.zeros(2, 3, 4)
SOURCE, TARGET = torch.tensor([2, 1]), torch.tensor([3, 0])

WRONG = {
    "two axes": (ShapeError, dict(delete=torch.zeros(3, 4)), r"delete: got \[3, 4\], expected \[batch, n\+1, m\+1\]"),
    "no cells": (ShapeError, dict(delete=torch.zeros(2, 0, 4)), r"delete: got \[2, 0, 4\], expected"),
    "shapes differ": (ShapeError, dict(insert=torch.zeros(2, 3, 5)), r"insert: got \[2, 3, 5\], expected \[2, 3, 4\]"),
    "half": (
        DTypeError,
        dict(delete=TABLE.half()),
        r"delete: got torch.float16, expected torch.float32 or torch.float64\. Cast it first\.",
    ),
    "mixed dtypes": (
        DTypeError,
        dict(substitute=TABLE.double()),
        "substitute: got torch.float64, expected torch.float32",
    ),
    "mixed devices": (DeviceError, dict(insert=TABLE.to("meta")), "insert: got meta, expected cpu"),
    "a list": (DTypeError, dict(delete=[[0.0]]), "delete: got list, expected a torch.Tensor"),
    "float lengths": (DTypeError, dict(source_lengths=SOURCE.float()), "source_lengths: got torch.float32, expected"),
    "list lengths": (
        DTypeError,
        dict(source_lengths=[2, 1]),
        "source_lengths: got list, expected a torch.Tensor of int",
    ),
    "lengths of others": (
        ShapeError,
        dict(target_lengths=torch.tensor([1])),
        r"target_lengths: got \[1\], expected \[2\]",
    ),
    "length too large": (
        ShapeError,
        dict(source_lengths=SOURCE + 1),
        "source_lengths: got 3 at pair 0, expected .* 0 and 2",
    ),
    "length too small": (
        ShapeError,
        dict(target_lengths=TARGET - 1),
        "target_lengths: got -1 at pair 1, expected .* 0 and 3",
    ),
    "length elsewhere": (DeviceError, dict(source_lengths=SOURCE.to("meta")), "source_lengths: got meta, expected cpu"),
    "backend": (
        UnknownNameError,
        dict(backend="trch"),
        "backend: got 'trch', expected one of: auto, numba, reference, torch, triton. Did you mean",
    ),
}


@pytest.mark.parametrize("fault", WRONG)
def test_wrong_argument_is_named(fault):
    error, wrong, message = WRONG[fault]
    given = dict(delete=TABLE, insert=TABLE, substitute=TABLE, source_lengths=SOURCE, target_lengths=TARGET) | wrong
    with pytest.raises(error, match=message):
        build(given)


def build(given):
    """Under pytest the signature's shapes are checked first; undo that, to see what users see."""
    init = getattr(EditLattice.__init__, "__wrapped__", EditLattice.__init__)
    lattice = EditLattice.__new__(EditLattice)
    init(lattice, **given)


def test_unknown_weighting_is_named():
    lattice = EditLattice(TABLE, TABLE, TABLE, SOURCE, TARGET)
    call = getattr(lattice.expected_operations, "__wrapped__", None)
    with pytest.raises(ArgumentError, match="weighting: got 'cells', expected 'cell' or 'posterior'"):
        call(lattice, "cells") if call else lattice.expected_operations("cells")


def test_any_integer_type_does_for_lengths():
    for dtype in (torch.int8, torch.int16, torch.int32):
        EditLattice(TABLE, TABLE, TABLE, SOURCE.to(dtype), TARGET.to(dtype))
