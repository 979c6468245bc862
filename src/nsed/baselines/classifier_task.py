"""Training a network that classifies pairs: binary cross-entropy, and the log-probability of matching."""

from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn import functional

from nsed.baselines.pair_network import PairNetwork
from nsed.models.labelled_task import LabelledTask
from nsed.models.match_data import MatchData, batches_of, in_order, sides_of
from nsed.progress import OnBatch, ignore
from nsed.text import PairBatch
from nsed.types import PerPair


class ClassifierTask(LabelledTask):
    """Binary cross-entropy of the logits."""

    network: PairNetwork

    def pair_losses(
        self, batch: PairBatch, labels: Bool[Tensor, " batch"], languages: Int[Tensor, "batch sides"]
    ) -> PerPair:
        """See `LabelledTask.pair_losses`."""
        logits = self.network(*sides_of(batch, languages)).float()
        return functional.binary_cross_entropy_with_logits(logits, labels.to(logits.dtype), reduction="none")

    def validation_scores(self) -> np.ndarray:
        """See `LabelledTask.validation_scores`."""
        return classifier_log_probs(self.network, self.validation, self.device)


@torch.no_grad()
def classifier_log_probs(
    network: PairNetwork, data: MatchData, device: torch.device, *, on_batch: OnBatch = ignore
) -> np.ndarray:
    """Log sigmoid of each pair's logit, in order."""
    return in_order(_log_probs(network, data, device), len(data.source), on_batch=on_batch)


def _log_probs(network: PairNetwork, data: MatchData, device: torch.device) -> Iterator[tuple[PairBatch, PerPair]]:
    for batch, sides in batches_of(data, device):
        yield batch, functional.logsigmoid(network(*sides).double())  # doubles, so that certain pairs are told apart
