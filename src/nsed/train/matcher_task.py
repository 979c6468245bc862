"""Training a Matcher: its loss, and F1 on validation pairs."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from nsed.evaluate import best_threshold
from nsed.lattice import EditLattice
from nsed.models.losses import distortion_loss, em_loss, match_loss, non_match_loss, real_cells
from nsed.models.matcher import MatcherNetwork, Side, lattice_of
from nsed.text import EncodedStrings, PairBatch, PairBatches
from nsed.text.progress import OnBatch, ignore
from nsed.text.string_table import PairTable
from nsed.train.matcher_config import MatcherConfig
from nsed.train.task import SLICE_CELLS, Batch, Task
from nsed.types import PerPair

BATCH_CELLS, MAX_CELLS = 2**17, 2**22


class MatchData(NamedTuple):
    """Pairs as numbers, with what is known of them."""

    source: EncodedStrings
    target: EncodedStrings
    labels: np.ndarray
    """Whether they match."""
    languages: np.ndarray
    """The languages' numbers, a column for sources and one for targets; no column where the model knows none."""


class MatcherTask(Task):
    """Labelled pairs, for training and for validation."""

    network: MatcherNetwork
    metric, higher_is_better = "f1", True

    def __init__(
        self,
        network: MatcherNetwork,
        config: MatcherConfig,
        training: MatchData,
        validation: MatchData,
        device: torch.device,
    ) -> None:
        self.network, self.config, self.device = network, config, device
        self.training, self.validation = training, validation
        self.most_cells = SLICE_CELLS[device.type]
        self._pairs = PairTable(training.source, training.target, device)
        self._extra = torch.from_numpy(training.labels).to(device), torch.from_numpy(training.languages).to(device)

    @property
    def sizes(self) -> np.ndarray:
        """See `Task.sizes`."""
        return self._pairs.sizes

    def widths(self, rows: np.ndarray, *, multiple: int = 1) -> tuple[int, int]:
        """See `Task.widths`."""
        return self._pairs.widths(rows, multiple=multiple)

    def batch(self, rows: Int[Tensor, " batch"], widths: tuple[int, ...]) -> Batch:
        """See `Task.batch`."""
        return (*self._pairs.batch(rows, widths), *(extra[rows] for extra in self._extra))

    def loss(self, batch: Batch) -> Tensor:
        """See `Task.loss`."""
        *pairs, labels, languages = batch
        return matcher_loss(self.network, self.config, PairBatch(*pairs), labels, languages).mean()

    def validate(self) -> Mapping[str, float]:
        """F1 at the best threshold. Paper: section 3.1."""
        scores = match_log_probs(self.network, self.validation, self.device)
        best = best_threshold(scores, self.validation.labels)
        return {"f1": best.f1, "precision": best.precision, "recall": best.recall}


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


def sides_of(batch: PairBatch, languages: Int[Tensor, "batch sides"]) -> tuple[Side, Side]:
    """Both strings of each pair."""
    of_source, of_target = languages.unbind(1) if languages.shape[1] else (None, None)
    return Side(batch.source, batch.source_lengths, of_source), Side(batch.target, batch.target_lengths, of_target)


def match_lattices(
    network: MatcherNetwork, data: MatchData, device: torch.device
) -> Iterator[tuple[PairBatch, EditLattice]]:
    """All pairs in batches, each with its lattices."""
    for batch in PairBatches(data.source, data.target, batch_cells=BATCH_CELLS, max_cells=MAX_CELLS):
        here, languages = batch.to(device), torch.from_numpy(data.languages[batch.rows.numpy()]).to(device)
        scores = network(*sides_of(here, languages))
        yield here, lattice_of(scores, here.source_lengths, here.target_lengths)


@torch.no_grad()
def match_log_probs(
    network: MatcherNetwork, data: MatchData, device: torch.device, *, on_batch: OnBatch = ignore
) -> np.ndarray:
    """Log alpha_{n,m} of each pair, in order."""
    scores = np.empty(len(data.source))
    for batch, lattice in match_lattices(network, data, device):
        scores[batch.rows.cpu().numpy()] = lattice.log_prob.double().cpu().numpy()
        on_batch(len(batch.rows))
    return scores
