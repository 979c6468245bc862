"""Similarity: how alike the strings of pairs are to a model, from 0 to 1, and the same without a model."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from nsed.baselines.lingpy import Entry, LexStat, LexStatConfig, Sca, ScaConfig, lexstat_distances
from nsed.baselines.similarity import Levenshtein, LevenshteinConfig
from nsed.capabilities import Capability, can
from nsed.datasets.word_list import Word
from nsed.errors import ArgumentError
from nsed.models.decisions import UNCALIBRATED, Criterion
from nsed.progress import OnBatch, ignore
from nsed.registry import Registry
from nsed.text import Pairs

PROBABLE = 0.5


class LevenshteinControl:
    """Levenshtein control, without a model: 1 - edits / tokens of the longer string.

    >>> LevenshteinControl().probability(Pairs(["h a n d"], ["h o n d"]))
    array([0.75])
    """

    def __init__(self) -> None:
        config = LevenshteinConfig(source_symbols="tokens", target_symbols="tokens")
        self._similarity = Levenshtein(config, Criterion(PROBABLE, UNCALIBRATED))

    def probability(self, pairs: Pairs, *, on_batch: OnBatch = ignore) -> np.ndarray:
        """Normalised similarity of each pair; no probability, but between the same bounds."""
        return np.asarray(self._similarity.score(pairs, on_batch=on_batch))


class Control(NamedTuple):
    """Control for clustering: a similarity that needs no training pairs, and the thresholds that suit it."""

    scores: Callable[..., np.ndarray]
    """Similarity of each pair; of LexStat it may exceed 1."""
    average: float
    """Default threshold of a mean similarity, for average linkage; of SCA and LexStat 1 - LingPy's usual distance."""
    links: float
    """Default threshold of links between single words, for all other methods."""

    def probability(self, pairs: Pairs, *, on_batch: OnBatch = ignore) -> np.ndarray:
        """Similarity of each pair; no probability."""
        return self.scores(pairs, on_batch=on_batch)

    def threshold(self, method: str) -> float:
        """Default threshold of a clustering method. Measured: `results/cluster-thresholds.json`."""
        return self.average if method == "average" else self.links


def _levenshtein(words: Sequence[Word]) -> Control:
    return Control(LevenshteinControl().probability, average=0.25, links=0.45)


def _sca(words: Sequence[Word]) -> Control:
    config = ScaConfig(source_symbols="tokens", target_symbols="tokens")
    return Control(Sca(config, Criterion(PROBABLE, UNCALIBRATED)).score, average=0.55, links=0.7)


def _lexstat(words: Sequence[Word]) -> Control:
    try:
        distances = lexstat_distances(Entry(word.language, word.concept, word.tokens) for word in words)
    except ValueError as error:  # LingPy's, for sounds of which it knows no class
        got = f"a list that LexStat cannot learn from ({error})"
        raise ArgumentError("words", got=got, expected="sounds in IPA, with spaces between them") from None
    model = LexStat(distances, LexStatConfig(), Criterion(PROBABLE, UNCALIBRATED))
    return Control(model.score, average=0.4, links=0.8)


CONTROLS: Registry[Callable[[Sequence[Word]], Control]] = Registry("control")
"""Controls by name, made of the words that are clustered; LexStat alone learns from them, and never from classes."""
CONTROLS.register("levenshtein", _levenshtein)
CONTROLS.register("lexstat", _lexstat)
CONTROLS.register("sca", _sca)


def similarity(model: Any, pairs: Pairs, *, on_batch: OnBatch = ignore) -> np.ndarray:
    """Similarity from 0 to 1 of each pair of strings of tokens.

    The probability of a match where the model gives one. Else the probability of the pair, but per token of both
    strings (its geometric mean), since long pairs are all improbable.
    """
    if can(model, Capability.MATCH):
        return np.asarray(model.probability(pairs, on_batch=on_batch), dtype=float)
    if can(model, Capability.SCORE):
        tokens = np.array([len(source.split()) + len(target.split()) for source, target in pairs])
        return np.asarray(np.exp(model.score(pairs, on_batch=on_batch) / np.maximum(tokens, 1)))
    got = f"a {type(model).__name__}, which scores no pairs"
    raise ArgumentError("model", got=got, expected="one with a method `probability` or `score`, say a Matcher")


def both_ways(model: Any, pairs: Pairs, *, on_batch: OnBatch = ignore) -> np.ndarray:
    """Symmetrised similarity: the mean of a pair and its reverse, which a model from source to target tells apart."""
    languages = pairs.source_languages, pairs.target_languages
    one, other = ([*column] if column is not None else None for column in languages)
    both = Pairs(
        [*pairs.sources, *pairs.targets],
        [*pairs.targets, *pairs.sources],
        source_languages=one + other if one and other else None,
        target_languages=other + one if one and other else None,
    )
    there, back = similarity(model, both, on_batch=on_batch).reshape(2, -1)
    return np.asarray((there + back) / 2)
