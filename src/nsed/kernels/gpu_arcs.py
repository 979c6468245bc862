"""Arcs from scores by Triton's kernels: operations that torch knows, with their gradients."""

import torch
from jaxtyping import Float
from torch import Tensor

from nsed.kernels.gpu import MOST_NUMBERS, launch, power_of_two, runs_triton

KERNELS = "nsed.kernels.triton_arcs"
MOST_CLASSES, BLOCK = 1024, 256
"""Classes that a program can hold, and cells that it does at once where there are four."""


def can_run(scores: Float[Tensor, "batch src tgt classes"]) -> bool:
    """Whether the kernels do tables like this one, here."""
    fits = scores.shape[-1] <= MOST_CLASSES and 0 < scores.numel() < MOST_NUMBERS
    return fits and runs_triton(scores) and scores.dtype == torch.float32


@torch.library.custom_op("nsed::outgoing_arcs", mutates_args=())
def outgoing_arcs(
    scores: Tensor, target: Tensor, source_lengths: Tensor, target_lengths: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Arcs `[3, n, m, batch]` of the target's symbols, the end's log-probability, and the logarithms of the sums."""
    given = [part.contiguous() for part in (scores, target, source_lengths, target_lengths)]
    arcs, ends, totals = _empty(scores)
    launch(KERNELS, "outgoing_forward", _grid(scores), *given, arcs, ends, totals, *_sizes(scores), **_blocks(scores))
    return arcs, ends, totals


@torch.library.custom_op("nsed::outgoing_arcs_backward", mutates_args=())
def outgoing_arcs_backward(
    scores: Tensor, target: Tensor, source_lengths: Tensor, target_lengths: Tensor, totals: Tensor, to_arcs: Tensor,
    to_ends: Tensor,
) -> Tensor:  # fmt: skip  # an argument a line would be a page
    """The gradient by the scores."""
    everything = (scores, target, source_lengths, target_lengths, totals, to_arcs, to_ends)
    given, result = [part.contiguous() for part in everything], torch.empty_like(scores.contiguous())
    launch(KERNELS, "outgoing_backward", _grid(scores), *given, result, *_sizes(scores), **_blocks(scores))
    return result


@torch.library.custom_op("nsed::match_arcs", mutates_args=())
def match_arcs(scores: Tensor) -> Tensor:
    """Log-probabilities `[4, n, m, batch]` of delete, insert, substitute and non-match in the cells that they enter."""
    batch, n, m, _ = scores.shape
    arcs = scores.new_empty(4, n, m, batch)
    launch(KERNELS, "match_forward", (-(-n * m * batch // BLOCK),), scores.contiguous(), arcs, n, m, batch, BLOCK=BLOCK)
    return arcs


@torch.library.custom_op("nsed::match_arcs_backward", mutates_args=())
def match_arcs_backward(arcs: Tensor, to_arcs: Tensor) -> Tensor:
    """The gradient by the scores."""
    _, n, m, batch = arcs.shape
    result, given = arcs.new_empty(batch, n, m, 4), (arcs.contiguous(), to_arcs.contiguous())
    launch(KERNELS, "match_backward", (-(-n * m * batch // BLOCK),), *given, result, n, m, batch, BLOCK=BLOCK)
    return result


def _empty(scores: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    batch, n, m, _ = scores.shape
    return scores.new_empty(3, n, m, batch), scores.new_empty(batch), scores.new_empty(batch, n, m)


def _sizes(scores: Tensor) -> tuple[int, int, int, int]:
    batch, n, m, classes = scores.shape
    return n, m, batch, (classes - 1) // 2


def _blocks(scores: Tensor) -> dict[str, int]:
    classes = power_of_two(scores.shape[-1], least=16)
    return {"CELLS": max(1, 512 // classes), "CLASSES": classes, "num_warps": 2}


def _grid(scores: Tensor) -> tuple[int]:
    return (-(-scores.shape[:-1].numel() // _blocks(scores)["CELLS"]),)


@outgoing_arcs.register_fake
def _(scores, *_):  # type: ignore[no-untyped-def]  # torch's form
    return _empty(scores)


@outgoing_arcs_backward.register_fake
def _(scores, *_):  # type: ignore[no-untyped-def]  # torch's form
    return torch.empty_like(scores, memory_format=torch.contiguous_format)


@match_arcs.register_fake
def _(scores):  # type: ignore[no-untyped-def]  # torch's form
    batch, n, m, _ = scores.shape
    return scores.new_empty(4, n, m, batch)


@match_arcs_backward.register_fake
def _(arcs, to_arcs):  # type: ignore[no-untyped-def]  # torch's form
    _, n, m, batch = arcs.shape
    return arcs.new_empty(batch, n, m, 4)


def _keep_scores(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]  # torch's form
    ctx.save_for_backward(*inputs, output[2])
    ctx.set_materialize_grads(True)


def _outgoing_gradient(ctx, to_arcs, to_ends, _):  # type: ignore[no-untyped-def]  # torch's form
    return outgoing_arcs_backward(*ctx.saved_tensors, to_arcs, to_ends), None, None, None


def _keep_arcs(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]  # torch's form
    ctx.save_for_backward(output)


def _match_gradient(ctx, to_arcs):  # type: ignore[no-untyped-def]  # torch's form
    return match_arcs_backward(*ctx.saved_tensors, to_arcs)


outgoing_arcs.register_autograd(_outgoing_gradient, setup_context=_keep_scores)
match_arcs.register_autograd(_match_gradient, setup_context=_keep_arcs)
