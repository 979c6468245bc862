"""Training a Matcher: its loss, and F1 on validation pairs."""

from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from nsed.lattice import EditLattice
from nsed.models.labelled_task import LabelledTask
from nsed.models.match_data import MatchData, batches_of, in_order, sides_of
from nsed.models.matcher_config import MatcherConfig
from nsed.networks.losses import distortion_loss, em_loss, match_loss, non_match_loss, real_cells
from nsed.networks.matcher import MatcherNetwork, lattice_of
from nsed.progress import OnBatch, ignore
from nsed.text import PairBatch
from nsed.types import PerPair


class MatcherTask(LabelledTask):
    """The weighted terms of the Matcher's loss, and log alpha."""

    network: MatcherNetwork
    config: MatcherConfig

    def pair_losses(
        self, batch: PairBatch, labels: Bool[Tensor, " batch"], languages: Int[Tensor, "batch sides"]
    ) -> PerPair:
        """See `LabelledTask.pair_losses`."""
        return matcher_loss(self.network, self.config, batch, labels, languages)

    def validation_scores(self) -> np.ndarray:
        """See `LabelledTask.validation_scores`."""
        return match_log_probs(self.network, self.validation, self.device)


def matcher_loss(
    network: MatcherNetwork,
    config: MatcherConfig,
    batch: PairBatch,
    labels: Bool[Tensor, " batch"],
    languages: Int[Tensor, "batch sides"],
) -> PerPair:
    """The weighted terms, per pair: EM counts positive pairs only, non-match negative ones."""
    lengths = (batch.source_lengths, batch.target_lengths)
    scores = network(*sides_of(batch, languages))
    lattice, cells = lattice_of(scores, *lengths), real_cells(*lengths, scores.non_match)
    positive = labels.to(lattice.log_prob.dtype)
    total = config.match * match_loss(lattice.log_prob, labels)
    if config.em:
        total = total + config.em * positive * em_loss(scores.arcs, lattice, cells)
    if config.non_match:
        total = total + config.non_match * (1 - positive) * non_match_loss(scores.non_match, cells)
    if config.distortion:
        total = total + config.distortion * distortion_loss(lattice, *lengths, cells)
    return total


def match_lattices(
    network: MatcherNetwork, data: MatchData, device: torch.device
) -> Iterator[tuple[PairBatch, EditLattice]]:
    """All pairs in batches, each with its lattices."""
    for batch, sides in batches_of(data, device):
        yield batch, lattice_of(network(*sides), batch.source_lengths, batch.target_lengths)


@torch.no_grad()
def match_log_probs(
    network: MatcherNetwork, data: MatchData, device: torch.device, *, on_batch: OnBatch = ignore
) -> np.ndarray:
    """Log alpha_{n,m} of each pair, in order."""
    found = ((batch, lattice.log_prob) for batch, lattice in match_lattices(network, data, device))
    return in_order(found, len(data.source), on_batch=on_batch)
