"""SCA and LexStat (List 2012), by the package `lingpy` (extra `cognates`).

SCA compares sounds by their classes; LexStat learns what corresponds to what in two languages.
"""

import io
import logging
import random
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import combinations, repeat
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import torch

from nsed.baselines.similarity import Similarity
from nsed.config import bounded
from nsed.errors import ArgumentError, MissingExtraError
from nsed.models.base import Contents
from nsed.models.pair_model import UNCALIBRATED, Criterion, PairScorer, labels_of
from nsed.models.settings import ConfigLike, resolve_settings
from nsed.progress import OnBatch, ignore
from nsed.text import Pairs, StringConfig, Tokenizers
from nsed.text.columns import AnswerColumn, Column, column_like
from nsed.text.pairs import PairsLike
from nsed.text.texts import Texts, from_tensors, to_tensors
from nsed.train.saved_model import SavedModel


@contextmanager
def quietly() -> Iterator[None]:
    """Silence LingPy: while this lasts, no log and no progress bars; afterwards the root logger is as it was before."""
    root, disabled = logging.getLogger(), logging.root.manager.disable
    handlers, level = root.handlers[:], root.level
    logging.disable(logging.ERROR)
    try:
        with redirect_stderr(io.StringIO()):
            yield
    finally:
        logging.disable(disabled)
        root.handlers[:] = handlers
        root.setLevel(level)


def lingpy_module(name: str) -> Any:
    """Lazy import of a module of LingPy. Raises `MissingExtraError` where it is not installed."""
    if find_spec("lingpy") is None:
        raise MissingExtraError("lingpy", extra="cognates")
    with quietly():
        return import_module(f"lingpy.{name}")


ALIGNED_AT_ONCE = 1000
Sounds = tuple[str, ...]


@dataclass(frozen=True)
class ScaConfig(StringConfig):
    """SCA hyperparameters: how LingPy aligns; symbols are sounds, mostly `tokens`.

    >>> ScaConfig(mode="local")
    Traceback (most recent call last):
    nsed.errors.ConfigError: ScaConfig: 1 fault - mode: got 'local', expected one of global, overlap
    """

    model: Literal["sca"] = "sca"
    """The kind of model that these settings are for."""
    mode: Literal["global", "overlap"] = "overlap"
    """Alignment mode; overlap: what hangs over at either end costs nothing, as in LingPy's search for cognates."""
    gap: float = bounded(-2.0, low=-1e6, most=1e6)
    """Gap penalty: what opening a gap costs, as in LingPy's search for cognates."""


