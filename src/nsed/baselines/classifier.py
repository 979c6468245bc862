"""Pair classifiers behind the Matcher's verbs: the cross-encoder and STANCE."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, NoReturn

import numpy as np
import torch
from torch.nn import functional

from nsed.baselines.pair_networks import Alphabets, CrossEncoder, PairNetwork, Stance
from nsed.capabilities import Capability
from nsed.config import bounded
from nsed.encoders import EncoderConfig, TransformerConfig
from nsed.errors import NotExplainableError
from nsed.models.base import checked_scores
from nsed.models.pair_model import LabelledConfig, LabelledTask, PairModel, in_order
from nsed.progress import OnBatch, ignore
from nsed.text import Links, PairBatch, Pairs, Tokenizers, Vocabulary
from nsed.text.batch import EncodedPairs
from nsed.text.columns import AnswerColumn, Column, column_like
from nsed.text.pairs import PairsLike
from nsed.train.config import TrainConfig
from nsed.types import PerPair, Table


@dataclass(frozen=True)
class CrossEncoderConfig(LabelledConfig):
    """Cross-encoder hyperparameters: what it is made of and how it is trained."""

    model: Literal["cross-encoder"] = "cross-encoder"
    """The kind of model that these settings are for."""
    encoder: TransformerConfig = TransformerConfig()
    """Transformer encoder that reads both strings at once."""
    train: TrainConfig = TrainConfig()
    """Training hyperparameters: how the network is trained."""


@dataclass(frozen=True)
class StanceConfig(LabelledConfig):
    """STANCE hyperparameters: what it is made of and how it is trained."""

    model: Literal["stance"] = "stance"
    """The kind of model that these settings are for."""
    encoder: EncoderConfig = EncoderConfig()
    """Encoder hyperparameters: how much of its string a symbol knows."""
    temperature: float = bounded(1.0, low=1e-3, most=1e6)
    """Temperature of the transport plan: the lower, the closer to one symbol for one symbol."""
    iterations: int = bounded(20, low=1, most=10_000)
    """Sinkhorn iterations, always as many."""
    channels: int = bounded(64, low=1, most=2**14)
    """Channels of the CNN that reads the aligned similarities."""
    convolutions: int = bounded(3, low=1, most=256)
    """Convolution layers of that CNN, 3 x 3 cells each."""
    train: TrainConfig = TrainConfig()
    """Training hyperparameters: how the network is trained."""


ClassifierConfig = CrossEncoderConfig | StanceConfig


class ClassifierTask(LabelledTask):
    """Pair classification task: binary cross-entropy of the logits."""

    network: PairNetwork

    def pair_losses(self, batch: PairBatch) -> PerPair:
        """See `PairTask.pair_losses`."""
        logits = self.network(*batch.sides).float()
        return functional.binary_cross_entropy_with_logits(logits, batch.labels.to(logits.dtype), reduction="none")

    def validation_scores(self) -> np.ndarray:
        """See `LabelledTask.validation_scores`."""
        return classifier_log_probs(self.network, self.validation, self.device)


@torch.no_grad()
def classifier_log_probs(
    network: PairNetwork, pairs: EncodedPairs, device: torch.device, *, on_batch: OnBatch = ignore
) -> np.ndarray:
    """Log sigmoid of each pair's logit, in order."""
    return in_order(_log_probs(network, pairs, device), len(pairs), on_batch=on_batch)


def _log_probs(network: PairNetwork, pairs: EncodedPairs, device: torch.device) -> Iterator[tuple[PairBatch, PerPair]]:
    for batch in pairs.batches():
        here = batch.to(device)
        yield here, functional.logsigmoid(network(*here.sides).double())  # doubles tell certain pairs apart


class PairClassifier(PairModel):
    """Pair classifier: a network that gives pairs a logit, by the settings a cross-encoder or STANCE.

    The score of a pair is log sigmoid of its logit, to be compared with the Matcher's log alpha; the verbs are the
    Matcher's, but there are no edit operations to show: `align` and `explain` raise `NotExplainableError`.
    """

    configs: ClassVar[Mapping[str, type[ClassifierConfig]]] = {
        "cross-encoder": CrossEncoderConfig,
        "stance": StanceConfig,
    }
    network: PairNetwork
    config: ClassifierConfig

    @property
    def capabilities(self) -> frozenset[Capability]:  # type: ignore[override]  # of STANCE one more
        """See `Model.capabilities`: STANCE aligns softly, a cross-encoder not at all."""
        aligns = {Capability.LINKS} if isinstance(self.network, Stance) else set()
        return frozenset({Capability.SCORE, Capability.MATCH, *aligns})

    def score(self, pairs: PairsLike, targets: Column | None = None, *, on_batch: OnBatch = ignore) -> AnswerColumn:
        """Log-probability that each pair matches, in the order given: 0 is certain to."""
        encoded = self.encoded(Pairs.given(pairs, targets))
        scores = checked_scores(classifier_log_probs(self.network, encoded, self.device, on_batch=on_batch))
        return column_like(pairs, scores, "score")

    def links(self, pairs: PairsLike, targets: Column | None = None, *, on_batch: OnBatch = ignore) -> list[Links]:
        """Alignment links: of each target symbol the source symbol that gives it most, as (source, target) from 0.

        STANCE only; others raise `NotExplainableError`. An empty string has no links.
        """
        pairs = Pairs.given(pairs, targets)
        found: dict[int, Links] = {}
        for row, plan in self._plans(self.encoded(pairs)):
            found[row] = _links(plan)
            on_batch(1)
        return [found[row] for row in range(len(pairs))]

    def _refuse(self, what: str) -> NoReturn:
        soft = "; its soft alignment is in `links`" if isinstance(self.network, Stance) else ""
        advice = "a matcher, trained on the same pairs, has them"
        raise NotExplainableError(f"a model of kind {self.kind!r} has no {what} to show{soft}; {advice}")

    def _plans(self, pairs: EncodedPairs) -> Iterator[tuple[int, np.ndarray]]:
        """Transport plan of each pair without `</s>`, as its own small table."""
        if not isinstance(self.network, Stance):
            self._refuse("alignments")
        for batch in pairs.batches():
            with torch.no_grad():
                plans: Table = self.network.soft_alignment(*batch.to(self.device).sides).plan
            sizes = zip(batch.rows.tolist(), batch.source_lengths.tolist(), batch.target_lengths.tolist(), strict=True)
            for plan, (row, height, width) in zip(plans.cpu().numpy(), sizes, strict=True):
                yield row, plan[:height, :width]

    @staticmethod
    def _network(config: ClassifierConfig, tokenizers: Tokenizers, languages: Vocabulary | None) -> PairNetwork:
        sizes = len(tokenizers.source.vocabulary), len(tokenizers.target.vocabulary)
        alphabets = Alphabets(*sizes, config.shared_alphabet, 0 if languages is None else len(languages))
        if isinstance(config, StanceConfig):
            return Stance(
                config.encoder,
                alphabets,
                channels=config.channels,
                convolutions=config.convolutions,
                temperature=config.temperature,
                iterations=config.iterations,
            )
        return CrossEncoder(config.encoder, alphabets)

    def _task(self, training: EncodedPairs, validation: EncodedPairs, device: torch.device) -> ClassifierTask:
        return ClassifierTask(self.network, self.config, training, validation, device)


def _links(plan: np.ndarray) -> Links:
    if not plan.size:
        return frozenset()
    return frozenset((int(best), place) for place, best in enumerate(plan.argmax(axis=0)))
