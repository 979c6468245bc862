"""The Matcher: learns whether two strings belong together, and says which operations make it think so."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import repeat
from pathlib import Path

import numpy as np
import torch

from nsed.config import from_mapping
from nsed.errors import ArgumentError
from nsed.evaluate import Calibration, best_threshold, fit_calibration
from nsed.lattice import EditLattice
from nsed.models.aligner import Aligner, PairsLike
from nsed.models.bulk_scores import bulk_scores, can_score_in_bulk
from nsed.models.growth import grow_into
from nsed.models.matcher import MatcherNetwork
from nsed.models.persistence import MODEL_KINDS, SavedModel, read_kind, write_model
from nsed.models.string_vectors import Strings
from nsed.models.weights import put_weights, weights_of
from nsed.text import Coders, PairBatch, Pairs, StringCoder, Vocabulary
from nsed.text.progress import OnBatch, ignore
from nsed.text.texts import Texts
from nsed.train.crew import crew_of
from nsed.train.fine_tuning import check_unchanged, fine_tuning_config, hash_of_model
from nsed.train.fitting import finished, trained
from nsed.train.matcher_config import MatcherConfig
from nsed.train.matcher_task import MatchData, MatcherTask, match_lattices, match_log_probs
from nsed.train.preparation import split
from nsed.train.progress import OnStep, OnValidation
from nsed.train.trainer import Trainer

KIND = "matcher"


class Matcher(Aligner):
    """A trained network with its vocabularies, its threshold and its calibration.

    The score of a pair is log alpha_{n,m}; pairs at or above the threshold, tuned for F1 on validation pairs, match.
    """

    def __init__(
        self,
        network: MatcherNetwork,
        coders: Coders,
        config: MatcherConfig,
        *,
        languages: Vocabulary | None = None,
        threshold: float = -0.6931471805599453,
        calibration: Calibration | None = None,
        record: dict[str, object] | None = None,
    ) -> None:
        self.network = network.eval().requires_grad_(False)
        self.coders, self.config, self.threshold, self.languages = coders, config, threshold, languages
        self.calibration = calibration or Calibration(1.0, 0.0)
        self.record = record or {}
        """What training has to tell: steps, scores."""

    @classmethod
    def fit(
        cls,
        pairs: PairsLike,
        labels: Iterable[object] | None = None,
        *,
        validation: Pairs | None = None,
        config: MatcherConfig | None = None,
        start: "Matcher | None" = None,
        folder: str | Path | None = None,
        on_step: OnStep = ignore,
        on_validation: OnValidation = ignore,
    ) -> "Matcher":
        """Learn from labelled pairs; without validation pairs, a twentieth of the sources is held out for it.

        With a folder, the training saves itself there at every validation, goes on from there if interrupted, and
        leaves settings, curves and the model there in the end.

        With `start`, a trained model learns more: it gains the symbols and languages that are new to it, and by default
        (see `fine_tuning_config`) learns slowly and until all is right. Without validation pairs, nothing is held out
        then, and threshold and calibration stay, which a handful of pairs could not tell better.
        """
        config = config or (fine_tuning_config(start.config) if start else MatcherConfig())
        labelled = _labelled(Pairs.of(pairs, labels), "labels")
        checked = labelled if start and validation is None else validation
        training, held_out = split(labelled, checked, seed=config.train.seed)
        model = start._extended(training, config) if start else cls._untrained(training, config)
        crew = crew_of(config.train)
        network = model.network.to(crew.device).requires_grad_(True)
        sides = model._data(training), model._data(_labelled(held_out, "labels of the validation pairs"))
        task = MatcherTask(network, config, *sides, device=crew.device)
        data = training, held_out
        trainer = trained(
            task,
            config,
            data,
            crew,
            folder=folder,
            on_step=on_step,
            on_validation=on_validation,
            start=hash_of_model(start, start.languages) if start else "",
        )
        return finished(model._decided(trainer, None if checked is labelled else sides[1]), folder, crew)

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
        source, target = self._strings(self.coders.source, sources), self._strings(self.coders.target, targets)
        return bulk_scores(self.network, source, target, (source_rows, target_rows), on_batch=on_batch)

    def _strings(self, coder: StringCoder, keys: list[tuple[str, str]]) -> Strings:
        encoded = coder.encode([text for text, _ in keys])
        if self.languages is None:
            return Strings(encoded)
        return Strings(encoded, np.array(self.languages.encode([language for _, language in keys]), dtype=np.int64))

    def probability(self, pairs: PairsLike) -> np.ndarray:
        """Calibrated probability that each pair matches."""
        return self.calibration.probability(self.score(pairs))

    def match(self, pairs: PairsLike) -> np.ndarray:
        """Whether each pair matches: its score is at least the threshold."""
        return np.asarray(self.score(pairs) >= self.threshold)

    def save(self, path: str | Path, *, half: bool = False) -> None:
        """Write the model to a folder; `half` precision takes half the space and changes scores a little."""
        vocabularies = self.coders.vocabularies
        if self.languages is not None:
            vocabularies["languages"] = self.languages
        record = {**self.record, "threshold": self.threshold, "calibration": list(self.calibration)}
        write_model(
            path, SavedModel(KIND, asdict(self.config), vocabularies, weights_of(self.network, half=half), record)
        )

    @classmethod
    def load(cls, path: str | Path) -> "Matcher":
        """Read a model from the folder that `save` wrote."""
        return cls.from_saved(read_kind(path, KIND))

    @classmethod
    def from_saved(cls, saved: SavedModel) -> "Matcher":
        """The model again, from what is on disk; weights of any float type become float32."""
        config = from_mapping(MatcherConfig, saved.config, where="saved config")
        coders, languages = Coders.of(config, saved.vocabularies), saved.vocabularies.get("languages")
        network = _network(config, coders, languages)
        put_weights(network, saved.tensors)
        record = dict(saved.record)
        decision = {"threshold": record.pop("threshold"), "calibration": Calibration(*record.pop("calibration"))}
        return cls(network, coders, config, languages=languages, **decision, record=record)

    @property
    def device(self) -> torch.device:
        """Where the network lives."""
        return next(self.network.parameters()).device

    def to(self, device: str | torch.device) -> "Matcher":
        """The model itself, its network now on that device: cpu, cuda, cuda:1, ..."""
        self.network.to(device)
        return self

    @classmethod
    def _untrained(cls, pairs: Pairs, config: MatcherConfig) -> "Matcher":
        coders = Coders.learned(config, pairs)
        coders = coders.shared() if config.shared_alphabet else coders
        languages = _languages(pairs) if config.languages else None
        torch.manual_seed(config.train.seed)
        return cls(_network(config, coders, languages), coders, config, languages=languages)

    def _extended(self, pairs: Pairs, config: MatcherConfig) -> "Matcher":
        """A copy that knows the symbols and languages of these pairs too, to be trained further."""
        check_unchanged(self.config, config)
        coders = self.coders.extended(pairs, shared=config.shared_alphabet)
        languages = self.languages and self.languages.extended(_languages(pairs).symbols)
        network = _network(config, coders, languages)
        grow_into(network, self.network)
        return Matcher(
            network, coders, config, languages=languages, threshold=self.threshold, calibration=self.calibration
        )

    def _decided(self, trainer: Trainer, validation: MatchData | None) -> "Matcher":
        """With threshold and calibration of the best weights on the validation pairs; without these, as they were."""
        threshold, calibration = self.threshold, self.calibration
        if validation is not None:
            scores = match_log_probs(self.network.eval(), validation, self.device)
            threshold = best_threshold(scores, validation.labels).threshold
            calibration = fit_calibration(scores, validation.labels)
        return Matcher(
            self.network,
            self.coders,
            self.config,
            languages=self.languages,
            threshold=threshold,
            calibration=calibration,
            record={"steps": trainer.step, "best_step": trainer.best_step, "f1": trainer.best},
        )

    def _data(self, pairs: Pairs) -> MatchData:
        """Pairs as numbers; without labels, all count as positive, without languages these are unknown."""
        labels = np.ones(len(pairs), dtype=bool) if pairs.labels is None else np.asarray(pairs.labels, dtype=bool)
        return MatchData(*self.coders.encode(pairs), labels, self._language_numbers(pairs))

    def _language_numbers(self, pairs: Pairs) -> np.ndarray:
        if self.languages is None:
            return np.zeros((len(pairs), 0), dtype=np.int64)
        columns = (pairs.source_languages, pairs.target_languages)
        given = (column if column is not None else [""] * len(pairs) for column in columns)
        return np.array([self.languages.encode(column) for column in given], dtype=np.int64).T

    def lattices(self, pairs: Pairs) -> Iterator[tuple[PairBatch, EditLattice]]:
        """See `Aligner.lattices`."""
        return match_lattices(self.network, self._data(pairs), self.device)


def _languages(pairs: Pairs) -> Vocabulary:
    if pairs.source_languages is None or pairs.target_languages is None:
        expected = "pairs with source_languages and target_languages, for `languages: true`"
        raise ArgumentError("pairs", got="no languages", expected=expected)
    return Vocabulary.of([*pairs.source_languages, *pairs.target_languages])


def different(texts: Sequence[str], languages: Sequence[str] | None) -> tuple[list[tuple[str, str]], np.ndarray]:
    """The different strings (with their languages), and for each text which one it is."""
    if languages is None and isinstance(texts, Texts):
        return [(text, "") for text in texts.different], texts.rows
    keys = zip(texts, languages if languages is not None else repeat(""), strict=False)
    seen: dict[tuple[str, str], int] = {}
    rows = np.fromiter((seen.setdefault(key, len(seen)) for key in keys), dtype=np.int64, count=len(texts))
    return list(seen), rows


def _labelled(pairs: Pairs, name: str) -> Pairs:
    """Labels of both kinds are needed to learn, to set a threshold, and to calibrate."""
    kinds = set(pairs.labels or ())
    if len(kinds) < 2:
        got = "no labels" if not kinds else f"only labels {int(kinds.pop())}"
        raise ArgumentError(name, got=got, expected="pairs that match and pairs that do not, with labels 1 and 0")
    return pairs


def _network(config: MatcherConfig, coders: Coders, languages: Vocabulary | None) -> MatcherNetwork:
    return MatcherNetwork(
        config.encoder,
        source_symbols=len(coders.source.vocabulary),
        target_symbols=len(coders.target.vocabulary),
        shared=config.shared_alphabet,
        categories=0 if languages is None else len(languages),
        interaction=config.interaction,
        feature_dropout=config.feature_dropout,
    )


MODEL_KINDS.register(KIND, Matcher.from_saved)