class Sca(Similarity):
    """SCA similarity: 1 - LingPy's distance of sound-class alignments; only the threshold is learned.

    >>> pairs = [("h a n d", "h o n t"), ("h a n d", "f u s")]
    >>> model = Sca.fit(pairs, [1, 0], source_symbols="tokens", target_symbols="tokens")
    >>> model.score([("h a n t", "h a n d"), ("h a n t", "f u t")]).round(2)
    array([1.  , 0.41])
    """

    configs: ClassVar[Mapping[str, type[StringConfig]]] = {"sca": ScaConfig}

    def score(self, pairs: PairsLike, targets: Column | None = None, *, on_batch: OnBatch = ignore) -> AnswerColumn:
        """See `Similarity.score`; of two empty strings 1, of one 0."""
        split = self.tokenizers.source.split, self.tokenizers.target.split
        rows = [(split[0](one), split[1](other)) for one, other in Pairs.given(pairs, targets)]
        distances: dict[tuple[Sounds, Sounds], float] = {row: float(row[0] != row[1]) for row in rows if not all(row)}
        different = [row for row in dict.fromkeys(rows) if all(row)]
        for start in range(0, len(different), ALIGNED_AT_ONCE):
            some = different[start : start + ALIGNED_AT_ONCE]
            distances.update(zip(some, self._distances(some), strict=True))
            on_batch(len(some) * len(rows) // len(different))
        return column_like(pairs, 1 - np.array([distances[row] for row in rows], dtype=float), "score")

    def _distances(self, rows: list[tuple[Sounds, Sounds]]) -> list[float]:
        assert isinstance(self.config, ScaConfig)
        pairwise = lingpy_module("align.pairwise")
        try:
            with quietly():
                aligned = pairwise.Pairwise([(list(one), list(other)) for one, other in rows])
                aligned.align(distance=True, mode=self.config.mode, gop=self.config.gap)
        except ValueError as error:
            if len(rows) > 1:  # which of them it is
                return [distance for row in rows for distance in self._distances([row])]
            got = " and ".join(repr(" ".join(word)) for word in rows[0])
            expected = "words of sounds that LingPy knows; a form that is missing has an empty cell, or no row"
            raise ArgumentError("words", got=got, expected=expected, advice=f"LingPy says: {error}.") from None
        return [float(distance) for _, _, distance in aligned.alignments]


COLUMNS = ("one_language", "one", "other_language", "other")


class Entry(NamedTuple):
    """Word list entry, without its class."""

    language: str
    concept: str
    tokens: str
    """Tokens: its sounds, with spaces between them."""


@dataclass(frozen=True)
class LexStatConfig(StringConfig):
    """LexStat hyperparameters: how it learns; symbols are always tokens.

    >>> LexStatConfig(runs=0)
    Traceback (most recent call last):
    nsed.errors.ConfigError: LexStatConfig: 1 fault - runs: got 0, expected at least 1 and at most 1,000,000
    """

    model: Literal["lexstat"] = "lexstat"
    """The kind of model that these settings are for."""
    word_list: str = ""
    """Word list file to learn from: languages, concepts and sounds are read, cognate classes are not."""
    runs: int = bounded(1000, low=1, most=10**6)
    """Permutation runs: random alignments per pair of languages, with which the attested ones are compared."""
    seed: int = bounded(0, low=-(2**63), most=2**63 - 1)
    """Random seed: another number gives other random alignments."""


Key = tuple[str, str, str, str]
"""Dictionary key: language and sounds of one word, then of the other."""


class LexStat(PairScorer):
    """LexStat similarity: 1 - LexStat's distance of each pair of words that have one concept in its list.

    >>> words = [Entry("English", "hand", "h a n d"), Entry("German", "hand", "h a n t"),
    ...          Entry("English", "new", "n u"), Entry("German", "new", "n o i")]
    >>> pairs = Pairs(["h a n d", "n u"], ["h a n t", "n o i"], [True, False], ["English"] * 2, ["German"] * 2)
    >>> model = LexStat.fit(pairs, words=words, runs=10)
    >>> model.score(pairs).shape
    (2,)
    >>> model.score([("k a t", "k a t͡s ə")])
    Traceback (most recent call last):
    nsed.errors.ArgumentError: pairs: got 'k a t' (no language) and 'k a t͡s ə' (no language), expected two words ...
    """

    configs: ClassVar[Mapping[str, type[LexStatConfig]]] = {"lexstat": LexStatConfig}
    config: LexStatConfig

    def __init__(self, distances: dict[Key, float], config: LexStatConfig, criterion: Criterion) -> None:
        self.distances, self.config, self.criterion = distances, config, criterion
        self.tokenizers = Tokenizers.plain(config)

    @classmethod
    def fit(
        cls,
        pairs: PairsLike,
        labels: Iterable[object] | None = None,
        *,
        words: Iterable[Entry],
        validation: PairsLike | None = None,
        config: ConfigLike | None = None,
        **settings: Any,
    ) -> "LexStat":
        """Train on the word list; tune the threshold on the validation pairs, without any on the pairs."""
        resolved = resolve_settings(cls.configs, config, settings)
        tuning = Pairs.of(pairs, labels) if validation is None else Pairs.of(validation)
        assert isinstance(resolved, LexStatConfig)
        known = labels_of(tuning)
        distances = lexstat_distances(words, runs=resolved.runs, seed=resolved.seed)
        undecided = cls(distances, resolved, Criterion(0.5, UNCALIBRATED))
        return cls(distances, resolved, Criterion.tuned(undecided.score(tuning), known))

    def score(self, pairs: PairsLike, targets: Column | None = None, *, on_batch: OnBatch = ignore) -> AnswerColumn:
        """Similarity of each pair. Raises `ArgumentError` for words that have no concept in common in the list."""
        known = Pairs.given(pairs, targets)
        on_batch(len(known))
        scores = 1 - np.array([self._distance(key) for key in _keys(known)], dtype=float)
        return column_like(pairs, scores, "score")

    def contents(self, *, half: bool = False) -> Contents:
        """See `Model.contents`: all distances."""
        turned = zip(COLUMNS, zip(*self.distances, strict=True), strict=True)
        columns = {name: Texts.of(column) for name, column in turned}
        tensors = {**to_tensors(columns), "distances": torch.tensor(list(self.distances.values()), dtype=torch.float64)}
        return Contents(tensors=tensors, record={"criterion": self.criterion.record(), **self.criterion.share_record})

    @classmethod
    def from_saved(cls, saved: SavedModel) -> "LexStat":
        """See `Model.from_saved`."""
        config = cls.saved_config(saved)
        assert isinstance(config, LexStatConfig)
        one_language, one, other_language, other = (from_tensors(saved.tensors, name) for name in COLUMNS)
        keys = zip(one_language, one, other_language, other, strict=True)
        distances = dict(zip(keys, saved.tensors["distances"].double().flatten().tolist(), strict=True))
        return cls(distances, config, Criterion.of_record(*saved.record["criterion"]).with_share(saved.record))

    def _distance(self, key: Key) -> float:
        turned = (*key[2:], *key[:2])
        found = self.distances.get(key, self.distances.get(turned))
        if found is None:
            got = f"{key[1]!r} ({key[0] or 'no language'}) and {key[3]!r} ({key[2] or 'no language'})"
            expected = "two words of one concept of the word list that LexStat learned from, with their languages"
            raise ArgumentError("pairs", got=got, expected=expected)
        return found


def lexstat_distances(words: Iterable[Entry], *, runs: int = 1000, seed: int = 0) -> dict[Key, float]:
    """LexStat distances of every two words that have a concept in common; the smaller one where they have several."""
    entries = list(dict.fromkeys(Entry(*word) for word in words))
    table: dict[int, list[object]] = {0: ["doculect", "concept", "tokens"]}
    table |= {row: [e.language, e.concept, e.tokens.split()] for row, e in enumerate(entries, start=1)}
    state, lexstat = random.getstate(), lingpy_module("compare.lexstat")
    try:
        with quietly():
            model = lexstat.LexStat(table)
            random.seed(seed)  # LingPy draws from the global generator
            model.get_scorer(runs=runs)
            found = [(key, _distance_of(model, *rows)) for key, rows in _within_concepts(entries)]
    finally:
        random.setstate(state)
    distances: dict[Key, float] = {}
    for key, distance in found:
        distances[key] = min(distance, distances.get(key, distance))
    return distances


def _distance_of(model: object, one: int, other: int) -> float:
    return float(model.align_pairs(one, other, return_distance=True, pprint=False))  # type: ignore[attr-defined]  # made at run time


def _within_concepts(entries: list[Entry]) -> Iterator[tuple[Key, tuple[int, int]]]:
    concepts: dict[str, list[int]] = {}
    for row, entry in enumerate(entries, start=1):
        concepts.setdefault(entry.concept, []).append(row)
    for rows in concepts.values():
        for one, other in combinations(rows, 2):
            first, second = entries[one - 1], entries[other - 1]
            yield (first.language, first.tokens, second.language, second.tokens), (one, other)


def _keys(pairs: Pairs) -> Iterator[Key]:
    one_languages = repeat("") if pairs.source_languages is None else pairs.source_languages
    other_languages = repeat("") if pairs.target_languages is None else pairs.target_languages
    return zip(one_languages, pairs.sources, other_languages, pairs.targets, strict=False)
