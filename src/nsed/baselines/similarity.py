"""String similarity, Levenshtein's and Jaro-Winkler's: computed, not learned; only threshold and calibration are."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import JaroWinkler as JaroWinklerDistance
from rapidfuzz.distance import Levenshtein as LevenshteinDistance

from nsed.models.base import Contents
from nsed.models.pair_model import UNCALIBRATED, Criterion, PairScorer, labels_of
from nsed.models.settings import ConfigLike, resolve_settings
from nsed.progress import OnBatch, ignore
from nsed.text import Pairs, StringConfig, Tokenizers
from nsed.text.columns import AnswerColumn, Column, column_like
from nsed.text.pairs import PairsLike
from nsed.text.texts import Texts
from nsed.train.saved_model import SavedModel

FIRST_CODE = 0xE000  # where no surrogate follows
COMPARED_AT_ONCE = 2**26


class StringCodes:
    """Symbol-to-character codes, the same for both sides.

    >>> codes = StringCodes()
    >>> codes.of(["AE", "T"]) == codes.of(["T", "AE"])[::-1]
    True
    """

    def __init__(self) -> None:
        self._codes: dict[str, str] = {}

    def of(self, symbols: Iterable[str]) -> str:
        """Coded string: the symbols as as many characters."""
        codes = self._codes
        return "".join([codes.setdefault(symbol, chr(FIRST_CODE + len(codes))) for symbol in symbols])


def coded_columns(pairs: Pairs, tokenizers: Tokenizers) -> tuple[list[str], list[str]]:
    """Coded sources and targets, a character per symbol; every different string is cut once."""
    codes = StringCodes()
    sources = Texts.of(pairs.sources).mapped(lambda text: codes.of(tokenizers.source.split(text)))
    return list(sources), list(Texts.of(pairs.targets).mapped(lambda text: codes.of(tokenizers.target.split(text))))


def nearest(strings: Sequence[str], choices: Sequence[str]) -> Iterator[int]:
    """Nearest neighbour by normalised edit distance (edits per symbol of the longer string); the first of several."""
    step = max(COMPARED_AT_ONCE // max(len(choices), 1), 1)
    for start in range(0, len(strings), step):
        some = strings[start : start + step]
        table = process.cdist(
            some, choices, scorer=LevenshteinDistance.normalized_similarity, dtype=np.float32, workers=-1
        )
        yield from table.argmax(axis=1).tolist()


SomeSimilarity = TypeVar("SomeSimilarity", bound="Similarity")


class Similarity(PairScorer):
    """Similarity model: a number between 0 and 1 for every pair, and the threshold from which on it is a match."""

    def __init__(self, config: StringConfig, criterion: Criterion) -> None:
        self.config, self.criterion = config, criterion
        self.tokenizers = Tokenizers.plain(config)

    @abstractmethod
    def score(self, pairs: PairsLike, targets: Column | None = None, *, on_batch: OnBatch = ignore) -> AnswerColumn:
        """Similarity of each pair, between 0 and 1."""

    @classmethod
    def fit(
        cls: type[SomeSimilarity],
        pairs: PairsLike,
        labels: Iterable[object] | None = None,
        *,
        validation: PairsLike | None = None,
        config: ConfigLike | None = None,
        **settings: Any,
    ) -> SomeSimilarity:
        """Tune threshold (best F1) and calibration on the validation pairs, without any on the training pairs."""
        given = Pairs.of(pairs, labels) if validation is None else Pairs.of(validation)
        resolved = resolve_settings(cls.configs, config, settings, pairs=given)
        known = labels_of(given)
        scores = cls(resolved, Criterion(0.5, UNCALIBRATED)).score(given)
        return cls(resolved, Criterion.tuned(scores, known))

    def contents(self, *, half: bool = False) -> Contents:
        """See `Model.contents`: threshold and calibration."""
        return Contents(record={"criterion": self.criterion.record(), **self.criterion.share_record})

    @classmethod
    def from_saved(cls: type[SomeSimilarity], saved: SavedModel) -> SomeSimilarity:
        """See `Model.from_saved`."""
        return cls(cls.saved_config(saved), Criterion.of_record(*saved.record["criterion"]).with_share(saved.record))


@dataclass(frozen=True)
class LevenshteinConfig(StringConfig):
    """Levenshtein settings: what the edits are counted in.

    >>> config = LevenshteinConfig(source_symbols="tokens", target_symbols="tokens")
    >>> model = Levenshtein.fit([("HH AE N D", "HH AE N D Z"), ("HH AE N D", "F UH T")], [1, 0], config=config)
    >>> model.score([("HH AE N D", "HH AE N T")])
    array([0.75])
    """

    model: Literal["levenshtein"] = "levenshtein"
    """The kind of model that these settings are for."""


class Levenshtein(Similarity):
    """Normalised Levenshtein similarity: 1 - edits / symbols of the longer string.

    >>> model = Levenshtein.fit([("gray", "grey"), ("gray", "blue")], [1, 0])
    >>> model.score([("colour", "color"), ("", "")]), model.match([("odour", "odor")])
    (array([0.83333333, 1. ]), array([ True]))
    """

    configs: ClassVar[Mapping[str, type[StringConfig]]] = {"levenshtein": LevenshteinConfig}

    def score(self, pairs: PairsLike, targets: Column | None = None, *, on_batch: OnBatch = ignore) -> AnswerColumn:
        """See `Similarity.score`."""
        known = Pairs.given(pairs, targets)
        on_batch(len(known))
        columns = coded_columns(known, self.tokenizers)
        scores = process.cpdist(*columns, scorer=LevenshteinDistance.normalized_similarity, dtype=np.float64)
        return column_like(pairs, scores, "score")


@dataclass(frozen=True)
class JaroWinklerConfig(StringConfig):
    """Jaro-Winkler settings: what is compared.

    >>> config = JaroWinklerConfig(source_case="lower", target_case="lower")
    >>> JaroWinkler.fit([("gray", "grey"), ("gray", "blue")], [1, 0], config=config).score([("Martha", "MARTHA")])
    array([1.])
    """

    model: Literal["jaro-winkler"] = "jaro-winkler"
    """The kind of model that these settings are for."""


class JaroWinkler(Similarity):
    """Jaro-Winkler similarity: shared symbols near each other, few out of order, more so if the beginnings are alike.

    >>> model = JaroWinkler.fit([("gray", "grey"), ("gray", "blue")], [1, 0])
    >>> model.score([("martha", "marhta")])
    array([0.961...])
    """

    configs: ClassVar[Mapping[str, type[StringConfig]]] = {"jaro-winkler": JaroWinklerConfig}

    def score(self, pairs: PairsLike, targets: Column | None = None, *, on_batch: OnBatch = ignore) -> AnswerColumn:
        """See `Similarity.score`."""
        known = Pairs.given(pairs, targets)
        on_batch(len(known))
        columns = coded_columns(known, self.tokenizers)
        scores = process.cpdist(*columns, scorer=JaroWinklerDistance.similarity, dtype=np.float64)
        return column_like(pairs, scores, "score")
