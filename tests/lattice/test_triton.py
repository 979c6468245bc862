"""The GPU's kernels without a GPU: interpreted, against the torch backend, and compiled for sm_90."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("triton", reason="Triton is not installed here: its kernels cannot be tried")

INTERPRETED = """
import torch
from nsed.lattice.backends.torch import TorchBackend
from nsed.lattice.backends.triton import TritonBackend
from nsed.lattice.semiring import LOG, MAX

fast, slow = TritonBackend(), TorchBackend()
for rows, columns, batch in ((1, 1, 1), (5, 4, 3), (1, 7, 2), (9, 1, 5), (3, 17, 9), (12, 12, 33), (2, 2, 300)):
    torch.manual_seed(rows * columns)
    weights = torch.randn(3, rows, columns, batch) * 2 - 1
    weights[torch.rand_like(weights) < 0.1] = -1e30
    weights[::2, 0] = weights[1:, :, 0] = -1e30
    expected = slow.forward(weights, LOG).clamp(min=-1e30)
    torch.testing.assert_close(fast.forward(weights, LOG), expected, rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(fast.forward(weights, MAX), slow.forward(weights, MAX))
    injection = torch.randn(rows, columns, batch)
    gradients = (one.gradient(injection, weights, expected, LOG) for one in (fast, slow))
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-4)
print("same")
"""

COMPILED = """
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from nsed.lattice.backends import triton_kernels

numbers = {"rows": "i32", "columns": "i32", "batch": "i32", "WIDTH": "constexpr", "PAIRS": "constexpr"}
pointers = {"log_forward": ["weights", "alpha"], "log_gradient": ["weights", "alpha", "injection", "result"]}
for name, arguments in pointers.items():
    signature = {argument: "*fp32" for argument in arguments} | numbers
    for width, pairs in ((2, 128), (16, 16), (1024, 1)):
        source = ASTSource(getattr(triton_kernels, name), signature, constexprs={"WIDTH": width, "PAIRS": pairs})
        assert triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["cubin"]
print("compiled")
"""


def run(script, **environment):
    done = subprocess.run(
        [sys.executable, "-c", script],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_interpreted_kernels_give_what_torch_gives():
    assert run(INTERPRETED, TRITON_INTERPRET="1") == "same"


def test_kernels_compile_for_sm_90():
    assert run(COMPILED) == "compiled"
