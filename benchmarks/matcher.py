"""The Matcher's pair features and lattice, forward and backward on a CPU: `python -m benchmarks.matcher`.

Compiled, against tables of features made operation by operation in torch, and against the published design, which loops
over the cells too.
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from benchmarks import cell_loop
from benchmarks.timing import compare, save
from nsed.lattice import EditLattice
from nsed.models.op_scores import match_scores
from nsed.models.pair_features import NormedProjection, PairFeatures, pair_scores

BATCH, LENGTH, DIM = 512, 8, 256


class Model:
    """Pair features and projection of the usual size, with random vectors of symbols."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.features = PairFeatures(DIM, attention=False, heads=1, interaction=0)
        self.projection = NormedProjection(DIM, 4, attends=False)
        self.source, self.target = (torch.randn(BATCH, LENGTH + 1, DIM, requires_grad=True) for _ in range(2))
        self.lengths = torch.full((BATCH,), LENGTH)
        self.inputs = [self.source, self.target, *self.features.parameters(), *self.projection.parameters()]

    def scores(self) -> Tensor:
        """As the Matcher computes them."""
        real = torch.ones(BATCH, LENGTH + 1, dtype=torch.bool)
        factors = self.features.factors(self.features.of_source(self.source, real), self.target)
        return pair_scores(self.features, self.projection, torch.nn.Dropout(0.0), factors)

    def materialised(self) -> Tensor:
        """Every table in full: the concatenation, its projection, its normalisation."""
        rows = self.source[:, :, None].expand(-1, -1, LENGTH + 1, -1)
        columns = self.target[:, None].expand(-1, LENGTH + 1, -1, -1)
        weight = torch.cat([self.features.source.weight, self.features.target.weight], dim=1)
        both = torch.nn.functional.linear(torch.cat([rows, columns], dim=-1), weight, self.features.source.bias)
        scores: Tensor = self.projection.linear(self.projection.norm(both.relu()))
        return scores

    def log_prob(self, scores: Callable[[], Tensor], *, loop: bool) -> Tensor:
        """Of all pairs together."""
        arcs = match_scores(scores()).arcs
        if loop:
            return cell_loop.log_prob(arcs).sum()
        return EditLattice(*arcs, self.lengths, self.lengths, validate=False).log_prob.sum()


def main() -> None:
    """Measure, print, save."""
    model = Model()
    candidates = {
        "compiled": partial(model.log_prob, model.scores, loop=False),
        "materialised": partial(model.log_prob, model.materialised, loop=False),
        "materialised, loop over cells": partial(model.log_prob, model.materialised, loop=True),
    }
    results = [run() for run in candidates.values()]
    torch.testing.assert_close(results, results[:1] * len(results), rtol=1e-4, atol=1e-2)
    times = compare({name: partial(_both_ways, run, model.inputs) for name, run in candidates.items()}, rounds=7)
    ratios = {f"{name} ratio": round(taken.p50 / times["compiled"].p50, 1) for name, taken in times.items()}
    for name, taken in times.items():
        print(f"{name}: {taken.p50:.1f} ms, {ratios[f'{name} ratio']} x")
    size = {"batch": BATCH, "length": LENGTH, "dim": DIM, "unit": "milliseconds, forward and backward"}
    print(f"saved to {save('matcher', {**size, **{k: v._asdict() for k, v in times.items()}, **ratios})}")


def _both_ways(run: Callable[[], Tensor], inputs: list[Tensor]) -> None:
    torch.autograd.grad(run(), inputs)


if __name__ == "__main__":
    main()
