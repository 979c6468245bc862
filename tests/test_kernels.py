"""The GPU's kernels: interpreted and compiled where there is no GPU, and run where there is one."""

import os
import subprocess
import sys

import pytest
import torch

pytest.importorskip("triton", reason="Triton is not installed here: its kernels cannot be tried")

from support import kernel_checks

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")

COMPILED = """
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from nsed.encoders import triton_gru
from nsed.lattice.backends import triton_kernels
from nsed.models import triton_arcs, triton_scores, triton_scoring

def compiled(module, name, arguments, constants):
    kinds = {"i": "i32", "l": "*i64", "q": "*i32", "f": "*fp32", "e": "fp32"}
    signature = {argument: kinds[kind] for argument, kind in arguments} | dict.fromkeys(constants, "constexpr")
    source = ASTSource(getattr(module, name), signature, constexprs=constants)
    assert triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["cubin"]

def arguments(**kinds):
    return [(name, kind) for kind, names in kinds.items() for name in names.split()]

def ordered(module, name, given):
    places = {argument: place for place, argument in enumerate(getattr(module, name).arg_names)}
    return sorted(given, key=lambda pair: places[pair[0]])

for width, pairs in ((2, 128), (16, 16), (1024, 1)):
    for name, tables in (("log_forward", "weights alpha"), ("log_gradient", "weights alpha injection result")):
        given = arguments(f=tables, i="rows columns batch")
        compiled(triton_kernels, name, ordered(triton_kernels, name, given), {"WIDTH": width, "PAIRS": pairs})
for classes, precision, dropout in ((16, "tf32", 0.1), (128, "ieee", 0.0), (512, "tf32", 0.5)):
    basic = {"CELLS": 32, "CLASSES": classes}
    given = arguments(f="scores constant gradient shares", i="cells classes")
    compiled(triton_scores, "score_shares", ordered(triton_scores, "score_shares", given), basic)
    basic |= {"DIM": 256, "DROPOUT": dropout, "CHUNK": 32, "PRECISION": precision}
    tables = "source target weight constant scores means inverses"
    given = arguments(f=tables, l="seeds", i="n m cells classes", e="eps")
    compiled(triton_scores, "scores_forward", ordered(triton_scores, "scores_forward", given), basic)
    tables = "source target weight means inverses shares gradient to_source to_target"
    given = ordered(triton_scores, "sides_backward", arguments(f=tables, l="seeds", i="n m classes"))
    compiled(triton_scores, "sides_backward", given, basic | {"ROWS": 16, "COLUMNS": 16})
    tables = "source target inverses gradient to_weight to_constant"
    given = ordered(triton_scores, "weight_backward", arguments(f=tables, l="seeds", i="n m cells classes"))
    compiled(triton_scores, "weight_backward", given, basic)
lengths, sizes = "target source_lengths target_lengths", "n m batch symbols"
for name, tables in (("forward", "scores arcs ends totals"), ("backward", "scores totals to_arcs to_ends result")):
    given = ordered(triton_arcs, f"outgoing_{name}", arguments(f=tables, l=lengths, i=sizes))
    compiled(triton_arcs, f"outgoing_{name}", given, {"CELLS": 32, "CLASSES": 128})
given = arguments(f="table result", l="rows columns", q="flat_s starts_s flat_t starts_t", i="pairs kinds")
for width, pairs in ((2, 128), (16, 16), (1024, 1)):
    constants = {"WIDTH": width, "PAIRS": pairs}
    compiled(triton_scoring, "by_table", ordered(triton_scoring, "by_table", given), constants)
for name, tables in (("match_forward", "scores arcs"), ("match_backward", "arcs to_arcs result")):
    given = ordered(triton_arcs, name, arguments(f=tables, i="n m batch"))
    compiled(triton_arcs, name, given, {"BLOCK": 256})
for name, tables in (
    ("step_forward", "gates recurrent bias hidden kept"),
    ("step_backward", "gates hidden kept gradient carried to_input to_recurrent"),
):
    given = ordered(triton_gru, name, arguments(f=tables, i="step steps batch"))
    compiled(triton_gru, name, given, {"DIM": 200, "BLOCK": 256})
print("compiled")
"""


def run(*command, **environment):
    done = subprocess.run(
        [sys.executable, *command],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_interpreted_kernels_give_what_torch_gives():
    names = [check.__name__ for check in kernel_checks.CHECKS]
    assert run(kernel_checks.__file__, TRITON_INTERPRET="1") == names


def test_kernels_compile_for_sm_90():
    assert run("-c", COMPILED) == ["compiled"]


@needs_gpu
@pytest.mark.parametrize("check", kernel_checks.CHECKS)
def test_kernels_on_a_gpu_give_what_torch_gives(check):
    torch.manual_seed(0)
    check(torch.device("cuda"))
