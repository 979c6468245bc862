"""Baselines that classify pairs behind the Matcher's verbs: the cross-encoder and STANCE."""

from collections.abc import Iterator, Mapping
from typing import ClassVar, NoReturn

import numpy as np
import torch

from nsed.baselines.classifier_config import ClassifierConfig, CrossEncoderConfig, StanceConfig
from nsed.baselines.classifier_task import ClassifierTask, classifier_log_probs
from nsed.baselines.cross_encoder import CrossEncoder
from nsed.baselines.pair_network import Alphabets, PairNetwork
from nsed.baselines.stance import Stance
from nsed.errors import NotExplainableError
from nsed.models.decider import Decider
from nsed.models.labelled_config import LabelledConfig
from nsed.models.match_data import MatchData, batches_of
from nsed.progress import OnBatch, ignore
from nsed.text import Coders, Links, Pairs, Vocabulary
from nsed.text.pairs import PairsLike
from nsed.types import Table


class PairClassifier(Decider):
    """A network that gives pairs a logit, by the settings a cross-encoder or STANCE.

    The score of a pair is log sigmoid of its logit, to be compared with the Matcher's log alpha; the verbs are the
    Matcher's, but there are no edit operations to show: `align` and `explain` raise `NotExplainableError`.
    """

    configs: ClassVar[Mapping[str, type[LabelledConfig]]] = {
        "cross-encoder": CrossEncoderConfig,
        "stance": StanceConfig,
    }
    network: PairNetwork
    config: ClassifierConfig

    def score(self, pairs: PairsLike, *, on_batch: OnBatch = ignore) -> np.ndarray:
        """The log-probability that each pair matches, in the order given: 0 is certain to."""
        return classifier_log_probs(self.network, self._data(Pairs.of(pairs)), self.device, on_batch=on_batch)

    def links(self, pairs: PairsLike, *, on_batch: OnBatch = ignore) -> list[Links]:
        """For each target symbol the place of the source symbol that gives it most, as (source, target) from 0.

        STANCE only; others raise `NotExplainableError`. An empty string has no links.
        """
        pairs = Pairs.of(pairs)
        found: dict[int, Links] = {}
        for row, plan in self._plans(self._data(pairs)):
            found[row] = _links(plan)
            on_batch(1)
        return [found[row] for row in range(len(pairs))]

    def align(self, source: str, target: str) -> NoReturn:
        """Raises `NotExplainableError`: there are no edit operations."""
        self.align_all([(source, target)])

    def align_all(self, pairs: PairsLike, *, on_batch: OnBatch = ignore) -> NoReturn:
        """Raises `NotExplainableError`: there are no edit operations."""
        self._refuse("edit operations")

    def explain(self, source: str, target: str) -> NoReturn:
        """Raises `NotExplainableError`: there are no edit operations."""
        self._refuse("edit operations")

    def _refuse(self, what: str) -> NoReturn:
        soft = "; its soft alignment is in `links`" if isinstance(self.network, Stance) else ""
        advice = "a matcher, trained on the same pairs, has them"
        raise NotExplainableError(f"a model of kind {self.config.model!r} has no {what} to show{soft}; {advice}")

    @torch.no_grad()
    def _plans(self, data: MatchData) -> Iterator[tuple[int, np.ndarray]]:
        """Each pair's transport plan without `</s>`, as its own small table."""
        if not isinstance(self.network, Stance):
            self._refuse("alignments")
        for batch, sides in batches_of(data, self.device):
            plans: Table = self.network.soft_alignment(*sides).plan
            sizes = zip(batch.rows.tolist(), batch.source_lengths.tolist(), batch.target_lengths.tolist(), strict=True)
            for plan, (row, height, width) in zip(plans.cpu().numpy(), sizes, strict=True):
                yield row, plan[:height, :width]

    @staticmethod
    def _network(config: LabelledConfig, coders: Coders, languages: Vocabulary | None) -> PairNetwork:
        sizes = len(coders.source.vocabulary), len(coders.target.vocabulary)
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
        assert isinstance(config, CrossEncoderConfig)
        return CrossEncoder(config.encoder, alphabets)

    def _task(self, training: MatchData, validation: MatchData, device: torch.device) -> ClassifierTask:
        return ClassifierTask(self.network, self.config, training, validation, device=device)


def _links(plan: np.ndarray) -> Links:
    if not plan.size:
        return frozenset()
    return frozenset((int(best), place) for place, best in enumerate(plan.argmax(axis=0)))
