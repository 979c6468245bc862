"""The paper's training of a Transducer as its algorithms are printed: three loops over the cells, all classes in each.

Forward evaluation, the same in reverse, and the Expectation-Maximization Loss (KL of the predicted from the expected
operations); the next-symbol loss beside it. Each cell reads its operations from the table of all cells, as one writes
the algorithms down; autograd then makes a table of zeros for each reading. Numerically it is our paper mode, which
needs no loop and no beta. On two CPU cores an update of 512 pairs of CMUDict takes as long as the published code was
measured to take, 9 to 13 s; how that code makes its batches we do not know, and in batches of similar lengths these
loops are several times faster.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from benchmarks.published import materialised_scores
from nsed.encoders.string_encoder import with_end, with_start
from nsed.networks.losses import next_symbol_nll, real_cells
from nsed.networks.operations import TargetScores, next_symbol_distribution
from nsed.networks.transducer import TransducerNetwork
from nsed.text import PairBatch
from nsed.types import NEG, PerPair, Table

Cells = dict[tuple[int, int], PerPair]
Classes = Float[Tensor, "batch classes"]


class Distributions(NamedTuple):
    """Log-probabilities of all operations into every cell, and the symbols that make some of them plausible."""

    operations: Float[Tensor, "batch src tgt classes"]
    """Of cell (i, j): delete, inserts, substitutes, competing in the cell that they enter."""
    target: Int[Tensor, "batch m"]

    def arcs(self, i: int, j: int) -> dict[tuple[int, int], PerPair]:
        """The plausible operations into cell (i, j), by the cell that they leave."""
        entering, chosen = self.operations[:, i, j], {}
        if i > 0:
            chosen[i - 1, j] = entering[:, 0]
        if j > 0:
            chosen[i, j - 1] = self._symbol(entering[:, 1 : 1 + self.symbols], j)
        if i > 0 and j > 0:
            chosen[i - 1, j - 1] = self._symbol(entering[:, 1 + self.symbols :], j)
        return chosen

    def plausible(self, i: int, j: int) -> Classes:
        """1 for the operations that the symbols of the cell allow, 0 for the others."""
        allowed = torch.zeros_like(self.operations[:, i, j])
        if i > 0:
            allowed[:, 0] = 1
        if j > 0:
            allowed.scatter_(1, self.target[:, j - 1, None] + 1, 1.0)
        if i > 0 and j > 0:
            allowed.scatter_(1, self.target[:, j - 1, None] + 1 + self.symbols, 1.0)
        return allowed

    @property
    def symbols(self) -> int:
        """How many target symbols there are."""
        return (self.operations.shape[-1] - 1) // 2

    def _symbol(self, scores: Float[Tensor, "batch symbols"], j: int) -> PerPair:
        return scores.gather(1, self.target[:, j - 1, None])[:, 0]


def transducer_loss(network: TransducerNetwork, batch: PairBatch) -> PerPair:
    """EM and next-symbol loss with weight 1, of a network without attention."""
    n, m = batch.source_lengths, batch.target_lengths
    source = network.source_encoder(with_end(batch.source, n), n + 1)
    target = network.target_encoder(with_start(batch.target), m + 1)
    scores = TargetScores(materialised_scores(network.features, network.projection, network.dropout, (source, target)))
    distributions = Distributions(_entering(scores), batch.target)
    alpha = forward_evaluation(distributions)
    with torch.no_grad():
        beta = backward_evaluation(distributions, batch)
    written = next_symbol_distribution(scores, _table(alpha, distributions), n)
    return em_loss(distributions, alpha, beta, batch) + next_symbol_nll(written, batch.target, m)


def _entering(scores: TargetScores) -> Float[Tensor, "batch src tgt classes"]:
    """Every cell's distribution over all operations that enter it. Paper: Equation 3."""
    pad = torch.nn.functional.pad
    operations = (
        pad(scores.delete[:, :-1, :, None], (0, 0, 0, 0, 1, 0), value=NEG),
        pad(scores.insert[:, :, :-1], (0, 0, 1, 0), value=NEG),
        pad(scores.substitute[:, :-1, :-1], (0, 0, 1, 0, 1, 0), value=NEG),
    )
    return torch.cat(operations, dim=-1).log_softmax(-1)


def forward_evaluation(distributions: Distributions) -> Cells:
    """Log-probability of each pair of prefixes. Paper: Algorithm "Forward evaluation"."""
    alpha: Cells = {(0, 0): torch.zeros_like(distributions.operations[:, 0, 0, 0])}
    _, rows, columns, _ = distributions.operations.shape
    for i in range(rows):
        for j in range(columns):
            terms = [alpha[cell] + weight for cell, weight in distributions.arcs(i, j).items()]
            if terms:
                alpha[i, j] = torch.logsumexp(torch.stack(terms), dim=0)
    return alpha


def backward_evaluation(distributions: Distributions, batch: PairBatch) -> Cells:
    """Log-probability of each pair of suffixes: the same with the reversed order of iteration."""
    beta: Cells = {}
    _, rows, columns, _ = distributions.operations.shape
    for i in reversed(range(rows)):
        for j in reversed(range(columns)):
            terms = [torch.full_like(distributions.operations[:, i, j, 0], NEG)]
            for after in ((i + 1, j), (i, j + 1), (i + 1, j + 1)):
                if after in beta:
                    terms.append(beta[after] + distributions.arcs(*after)[i, j])
            is_last = (batch.source_lengths == i) & (batch.target_lengths == j)
            beta[i, j] = torch.where(is_last, 0.0, torch.logsumexp(torch.stack(terms), dim=0))
    return beta


def em_loss(distributions: Distributions, alpha: Cells, beta: Cells, batch: PairBatch) -> PerPair:
    """Divergence of expected and predicted operations, over the real cells. Paper: Algorithm "EM Loss"."""
    symbols = distributions.symbols
    cells = real_cells(batch.source_lengths, batch.target_lengths, _table(alpha, distributions)).float()
    total = torch.zeros_like(alpha[0, 0])
    for i, j in list(alpha)[1:]:
        nothing, parts = torch.full_like(alpha[0, 0], NEG), (1, symbols, symbols)
        before = [alpha.get(cell, nothing).detach() for cell in ((i - 1, j), (i, j - 1), (i - 1, j - 1))]
        reached = torch.cat([one[:, None].expand(-1, size) for one, size in zip(before, parts, strict=True)], dim=1)
        predicted = distributions.operations[:, i, j]
        expected = reached + predicted.detach() + beta[i, j][:, None]
        expected = torch.where(distributions.plausible(i, j) > 0, expected, NEG).softmax(1)
        divergence = torch.xlogy(expected, expected) - expected * predicted.clamp(min=NEG)
        total = total + cells[:, i, j] * divergence.sum(1)
    return total / cells.sum((1, 2))


def _table(alpha: Cells, distributions: Distributions) -> Table:
    """The cells as a table."""
    cells = torch.stack([alpha[cell] for cell in sorted(alpha)], dim=1)
    return cells.view(distributions.operations.shape[:3])
