"""A Matcher's pair features and lattice, forward and backward, against features made eagerly, table by table."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from benchmarks import cell_loop
from benchmarks.figures import Report, at_least
from benchmarks.published import materialised_scores
from benchmarks.setting import Setting
from benchmarks.timing import SLOWER, compare, compared
from nsed.lattice import EditLattice
from nsed.models.op_scores import match_scores
from nsed.models.pair_features import NormedProjection, PairFeatures, pair_scores

DIM, LENGTH = 256, 8
OURS, EAGER, LOOP = "ours", "materialised", "materialised, loop over cells"


class Model:
    """Pair features and projection of the usual size, with random vectors of symbols."""

    def __init__(self, batch: int, length: int, device: torch.device) -> None:
        torch.manual_seed(0)
        self.features = PairFeatures(DIM, attention=False, heads=1, interaction=0).to(device)
        self.projection = NormedProjection(DIM, 4, attends=False).to(device)
        self.dropout = torch.nn.Dropout(0.0)
        self.sides = tuple(torch.randn(batch, length + 1, DIM, device=device, requires_grad=True) for _ in range(2))
        self.real = torch.ones(batch, length + 1, dtype=torch.bool, device=device)
        self.lengths = torch.full((batch,), length, device=device)
        self.inputs = [*self.sides, *self.features.parameters(), *self.projection.parameters()]

    def scores(self) -> Tensor:
        """As the Matcher computes them."""
        source, target = self.sides
        factors = self.features.factors(self.features.of_source(source, self.real), target)
        return pair_scores(self.features, self.projection, self.dropout, factors)

    def materialised(self) -> Tensor:
        """Every table in full."""
        source, target = self.sides
        return materialised_scores(self.features, self.projection, self.dropout, (source, target))

    def log_prob(self, scores: Callable[[], Tensor], *, loop: bool) -> Tensor:
        """Of all pairs together."""
        arcs = match_scores(scores()).arcs
        if loop:
            sizes = (LENGTH + 1, LENGTH + 1)
            return cell_loop.log_prob(cell_loop.OfArcs(arcs), self.lengths, self.lengths, sizes=sizes).sum()
        return EditLattice(*arcs, self.lengths, self.lengths, validate=False).log_prob.sum()


def measure(setting: Setting) -> Report:
    """Milliseconds of each; all must give the same."""
    batch = setting.pick(cpu=512, cuda=512, quick=32)
    model = Model(batch, LENGTH, setting.device)
    candidates = {
        OURS: partial(model.log_prob, model.scores, loop=False),
        EAGER: partial(model.log_prob, model.materialised, loop=False),
        LOOP: partial(model.log_prob, model.materialised, loop=True),
    }
    results = [run().detach() for run in candidates.values()]
    torch.testing.assert_close(results, results[:1] * len(results), rtol=1e-4, atol=1e-2)
    both_ways = {name: setting.recorded(partial(_both_ways, run, model.inputs)) for name, run in candidates.items()}
    times = compare(both_ways, setting, rounds=setting.pick(cpu=7, cuda=30, quick=2))
    others = {EAGER: (SLOWER, setting.bar(cpu=at_least(40))), LOOP: (SLOWER, None)}
    return {"batch": batch, "length": LENGTH, "dim": DIM, "figures": compared(times, OURS, others)}


def _both_ways(run: Callable[[], Tensor], inputs: list[Tensor]) -> Tensor:
    return torch.autograd.grad(run(), inputs)[0]
