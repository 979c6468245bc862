"""Cognate sets: the words of each concept in clusters, by what a model thinks of each two."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nsed.datasets.word_list import Word
from nsed.errors import ArgumentError
from nsed.evaluate import Agreement
from nsed.evaluate.clustering import numbered
from nsed.jobs.cluster_score import cluster_score
from nsed.jobs.clustering import cluster
from nsed.jobs.word_similarities import ConceptWords, compared_words
from nsed.progress import OnBatch, ignore

THRESHOLDS = 99


class TunedThreshold(NamedTuple):
    """The threshold that was best for the words it was tuned on, and how good it was there."""

    threshold: float
    b_cubed: Agreement


def cluster_words(
    model: object,
    words: list[Word],
    *,
    threshold: float,
    method: str = "average",
    same_language: bool = False,
    on_batch: OnBatch = ignore,
) -> np.ndarray:
    """The cluster of each word, numbered as they first occur; words of two concepts are never together.

    The model is whatever scores pairs: a `Matcher`, whose calibrated probabilities the threshold then is for, another
    model (see `nsed.jobs.likeness`) or `Levenshtein()`. Pairs are scored both ways round, `on_batch` is told how many.

    >>> from nsed.jobs import Levenshtein
    >>> words = [Word("Dutch", "hand", "h ɑ n t", ""), Word("German", "hand", "h a n t", ""),
    ...          Word("Finnish", "hand", "k æ s i", ""), Word("Dutch", "foot", "v u t", "")]
    >>> cluster_words(Levenshtein(), words, threshold=0.5)
    array([0, 0, 1, 2])
    """
    compared = compared_words(model, words, same_language=same_language, on_batch=on_batch)
    return cluster_compared(compared, threshold=threshold, method=method)


def cluster_compared(compared: Sequence[ConceptWords], *, threshold: float, method: str) -> np.ndarray:
    """The cluster of each word of all concepts; words and numbers in the order of the word list."""
    clusters, count = np.empty(sum(len(each.places) for each in compared), dtype=np.int64), 0
    for concept in compared:
        found = cluster(concept.similarities, threshold=threshold, method=method)
        clusters[concept.places] = found + count
        count += int(found.max()) + 1
    return numbered(clusters.tolist())


def tune_threshold(
    model: object,
    words: list[Word],
    *,
    method: str = "average",
    same_language: bool = False,
    on_batch: OnBatch = ignore,
) -> TunedThreshold:
    """The threshold with the highest B-cubed F on words of known classes.

    Give it words of concepts that are not tested with, and better not learned from: a model is too sure of those.
    """
    if not any(word.cognate_class for word in words):
        raise ArgumentError("words", got="none with a cognate class", expected="classes to tune the threshold on")
    compared = compared_words(model, words, same_language=same_language, on_batch=on_batch)
    return tune_compared(compared, words, method=method)


def tune_compared(compared: Sequence[ConceptWords], words: list[Word], *, method: str) -> TunedThreshold:
    """The best of the thresholds that cut the similarities into shares of equal size."""
    known = [each.similarities[np.isfinite(each.similarities)] for each in compared]
    cuts = np.unique(np.quantile(np.concatenate(known), np.linspace(0, 1, THRESHOLDS + 2)))
    tried = []
    for threshold in cuts.tolist():
        clusters = cluster_compared(compared, threshold=threshold, method=method)
        tried.append(TunedThreshold(threshold, cluster_score(words, clusters).b_cubed))
    return max(tried, key=lambda one: one.b_cubed.f1)
