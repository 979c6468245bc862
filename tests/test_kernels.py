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

def compiled(module, name, arguments, constants, **options):
    kinds = {"i": "i32", "l": "*i64", "q": "*i32", "f": "*fp32", "e": "fp32"}
    signature = {argument: kinds[kind] for argument, kind in arguments} | dict.fromkeys(constants, "constexpr")
    source = ASTSource(getattr(module, name), signature, constexprs=constants)
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
    assert made.asm["cubin"] and made.metadata.shared <= 99 * 1024, (name, constants, made.metadata.shared)

def arguments(**kinds):
    return [(name, kind) for kind, names in kinds.items() for name in names.split()]

def ordered(module, name, given):
    places = {argument: place for place, argument in enumerate(getattr(module, name).arg_names)}
    return sorted(given, key=lambda pair: places[pair[0]])

for width, pairs in ((2, 128), (16, 16), (1024, 1)):
    for name, tables in (("log_forward", "weights alpha"), ("log_gradient", "weights alpha injection result")):
        given = arguments(f=tables, i="rows columns batch")
        compiled(triton_kernels, name, ordered(triton_kernels, name, given), {"WIDTH": width, "PAIRS": pairs})
for classes, precision, dropout in ((16, "tf32", 0.1), (128, "ieee", 0.0), (128, "tf32", 0.1), (256, "tf32", 0.5)):
    given = arguments(f="scores constant gradient shares", i="cells classes")
    sizes = {"CELLS": 2048 // classes, "CLASSES": classes}
    compiled(triton_scores, "score_shares", ordered(triton_scores, "score_shares", given), sizes)
    warps, chunk = (4, 64) if classes <= 128 else (8, 32)
    basic = {"CLASSES": classes, "DIM": 256, "DROPOUT": dropout, "PRECISION": precision}
    tables = "source target weight constant scores means inverses"
    given = ordered(triton_scores, "scores_forward", arguments(f=tables, l="seeds", i="n m cells classes", e="eps"))
    compiled(triton_scores, "scores_forward", given, basic | {"CELLS": 32, "CHUNK": 32}, num_warps=warps)
    basic |= {"CHUNK": chunk}
    tables = "source target weight means inverses shares gradient to_source to_target"
    given = ordered(triton_scores, "sides_backward", arguments(f=tables, l="seeds", i="n m classes"))
    for longest in (16, 64):
        sizes = {"CELLS": 16, "ROWS": longest, "COLUMNS": longest}
        compiled(triton_scores, "sides_backward", given, basic | sizes, num_warps=warps)
    tables = "source target inverses gradient to_weight to_constant"
    given = ordered(triton_scores, "weight_backward", arguments(f=tables, l="seeds", i="n m cells classes"))
    compiled(triton_scores, "weight_backward", given, basic | {"CELLS": 32}, num_warps=warps)
lengths = "target source_lengths target_lengths"
for name, tables in (("forward", "scores arcs ends totals"), ("backward", "scores totals to_arcs to_ends result")):
    given = ordered(triton_arcs, f"outgoing_{name}", arguments(f=tables, l=lengths, i="n m batch symbols"))
    for classes in (16, 128, 1024):
        sizes = {"CELLS": max(1, 512 // classes), "CLASSES": classes}
        compiled(triton_arcs, f"outgoing_{name}", given, sizes, num_warps=2)
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
