"""Scores of all classes in every cell, by Triton's kernels: an operation that torch knows, with its gradient."""

import torch
from jaxtyping import Float
from torch import Tensor

from nsed.kernels.gpu import MOST_NUMBERS, launch, power_of_two, runs_triton

KERNELS = "nsed.kernels.triton_scores"
LONGEST, MOST_CLASSES = 64, 256
"""Symbols of a string with its end, and classes, at most: what a program can hold."""
PROGRAMS = 66
"""Programs that share the cells in the weights' gradient, per block of dimensions."""


def can_run(source: Float[Tensor, "batch src dim"], target: Float[Tensor, "batch tgt dim"], classes: int) -> bool:
    """Whether the kernels do strings of these sizes, here."""
    cells = len(source) * source.shape[1] * target.shape[1]
    fits = max(source.shape[1], target.shape[1]) <= LONGEST and classes <= MOST_CLASSES
    fits = fits and 0 < cells * max(classes, source.shape[2]) < MOST_NUMBERS
    return fits and runs_triton(source) and source.dtype in (torch.float32, torch.bfloat16)


def gpu_scores(
    source: Float[Tensor, "batch src dim"],
    target: Float[Tensor, "batch tgt dim"],
    weight: Float[Tensor, "classes dim"],
    constant: Float[Tensor, " classes"],
    *,
    eps: float,
    dropout: float = 0.0,
) -> Float[Tensor, "batch src tgt classes"]:
    """`weight @ x` over the deviation of x, plus constant, where `x = dropout(relu(source[i] + target[j]))`.

    The rows of `weight` must have mean 0. Dropout draws one seed from torch's generator.
    """
    seed = torch.randint(2**31, (1,), device=source.device) if dropout else source.new_zeros(1, dtype=torch.long)
    columns = weight.float().T.contiguous()
    scores: Tensor = pair_scores(source.float(), target.float(), columns, constant.float(), seed, eps, dropout)[0]
    return scores


def scores_of_all(
    source: Float[Tensor, "kinds dim"],
    target: Float[Tensor, "others dim"],
    weight: Float[Tensor, "classes dim"],
    constant: Float[Tensor, " classes"],
    *,
    eps: float,
) -> Float[Tensor, "kinds others classes"]:
    """The same for all pairs of some vectors."""
    return gpu_scores(source[None], target[None], weight, constant, eps=eps)[0]


@torch.library.custom_op("nsed::pair_scores", mutates_args=())
def pair_scores(
    source: Tensor, target: Tensor, weight: Tensor, constant: Tensor, seed: Tensor, eps: float, dropout: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Scores `[batch, n, m, classes]`, and the mean and inverse deviation of each cell's features."""
    source, target, weight, constant = (part.contiguous() for part in (source, target, weight, constant))
    scores, means, inverses = _empty(source, target, constant)
    cells, classes, block = means.numel(), len(constant), power_of_two(len(constant), least=16)
    launch(KERNELS, "scores_forward", (-(-cells // 32),),
        source, target, weight, constant, seed, scores, means, inverses,
        source.shape[1], target.shape[1], cells, classes, eps,
        DIM=source.shape[2], DROPOUT=dropout, CELLS=32, CLASSES=block, CHUNK=_chunk(source.shape[2], 32),
        PRECISION=_precision(), num_warps=_warps(block),
    )  # fmt: skip  # an argument a line would be a page
    return scores, means, inverses


@torch.library.custom_op("nsed::pair_scores_backward", mutates_args=())
def pair_scores_backward(
    source: Tensor, target: Tensor, weight: Tensor, constant: Tensor, seed: Tensor, scores: Tensor, means: Tensor,
    inverses: Tensor, gradient: Tensor, dropout: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip  # an argument a line would be a page
    """Gradients by source, target, weight and constant."""
    given = (source, target, weight, constant, seed, scores, means, inverses, gradient)
    source, target, weight, constant, seed, scores, means, inverses, gradient = (part.contiguous() for part in given)
    shares, sides = _shares(constant, scores, gradient), (torch.empty_like(source), torch.empty_like(target))
    sizes, classes, block = (source.shape[1], target.shape[1]), len(constant), power_of_two(len(constant), least=16)
    chunk, programs = _chunk(source.shape[2], 64 if block <= 128 else 32), min(-(-means.numel() // 32), PROGRAMS)
    same = {"DIM": source.shape[2], "CLASSES": block, "CHUNK": chunk, "DROPOUT": dropout, "PRECISION": _precision()}
    grid, warps = -(-source.shape[2] // chunk), _warps(block)
    launch(KERNELS, "sides_backward", (len(source), grid),
        source, target, weight, seed, means, inverses, shares, gradient, *sides, *sizes, classes,
        ROWS=power_of_two(sizes[0], least=16), COLUMNS=power_of_two(sizes[1], least=16), CELLS=16, **same,
        num_warps=warps,
    )  # fmt: skip  # an argument a line would be a page
    parts = source.new_empty(programs, source.shape[2], classes), source.new_empty(programs, classes)
    launch(KERNELS, "weight_backward", (programs, grid),
        source, target, seed, inverses, gradient, *parts, *sizes, means.numel(), classes,
        CELLS=32, **same, num_warps=warps,
    )  # fmt: skip  # an argument a line would be a page
    return *sides, parts[0].sum(0), parts[1].sum(0)


def _shares(constant: Tensor, scores: Tensor, gradient: Tensor) -> Tensor:
    block = power_of_two(len(constant), least=16)
    shares, at_once = scores.new_empty(scores.shape[:-1]), max(1, 2048 // block)
    launch(
        KERNELS,
        "score_shares",
        (-(-shares.numel() // at_once),),
        scores,
        constant,
        gradient,
        shares,
        shares.numel(),
        len(constant),
        CELLS=at_once,
        CLASSES=block,
    )
    return shares


def _warps(block: int) -> int:
    return 4 if block <= 128 else 8


def _empty(source: Tensor, target: Tensor, constant: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    cells = (*source.shape[:2], target.shape[1])
    return source.new_empty(*cells, len(constant)), source.new_empty(cells), source.new_empty(cells)


def _chunk(dim: int, most: int) -> int:
    """Dimensions that are done at once."""
    return min(power_of_two(dim, least=16), most)


def _precision() -> str:
    """Of products, as torch computes its own."""
    return "ieee" if torch.get_float32_matmul_precision() == "highest" else "tf32"


@pair_scores.register_fake
def _(source: Tensor, target: Tensor, weight: Tensor, constant: Tensor, seed: Tensor, eps: float, dropout: float):  # type: ignore[no-untyped-def]  # torch's form
    return _empty(source, target, constant)


@pair_scores_backward.register_fake
def _(source, target, weight, constant, *_):  # type: ignore[no-untyped-def]  # torch's form
    return tuple(torch.empty_like(part) for part in (source, target, weight, constant))


def _keep(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]  # torch's form
    *tensors, _, ctx.dropout = inputs
    ctx.save_for_backward(*tensors, *output)


def _gradient(ctx, gradient, *_):  # type: ignore[no-untyped-def]  # torch's form
    return *pair_scores_backward(*ctx.saved_tensors, gradient, ctx.dropout), None, None, None


pair_scores.register_autograd(_gradient, setup_context=_keep)
