"""Loss terms, one function each, one number per pair; their weights are in the configuration."""

from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from nsed.lattice import Arcs, EditLattice
from nsed.lattice.lattice import Weighting
from nsed.types import END, Lengths, PerPair, Table

RealCells = Bool[Tensor, "batch src tgt"]
Reduction = Literal["ours", "code", "printed"]
"""What the terms of a pair are: `code`, as in the paper's code, means over cells or symbols; `printed`, as in the
paper, sums; `ours`, the EM and the non-match loss means over cells, the next-symbol and the distortion loss sums."""


def real_cells(source_lengths: Lengths, target_lengths: Lengths, like: Table) -> RealCells:
    """Cell mask: True for the cells of the pairs themselves but (0, 0), which nothing enters."""
    rows = torch.arange(like.shape[1], device=like.device)[:, None]
    columns = torch.arange(like.shape[2], device=like.device)
    inside = (rows <= source_lengths[:, None, None]) & (columns <= target_lengths[:, None, None])
    return inside & ((rows > 0) | (columns > 0))


def em_loss(
    arcs: Arcs,
    lattice: EditLattice,
    cells: RealCells,
    *,
    weighting: Weighting = "cell",
    reduction: Reduction = "ours",
) -> PerPair:
    """EM loss, mean KL(q || P) over cells: expected operations q, without gradient, against predicted log-probs.

    With `reduction="printed"`, summed. `posterior` weights each cell by the probability that it is visited, as
    textbook EM does.

    Paper: Algorithm "Expectation-Maximization Loss". Ours is KL(q || P), as in their code; they print KL(P || q).
    """
    divergence = torch.zeros_like(arcs.delete)
    for expected, predicted in zip(lattice.expected_operations(), arcs, strict=True):
        q = expected.detach()
        divergence = divergence + torch.xlogy(q, q) - torch.where(q > 0, q * predicted, 0.0)
    weights = cells.to(divergence.dtype)
    if weighting == "posterior":
        weights = weights * lattice.occupancy.detach()
    total = (divergence * weights).sum((1, 2))
    return total if reduction == "printed" else total / weights.sum((1, 2)).clamp(min=1e-9)


def non_match_loss(non_match: Table, cells: RealCells, *, reduction: Reduction = "ours") -> PerPair:
    """-log P(non-match), averaged over the cells: for pairs that do not match. Paper: appendix, loss functions.

    With `reduction="printed"`, summed.
    """
    weights = cells.to(non_match.dtype)
    total = -(non_match * weights).sum((1, 2))
    return total if reduction == "printed" else total / weights.sum((1, 2)).clamp(min=1)


def match_loss(log_prob: PerPair, labels: Bool[Tensor, " batch"]) -> PerPair:
    """Binary cross-entropy on alpha_{n,m}. Paper: section 3.1."""
    return torch.where(labels, -log_prob, -log1mexp(log_prob))


def log1mexp(log_probability: PerPair) -> PerPair:
    """log(1 - exp(x)) for x <= 0, stable at both ends; never minus infinity.

    >>> log1mexp(torch.tensor([-1e-30, -0.5, -1e30])).tolist()
    [-27.63..., -0.93..., -0.0]
    """
    x = log_probability.clamp(max=-1e-12)
    near_zero = x > -0.6931
    # each branch sees only numbers for which its gradient is finite
    close = torch.log(-torch.expm1(torch.where(near_zero, x, -0.5)))
    far = torch.log1p(-torch.exp(torch.where(near_zero, -1.0, x)))
    return torch.where(near_zero, close, far)


def likelihood_loss(log_prob: PerPair) -> PerPair:
    """Negative log-likelihood: -log p(t | s) in exact mode, -log alpha_{n,m} in the paper's (offsets distortion)."""
    return -log_prob


def next_symbol_nll(
    distribution: Float[Tensor, "batch tgt symbols"],
    target: Int[Tensor, "batch m"],
    target_lengths: Lengths,
    *,
    reduction: Reduction = "ours",
) -> PerPair:
    """-log of the next-symbol distribution at every symbol of the target and at its end, summed. Paper: Equation 8.

    With `reduction="code"`, averaged over symbols and end.
    """
    labels = torch.cat([target, target.new_zeros(len(target), 1)], dim=1)
    places = torch.arange(labels.shape[1], device=labels.device)
    labels = torch.where(places == target_lengths[:, None], END, labels)
    chosen = distribution.gather(-1, labels[..., None])[..., 0]
    total = -torch.where(places <= target_lengths[:, None], chosen, 0.0).sum(1)
    return total / (target_lengths + 1) if reduction == "code" else total


def distortion_loss(
    lattice: EditLattice,
    source_lengths: Lengths,
    target_lengths: Lengths,
    cells: RealCells,
    *,
    diagonal: Literal["plain", "scaled"] = "plain",
    reduction: Reduction = "ours",
) -> PerPair:
    """Distortion loss, sum |i - j| alpha_{i,j}: keeps probability near the diagonal, for readable scripts.

    `scaled` measures |i/n - j/m| instead, for strings of different length. `printed` leaves out the borders, as the
    paper's sum does, which starts from 1; `code` is the mean over cells of max(0, |i - j| - 1) alpha_{i,j}.
    Paper: section 3.3.
    """
    rows = torch.arange(cells.shape[1], device=cells.device)[:, None]
    columns = torch.arange(cells.shape[2], device=cells.device)
    if diagonal == "scaled":
        n, m = (lengths.clamp(min=1)[:, None, None] for lengths in (source_lengths, target_lengths))
        dtype = lattice.log_alpha.dtype
        distance = (rows.to(dtype) / n - columns.to(dtype) / m).abs()
    else:
        distance = (rows - columns).abs().expand(cells.shape)
    if reduction == "printed":
        cells = cells & (rows > 0) & (columns > 0)
    if reduction == "code":
        distance = (distance - 1).clamp(min=0)
    total = torch.where(cells, distance * lattice.log_alpha.exp(), 0.0).sum((1, 2))
    return total / cells.sum((1, 2)).clamp(min=1) if reduction == "code" else total
