"""Cognate sets: word clusters of each concept, and how well these agree with cognate classes."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from nsed.datasets.protocols import numbers, within_concepts
from nsed.datasets.splits import pairs_of
from nsed.datasets.word_list import Word
from nsed.errors import ArgumentError
from nsed.evaluate import Agreement, adjusted_rand, b_cubed, pairwise
from nsed.evaluate.clustering import numbered
from nsed.jobs.clustering import cluster, similarity_matrix
from nsed.jobs.similarity import both_ways
from nsed.progress import OnBatch, ignore


class ConceptWords(NamedTuple):
    """Concept's words by their places in a list, and the similarities of each two that were compared."""

    places: np.ndarray
    similarities: np.ndarray


def compared_words(
    model: object, words: list[Word], *, same_language: bool = False, on_batch: OnBatch = ignore
) -> list[ConceptWords]:
    """Similarities of the words of each concept, all their pairs scored in one go, both ways round.

    Two words of one language are compared only if `same_language` says so: models seldom learn from such pairs.
    """
    rows = compared_pairs(words, same_language=same_language)
    return by_concept(words, rows, both_ways(model, pairs_of(words, rows), on_batch=on_batch))


def by_concept(words: list[Word], rows: np.ndarray, scores: np.ndarray) -> list[ConceptWords]:
    """Similarities of the words of each concept, from those of pairs of places."""
    concepts = numbers([word.concept for word in words])
    of_pairs, compared = concepts[rows[:, 0]], []
    for concept in range(int(concepts.max()) + 1):
        places, chosen = np.flatnonzero(concepts == concept), of_pairs == concept
        within = np.searchsorted(places, rows[chosen])
        compared.append(ConceptWords(places, similarity_matrix(len(places), within, scores[chosen])))
    return compared


def compared_pairs(words: list[Word], *, same_language: bool = False) -> np.ndarray:
    """Compared pairs: the places of each two words that are compared; at least one row."""
    rows = within_concepts(words, same_language=same_language)
    if not len(rows):
        concepts, languages = {word.concept for word in words}, {word.language for word in words}
        got = f"{_many(words, 'word')} of {_many(concepts, 'concept')} in {_many(languages, 'language')}"
        expected = "two words of one concept" if same_language else "two words of one concept in two languages"
        raise ArgumentError("words", got=got, expected=f"at least {expected}, to compare")
    return rows


def _many(things: Collection[object], name: str) -> str:
    return f"{len(things)} {name}" + ("" if len(things) == 1 else "s")


def known_similarities(compared: Sequence[ConceptWords]) -> np.ndarray:
    """Similarities of all pairs of words that were compared, in one column."""
    return np.concatenate([each.similarities[np.isfinite(each.similarities)] for each in compared])


class ClusterScore(NamedTuple):
    """Clustering metrics against classes, over all words that have one; a class is one per concept that it spans."""

    words: int
    concepts: int
    clusters: int
    classes: int
    b_cubed: Agreement
    pairwise: Agreement
    """Pairwise precision and recall, of pairs of words that are in one cluster, or in one class."""
    adjusted_rand: float
    """Adjusted Rand index over all words. Words of two concepts are apart in both, which is no chance: see the next."""
    adjusted_rand_within: float
    """Adjusted Rand index within each concept, the mean over concepts of at least two words."""


def cluster_score(words: Sequence[Word], clusters: np.ndarray) -> ClusterScore:
    """Clustering metrics of clusters that `cluster_words` found.

    >>> words = [Word("A", "hand", "a", "1"), Word("B", "hand", "b", "1"), Word("A", "foot", "c", "2")]
    >>> cluster_score(words, np.array([0, 0, 1])).b_cubed.f1
    1.0
    """
    places = [place for place, word in enumerate(words) if word.cognate_class]
    if not places:
        raise ArgumentError("words", got="none with a cognate class", expected="classes to compare with")
    found = [int(clusters[place]) for place in places]
    expected = [(words[place].concept, words[place].cognate_class) for place in places]
    within = _within(found, expected)
    return ClusterScore(
        len(places),
        len({concept for concept, _ in expected}),
        len(set(found)),
        len(set(expected)),
        b_cubed(found, expected),
        pairwise(found, expected),
        adjusted_rand(found, expected),
        float(np.mean(within)) if within else 1.0,
    )


def _within(found: list[int], expected: list[tuple[str, str]]) -> list[float]:
    """Adjusted Rand index of each concept that has at least two words."""
    concepts: dict[str, list[int]] = {}
    for place, (concept, _) in enumerate(expected):
        concepts.setdefault(concept, []).append(place)
    return [
        adjusted_rand([found[place] for place in places], [expected[place] for place in places])
        for places in concepts.values()
        if len(places) > 1
    ]


THRESHOLDS = 99


class TunedThreshold(NamedTuple):
    """Tuned threshold, best for the words it was tuned on, and how good it was there."""

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
    """Cluster labels of each word, numbered as they first occur; words of two concepts are never together.

    The model is whatever scores pairs: a `Matcher`, whose calibrated probabilities the threshold then is for, another
    model (see `nsed.jobs.similarity`) or `LevenshteinControl()`. Pairs are scored both ways, as `on_batch` is told.

    >>> from nsed.jobs import LevenshteinControl
    >>> words = [Word("Dutch", "hand", "h ɑ n t", ""), Word("German", "hand", "h a n t", ""),
    ...          Word("Finnish", "hand", "k æ s i", ""), Word("Dutch", "foot", "v u t", "")]
    >>> cluster_words(LevenshteinControl(), words, threshold=0.5)
    array([0, 0, 1, 2])
    """
    compared = compared_words(model, words, same_language=same_language, on_batch=on_batch)
    return cluster_compared(compared, threshold=threshold, method=method)


def cluster_compared(compared: Sequence[ConceptWords], *, threshold: float, method: str) -> np.ndarray:
    """Cluster labels of each word of all concepts; words and numbers in the order of the word list."""
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
    """Tune the threshold: the highest B-cubed F on words of known classes.

    Give it words of concepts that are not tested with, and better not learned from: a model is too sure of those.
    """
    if not any(word.cognate_class for word in words):
        raise ArgumentError("words", got="none with a cognate class", expected="classes to tune the threshold on")
    compared = compared_words(model, words, same_language=same_language, on_batch=on_batch)
    return tune_compared(compared, words, method=method)


def tune_compared(compared: Sequence[ConceptWords], words: list[Word], *, method: str) -> TunedThreshold:
    """Threshold grid search: the best of those that cut the similarities into shares of equal size (quantiles)."""
    cuts = np.unique(np.quantile(known_similarities(compared), np.linspace(0, 1, THRESHOLDS + 2)))
    tried = []
    for threshold in cuts.tolist():
        clusters = cluster_compared(compared, threshold=threshold, method=method)
        tried.append(TunedThreshold(threshold, cluster_score(words, clusters).b_cubed))
    return max(tried, key=lambda one: one.b_cubed.f1)
