"""How well clusters of words agree with cognate classes."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nsed.datasets.word_list import Word
from nsed.errors import ArgumentError
from nsed.evaluate import Agreement, adjusted_rand, b_cubed, pairwise


class ClusterScore(NamedTuple):
    """Clusters against classes, over all words that have one; a class that spans concepts is one per concept."""

    words: int
    concepts: int
    clusters: int
    classes: int
    b_cubed: Agreement
    pairwise: Agreement
    """Of pairs of words that are in one cluster, or in one class."""
    adjusted_rand: float
    """Over all words. Two words of different concepts are apart in both, which is no chance: see the next."""
    adjusted_rand_within: float
    """Within each concept, the mean over concepts of at least two words."""


def cluster_score(words: Sequence[Word], clusters: np.ndarray) -> ClusterScore:
    """Figures of clusters that `cluster_words` found.

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
    """The adjusted Rand index of each concept that has at least two words."""
    concepts: dict[str, list[int]] = {}
    for place, (concept, _) in enumerate(expected):
        concepts.setdefault(concept, []).append(place)
    return [
        adjusted_rand([found[place] for place in places], [expected[place] for place in places])
        for places in concepts.values()
        if len(places) > 1
    ]
