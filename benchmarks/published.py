"""The published design, written by us: features of every cell from concatenations, then a loop over the cells.

Encoders, sizes and losses are ours, so that only the design differs. The features alone, with our lattice, are what we
call eager and materialised.
"""

import torch
from torch import Tensor, nn

from benchmarks import cell_loop
from nsed.encoders.string_encoder import with_end, with_start
from nsed.networks.losses import em_loss, match_loss, non_match_loss, real_cells
from nsed.networks.matcher import MatcherNetwork, lattice_of
from nsed.networks.operations import TargetScores, leaving_cells, match_scores
from nsed.networks.pair_features import NormedProjection, PairFeatures
from nsed.networks.transducer import TransducerNetwork
from nsed.text import PairBatch
from nsed.types import END


def materialised_scores(
    features: PairFeatures, projection: NormedProjection, dropout: nn.Dropout, sides: tuple[Tensor, Tensor]
) -> Tensor:
    """Scores of all classes in all cells; every table in full: the concatenation, its projection, its normalisation."""
    source, target = sides
    rows = source[:, :, None].expand(-1, -1, target.shape[1], -1)
    columns = target[:, None].expand(-1, source.shape[1], -1, -1)
    weight = torch.cat([features.source.weight, features.target.weight], dim=1)
    both = nn.functional.linear(torch.cat([rows, columns], dim=-1), weight, features.source.bias)
    scores: Tensor = projection.linear(projection.norm(dropout(both.relu())))
    return scores


def transducer_loss(network: TransducerNetwork, batch: PairBatch) -> Tensor:
    """The exact likelihood, all classes normalised in every cell, cell by cell, each looking up its own symbol's."""
    n, m = batch.source_lengths, batch.target_lengths
    source = network.source_encoder(with_end(batch.source, n), n + 1)
    target = network.target_encoder(with_start(batch.target), m + 1)
    scores = materialised_scores(network.features, network.projection, network.dropout, (source, target))
    leaving = leaving_cells(TargetScores(scores), n)
    weights = cell_loop.OfClasses(leaving, batch.target)
    end = leaving.insert[torch.arange(len(n), device=n.device), n, m, END]
    return -(cell_loop.log_prob(weights, n, m, sizes=(source.shape[1], target.shape[1])) + end)


def matcher_loss(network: MatcherNetwork, batch: PairBatch, labels: Tensor) -> Tensor:
    """The paper's three terms with weight 1; features materialised, the lattice ours."""
    n, m = batch.source_lengths, batch.target_lengths
    source = network.source_encoder(with_end(batch.source, n), n + 1)
    target = network.target_encoder(with_end(batch.target, m), m + 1)
    scores = match_scores(materialised_scores(network.features, network.projection, network.dropout, (source, target)))
    lattice, cells = lattice_of(scores, n, m), real_cells(n, m, scores.non_match)
    positive = labels.to(lattice.log_prob.dtype)
    expected = positive * em_loss(scores.arcs, lattice, cells)
    return match_loss(lattice.log_prob, labels) + expected + (1 - positive) * non_match_loss(scores.non_match, cells)
