"""The Matcher: learns whether two strings belong together, and says which operations make it think so."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from typing import ClassVar

import numpy as np
import torch

from nsed.explain.decision import Decision
from nsed.lattice import EditLattice
from nsed.models.aligner import Aligner
from nsed.models.decider import Decider
from nsed.models.labelled_config import LabelledConfig
from nsed.models.match_data import MatchData
from nsed.models.matcher_config import MatcherConfig
from nsed.models.matcher_task import MatcherTask, match_lattices, match_log_probs
from nsed.models.persistence import MODEL_KINDS
from nsed.networks.bulk_scores import bulk_scores, can_score_in_bulk
from nsed.networks.matcher import MatcherNetwork
from nsed.progress import OnBatch, ignore
from nsed.text import Coders, EncodedStrings, PairBatch, Pairs, StringCoder, Vocabulary
from nsed.text.pairs import PairsLike
from nsed.text.texts import Texts

KIND = "matcher"


class Matcher(Aligner, Decider):
    """A trained network with its vocabularies, its threshold and its calibration.

    The score of a pair is log alpha_{n,m}; pairs at or above the threshold, tuned for F1 on validation pairs, match.
    """

    configs: ClassVar[Mapping[str, type[LabelledConfig]]] = {KIND: MatcherConfig}
    network: MatcherNetwork
    config: MatcherConfig

    def score(self, pairs: PairsLike, *, on_batch: OnBatch = ignore) -> np.ndarray:
        """Log alpha_{n,m} of each pair, in the order given: 0 is certain to match."""
        pairs = Pairs.of(pairs)
        if not can_score_in_bulk(self.network):
            return match_log_probs(self.network, self._data(pairs), self.device, on_batch=on_batch)
        scores = self._bulk_scores(pairs, on_batch)
        tiny = np.flatnonzero(np.isneginf(scores))  # beyond what a double can hold: as logarithms
        if len(tiny):
            scores[tiny] = match_log_probs(self.network, self._data(pairs.chosen(tiny.tolist())), self.device)
        return scores

    def _bulk_scores(self, pairs: Pairs, on_batch: OnBatch) -> np.ndarray:
        """Every different string is encoded once."""
        sources, source_rows = different(pairs.sources, pairs.source_languages if self.languages else None)
        targets, target_rows = different(pairs.targets, pairs.target_languages if self.languages else None)
        source, of_source = self._encoded(self.coders.source, sources)
        target, of_target = self._encoded(self.coders.target, targets)
        rows, languages = (source_rows, target_rows), (of_source, of_target)
        return bulk_scores(self.network, source, target, rows, languages=languages, on_batch=on_batch)

    def _encoded(self, coder: StringCoder, keys: list[tuple[str, str]]) -> tuple[EncodedStrings, np.ndarray | None]:
        """Strings and, where the model knows any, the numbers of their languages."""
        encoded = coder.encode([text for text, _ in keys])
        if self.languages is None:
            return encoded, None
        return encoded, np.array(self.languages.encode([language for _, language in keys]), dtype=np.int64)

    @staticmethod
    def _network(config: LabelledConfig, coders: Coders, languages: Vocabulary | None) -> MatcherNetwork:
        assert isinstance(config, MatcherConfig)
        return MatcherNetwork(
            config.encoder,
            source_symbols=len(coders.source.vocabulary),
            target_symbols=len(coders.target.vocabulary),
            shared=config.shared_alphabet,
            categories=0 if languages is None else len(languages),
            interaction=config.interaction,
            feature_dropout=config.feature_dropout,
        )

    def _task(self, training: MatchData, validation: MatchData, device: torch.device) -> MatcherTask:
        return MatcherTask(self.network, self.config, training, validation, device=device)

    def lattices(self, pairs: Pairs) -> Iterator[tuple[PairBatch, EditLattice]]:
        """See `Aligner.lattices`."""
        return match_lattices(self.network, self._data(pairs), self.device)

    def _decision(self, score: float) -> Decision:
        slope, offset = self.calibration
        return Decision.of(score, threshold=self.threshold, slope=slope, offset=offset)


def different(texts: Sequence[str], languages: Sequence[str] | None) -> tuple[list[tuple[str, str]], np.ndarray]:
    """The different strings (with their languages), and for each text which one it is."""
    if languages is None and isinstance(texts, Texts):
        return [(text, "") for text in texts.different], texts.rows
    keys = zip(texts, languages if languages is not None else repeat(""), strict=False)
    seen: dict[tuple[str, str], int] = {}
    rows = np.fromiter((seen.setdefault(key, len(seen)) for key in keys), dtype=np.int64, count=len(texts))
    return list(seen), rows


MODEL_KINDS.register(KIND, Matcher.from_saved)
