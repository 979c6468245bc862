"""Triton's kernels: interpreted and compiled for a GPU where there is none, run where there is one.

`every_way` of the other files tries them on a GPU, or interpreted: then in a process of their own, that starts here.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.autograd import grad

pytest.importorskip("triton", reason="Triton is not installed here: its kernels cannot be tried")

from nsed.encoders.string_encoder import _Lookup
from nsed.kernels.switch import interprets_triton
from support.kernels import LOOSE, WAYS

TRITON = [way for way in WAYS if way.backend == "triton"]
by_triton = pytest.mark.parametrize("way", TRITON, ids=["triton"] * len(TRITON))
compiles = pytest.mark.skipif(interprets_triton(), reason="an interpreter compiles nothing")

COMPILED = """
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from nsed.kernels.triton import arcs, gru, lattice, match_scores, pair_scores

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
        compiled(lattice, name, ordered(lattice, name, given), {"WIDTH": width, "PAIRS": pairs})
for classes, precision, dropout in ((16, "tf32", 0.1), (128, "ieee", 0.0), (128, "tf32", 0.1), (256, "tf32", 0.5)):
    given = arguments(f="scores constant gradient shares", i="cells classes")
    sizes = {"CELLS": 2048 // classes, "CLASSES": classes}
    compiled(pair_scores, "score_shares", ordered(pair_scores, "score_shares", given), sizes)
    warps, chunk = (4, 64) if classes <= 128 else (8, 32)
    basic = {"CLASSES": classes, "DIM": 256, "DROPOUT": dropout, "PRECISION": precision}
    tables = "source target weight constant scores means inverses"
    given = ordered(pair_scores, "scores_forward", arguments(f=tables, l="seeds", i="n m cells classes", e="eps"))
    compiled(pair_scores, "scores_forward", given, basic | {"CELLS": 32, "CHUNK": 32}, num_warps=warps)
    basic |= {"CHUNK": chunk}
    tables = "source target weight means inverses shares gradient to_source to_target"
    given = ordered(pair_scores, "sides_backward", arguments(f=tables, l="seeds", i="n m classes"))
    for longest in (16, 64):
        sizes = {"CELLS": 16, "ROWS": longest, "COLUMNS": longest}
        compiled(pair_scores, "sides_backward", given, basic | sizes, num_warps=warps)
    tables = "source target inverses gradient to_weight to_constant"
    given = ordered(pair_scores, "weight_backward", arguments(f=tables, l="seeds", i="n m cells classes"))
    compiled(pair_scores, "weight_backward", given, basic | {"CELLS": 32}, num_warps=warps)
lengths = "target source_lengths target_lengths"
for name, tables in (("forward", "scores arcs ends totals"), ("backward", "scores totals to_arcs to_ends result")):
    given = ordered(arcs, f"outgoing_{name}", arguments(f=tables, l=lengths, i="n m batch symbols"))
    for classes in (16, 128, 1024):
        sizes = {"CELLS": max(1, 512 // classes), "CLASSES": classes}
        compiled(arcs, f"outgoing_{name}", given, sizes, num_warps=2)
given = arguments(f="table result", l="rows columns", q="flat_s starts_s flat_t starts_t", i="pairs kinds")
for width, pairs in ((2, 128), (16, 16), (1024, 1)):
    constants = {"WIDTH": width, "PAIRS": pairs}
    compiled(match_scores, "by_table", ordered(match_scores, "by_table", given), constants)
for name, tables in (("match_forward", "scores arcs"), ("match_backward", "arcs to_arcs result")):
    given = ordered(arcs, name, arguments(f=tables, i="n m batch"))
    compiled(arcs, name, given, {"BLOCK": 256})
for name, tables in (
    ("step_forward", "gates recurrent bias hidden kept"),
    ("step_backward", "gates hidden kept gradient carried to_input to_recurrent"),
):
    given = ordered(gru, name, arguments(f=tables, i="step steps batch"))
    compiled(gru, name, given, {"DIM": 200, "BLOCK": 256})
print("compiled")
"""


def run(*command, **environment):
    done = subprocess.run(
        [sys.executable, *command],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr
    return done.stdout


@pytest.mark.slow
@compiles
def test_interpreted_kernels_give_what_their_twins_give():
    chosen = "triton and not of_the_lattices"  # the twins are those of the lattices
    options = ("-q", "-n", "0", "-p", "no:cacheprovider", "-k", chosen, "--rootdir", str(Path(__file__).parents[2]))
    shown = run("-m", "pytest", str(Path(__file__).parent), *options, TRITON_INTERPRET="1")
    assert int(re.search(r"(\d+) passed", shown)[1]) >= 50


@pytest.mark.slow
@compiles
def test_kernels_compile_for_sm_90():
    assert run("-c", COMPILED).split() == ["compiled"]


def sides(batch, n, m, dim, classes, device):
    torch.manual_seed(0)
    source, target, weight, constant = (
        torch.randn(shape).to(device) for shape in ((batch, n, dim), (batch, m, dim), (classes, dim), (classes,))
    )
    return [part.requires_grad_() for part in (source, target, weight - weight.mean(1, keepdim=True), constant)]


def mixed(number):
    """The kernel's random numbers, in torch: 32 bits each."""
    number = ((number ^ (number >> 16)) * 0x7FEB352D) & 0xFFFFFFFF
    number = ((number ^ (number >> 15)) * 0x846CA68B) & 0xFFFFFFFF
    return number ^ (number >> 16)


@by_triton
def test_forward_and_backward_drop_the_same_features_as_many_as_they_should(way):
    from nsed.kernels.triton.pair_scores import scores_operation

    given, seed, rate = sides(4, 3, 2, 64, 5, way.device), torch.tensor([2**31 - 5], device=way.device), 0.5
    source, target, weight, constant = given
    ours = scores_operation(source, target, weight.T.contiguous(), constant, seed, 1e-5, rate)[0]
    places = torch.arange(4 * 3 * 2 * 64, device=way.device).view(4, 3, 2, 64)
    kept = mixed((seed + places) & 0xFFFFFFFF) >= rate * 2**32
    assert 0.45 < kept.float().mean() < 0.55
    x = (source[:, :, None] + target[:, None]).relu() * kept / (1 - rate)
    expected = (x @ weight.T) * torch.rsqrt(x.var(-1, unbiased=False) + 1e-5)[..., None] + constant
    torch.testing.assert_close(ours, expected, **LOOSE)
    injection = torch.randn_like(ours)
    for one, other in zip(grad(ours, given, injection), grad(expected, given, injection), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-3)
    others = scores_operation(source, target, weight.T.contiguous(), constant, seed + 1, 1e-5, rate)[0]
    assert not torch.allclose(ours, others)


@by_triton
def test_lookups_of_embeddings_are_torchs(way):
    """No kernel, but like them it has no atomics: the gradient of a table of symbols."""
    table = nn.Embedding(7, 5, padding_idx=0, device=way.device)
    symbols, injection = torch.randint(0, 7, (4, 3), device=way.device), torch.randn(4, 3, 5, device=way.device)
    ours = _Lookup.apply(table.weight, symbols, 0)
    torch.testing.assert_close(ours, table(symbols))
    torch.testing.assert_close(grad(ours, table.weight, injection), grad(table(symbols), table.weight, injection))


@by_triton
def test_operations_pass_torchs_own_checks(way):
    """Schema, fake tensors, gradients, tracing."""
    from nsed.kernels.triton.arcs import match_operation, outgoing_operation
    from nsed.kernels.triton.lattice import lattice_forward, lattice_gradient
    from nsed.kernels.triton.pair_scores import scores_operation

    device, loose = way.device, {"rtol": 1e-3, "atol": 1e-3}
    source, target, weight, constant = sides(2, 3, 4, 16, 5, device)
    seed, z = torch.tensor([5], device=device), torch.randn(2, 3, 4, 11, device=device, requires_grad=True)
    labels = torch.randint(4, 5, (2, 3), device=device)
    lengths = torch.tensor([2, 1], device=device), torch.tensor([3, 0], device=device)
    columns = weight.detach().T.contiguous().requires_grad_()
    torch.library.opcheck(scores_operation, (source, target, columns, constant, seed, 1e-5, 0.2), **loose)
    torch.library.opcheck(outgoing_operation, (z, labels, *lengths), **loose)
    weights, injection = torch.randn(3, 4, 5, 2, device=device), torch.randn(4, 5, 2, device=device)
    torch.library.opcheck(lattice_forward, (weights,))
    torch.library.opcheck(lattice_gradient, (weights, lattice_forward(weights), injection))
    torch.library.opcheck(match_operation, (z.detach()[..., :4].clone().requires_grad_(),), **loose)
