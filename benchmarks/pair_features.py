"""A Matcher's pair features and lattice, forward and backward, against features made eagerly, table by table.

Once from the vectors of symbols, whose products with the weights both ways need, and once from these products; the
latter also with dropout, as in training.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn

from benchmarks import cell_loop
from benchmarks.figures import Report
from benchmarks.published import materialised_scores
from benchmarks.setting import Setting
from benchmarks.timing import SLOWER, Run, compare, compared
from nsed.lattice import EditLattice
from nsed.networks.operations import match_scores
from nsed.networks.pair_features import Factors, NormedProjection, PairFeatures, pair_scores

DIM, LENGTH = 256, 8
OURS, EAGER, LOOP = "ours", "materialised", "materialised, loop over cells"
OURS_REST, EAGER_REST = "ours, products of symbols given", "materialised, products of symbols given"
OURS_DROPPED, EAGER_DROPPED = f"{OURS_REST}, dropout", f"{EAGER_REST}, dropout"
DROPOUT = 0.1
"""As a Matcher is trained by default."""


class Way(NamedTuple):
    """One way to the log-probabilities, and what their gradients are taken by."""

    run: Callable[[], Tensor]
    inputs: list[Tensor]

    def both_ways(self) -> Tensor:
        """Forward and backward."""
        return torch.autograd.grad(self.run(), self.inputs)[0]


class Model:
    """Pair features and projection of the usual size, with random vectors of symbols."""

    def __init__(self, batch: int, length: int, device: torch.device) -> None:
        torch.manual_seed(0)
        self.features = PairFeatures(DIM, attention=False, heads=1, interaction=0).to(device)
        self.projection = NormedProjection(DIM, 4, attends=False).to(device)
        self.no_dropout, self.dropout = nn.Dropout(0.0), nn.Dropout(DROPOUT)
        self.sides = tuple(torch.randn(batch, length + 1, DIM, device=device, requires_grad=True) for _ in range(2))
        self.real = torch.ones(batch, length + 1, dtype=torch.bool, device=device)
        self.lengths = torch.full((batch,), length, device=device)
        self.inputs = [*self.sides, *self.features.parameters(), *self.projection.parameters()]
        self.inputs_of_rest = [*self.sides, *self.projection.parameters()]

    def scores(self) -> Tensor:
        """As the Matcher computes them."""
        source, target = self.sides
        factors = self.features.factors(self.features.of_source(source, self.real), target)
        return pair_scores(self.features, self.projection, self.no_dropout, factors)

    def scores_of_rest(self, dropout: nn.Dropout) -> Tensor:
        """The same, as if the vectors were their products with the weights already."""
        source, target = self.sides
        return pair_scores(self.features, self.projection, dropout, Factors(source, target, None, None, None))

    def materialised_rest(self, dropout: nn.Dropout) -> Tensor:
        """The same, every table in full."""
        source, target = self.sides
        rectified = dropout((source[:, :, None] + target[:, None]).relu())
        scores: Tensor = self.projection.linear(self.projection.norm(rectified))
        return scores

    def materialised(self) -> Tensor:
        """Every table in full."""
        source, target = self.sides
        return materialised_scores(self.features, self.projection, self.no_dropout, (source, target))

    def log_prob(self, scores: Callable[[], Tensor], *, loop: bool) -> Tensor:
        """Of all pairs together."""
        arcs = match_scores(scores()).arcs
        if loop:
            sizes = (LENGTH + 1, LENGTH + 1)
            return cell_loop.log_prob(cell_loop.OfArcs(arcs), self.lengths, self.lengths, sizes=sizes).sum()
        return EditLattice(*arcs, self.lengths, self.lengths, validate=False).log_prob.sum()

    def way(self, scores: Callable[[nn.Dropout], Tensor], dropout: nn.Dropout) -> Way:
        """From the products of symbols."""
        return Way(partial(self.log_prob, partial(scores, dropout), loop=False), self.inputs_of_rest)


def measure(setting: Setting) -> Report:
    """Milliseconds of each; all must give the same."""
    batch = setting.pick(cpu=512, cuda=512, quick=32)
    model = Model(batch, LENGTH, setting.device)
    ways = {
        OURS: Way(partial(model.log_prob, model.scores, loop=False), model.inputs),
        EAGER: Way(partial(model.log_prob, model.materialised, loop=False), model.inputs),
        LOOP: Way(partial(model.log_prob, model.materialised, loop=True), model.inputs),
        OURS_REST: model.way(model.scores_of_rest, model.no_dropout),
        EAGER_REST: model.way(model.materialised_rest, model.no_dropout),
        OURS_DROPPED: model.way(model.scores_of_rest, model.dropout),
        EAGER_DROPPED: model.way(model.materialised_rest, model.dropout),
    }
    for same in ((OURS, EAGER, LOOP), (OURS_REST, EAGER_REST)):
        results = [ways[name].run().detach() for name in same]
        torch.testing.assert_close(results, results[:1] * len(results), rtol=1e-4, atol=1e-2)
    count = setting.pick(cpu=5, cuda=1, quick=1)
    both_ways = {name: repeated(setting.record(way.both_ways), count) for name, way in ways.items()}
    times = compare(both_ways, setting, rounds=setting.pick(cpu=7, cuda=30, quick=2))
    figures = compared(times, OURS, {EAGER: (SLOWER, None), LOOP: (SLOWER, None)}, count=count)
    figures |= compared(times, OURS_REST, {EAGER_REST: (SLOWER, None)}, count=count)
    figures |= compared(times, OURS_DROPPED, {EAGER_DROPPED: (SLOWER, None)}, count=count)
    return {"batch": batch, "length": LENGTH, "dim": DIM, "figures": figures}


def repeated(run: Run, count: int) -> Run:
    """Several times in a row, as in training: what happens after the others' runs shall not decide."""

    def several() -> None:
        for _ in range(count):
            run()

    return several
