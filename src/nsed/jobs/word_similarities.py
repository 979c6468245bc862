"""Words of one meaning, and how alike they are to a model."""

from typing import NamedTuple

import numpy as np

from nsed.datasets.concept_pairs import numbers, within_concepts
from nsed.datasets.splits import pairs_of
from nsed.datasets.word_list import Word
from nsed.errors import ArgumentError
from nsed.jobs.clustering import similarity_matrix
from nsed.jobs.likeness import both_ways
from nsed.progress import OnBatch, ignore


class ConceptWords(NamedTuple):
    """The words of a concept by their places in a list, and the similarities of each two that were compared."""

    places: np.ndarray
    similarities: np.ndarray


def compared_words(
    model: object, words: list[Word], *, same_language: bool = False, on_batch: OnBatch = ignore
) -> list[ConceptWords]:
    """The words of each concept, all their pairs scored in one go, both ways round.

    Two words of one language are compared only if `same_language` says so: models seldom learn from such pairs.
    """
    rows = compared_pairs(words, same_language=same_language)
    scores = both_ways(model, pairs_of(words, rows), on_batch=on_batch)
    concepts = numbers([word.concept for word in words])
    of_pairs, compared = concepts[rows[:, 0]], []
    for concept in range(int(concepts.max()) + 1):
        places, chosen = np.flatnonzero(concepts == concept), of_pairs == concept
        within = np.searchsorted(places, rows[chosen])
        compared.append(ConceptWords(places, similarity_matrix(len(places), within, scores[chosen])))
    return compared


def compared_pairs(words: list[Word], *, same_language: bool = False) -> np.ndarray:
    """The places of each two words that are compared; at least one row."""
    rows = within_concepts(words, same_language=same_language)
    if not len(rows):
        got = f"{len(words)} words of {len({word.concept for word in words})} concepts"
        expected = "two words of one concept" if same_language else "two words of one concept in two languages"
        raise ArgumentError("words", got=got, expected=f"at least {expected}, to compare")
    return rows
