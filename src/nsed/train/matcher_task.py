"""Training a Matcher: its loss, and F1 on validation pairs."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from nsed.evaluate import best_threshold
from nsed.models.losses import distortion_loss, em_loss, match_loss, non_match_loss, real_cells
from nsed.models.matcher import MatcherNetwork, Side, lattice_of
from nsed.text import EncodedStrings, PairBatch, PairBatches
from nsed.text.batch import batch_of
from nsed.train.matcher_config import MatcherConfig
from nsed.train.task import Batch, Task
from nsed.types import PerPair

BATCH_CELLS, MAX_CELLS = 2**17, 2**22


class LabelledStrings(NamedTuple):
    """Pairs as numbers, and whether they match."""

    source: EncodedStrings
    target: EncodedStrings
    labels: np.ndarray


class MatcherTask(Task):
    """Labelled pairs, for training and for validation."""

    network: MatcherNetwork
    metric, higher_is_better = "f1", True

    def __init__(
        self,
        network: MatcherNetwork,
        config: MatcherConfig,
        training: LabelledStrings,
        validation: LabelledStrings,
        device: torch.device,
    ) -> None:
        self.network, self.config, self.device = network, config, device
        self.training, self.validation = training, validation

    @property
    def sizes(self) -> np.ndarray:
        """See `Task.sizes`."""
        sizes: np.ndarray = self.training.source.lengths + self.training.target.lengths
        return sizes

    def batch(self, rows: np.ndarray, *, multiple: int = 1) -> Batch:
        """See `Task.batch`."""
        pairs = batch_of(self.training.source, self.training.target, rows, multiple=multiple)
        return (*pairs, torch.from_numpy(self.training.labels[rows]))

    def loss(self, batch: Batch) -> Tensor:
        """See `Task.loss`."""
        *pairs, labels = batch
        return matcher_loss(self.network, self.config, PairBatch(*pairs), labels).mean()

    def validate(self) -> Mapping[str, float]:
        """F1 at the best threshold. Paper: section 3.1."""
        scores = match_log_probs(self.network, self.validation.source, self.validation.target, self.device)
        best = best_threshold(scores, self.validation.labels)
        return {"f1": best.f1, "precision": best.precision, "recall": best.recall}


def matcher_loss(
    network: MatcherNetwork, config: MatcherConfig, batch: PairBatch, labels: Bool[Tensor, " batch"]
) -> PerPair:
    """The weighted terms, per pair: EM counts positive pairs only, non-match negative ones."""
    lengths = (batch.source_lengths, batch.target_lengths)
    scores = network(Side(batch.source, lengths[0]), Side(batch.target, lengths[1]))
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


@torch.no_grad()
def match_log_probs(
    network: MatcherNetwork, source: EncodedStrings, target: EncodedStrings, device: torch.device
) -> np.ndarray:
    """Log alpha_{n,m} of each pair, in order."""
    scores = np.empty(len(source))
    for batch in PairBatches(source, target, batch_cells=BATCH_CELLS, max_cells=MAX_CELLS):
        here = batch.to(device)
        found = network(Side(here.source, here.source_lengths), Side(here.target, here.target_lengths))
        log_prob = lattice_of(found, here.source_lengths, here.target_lengths).log_prob
        scores[batch.rows.numpy()] = log_prob.double().cpu().numpy()
    return scores
