"""Pairs of words that mean the same, for protocols that hold out what a model must not have seen.

A negative is then a word of the same meaning but of another origin: to tell it from a cognate, a model has to compare
the sounds. Each two words of different languages make one pair, in the order of the list.
"""

import numpy as np

from nsed.datasets.splits import Splits, pairs_of
from nsed.datasets.word_list import Word
from nsed.errors import ArgumentError

TRAINING, VALIDATION, TEST = range(3)


def within_concepts(words: list[Word], *, same_language: bool = False) -> np.ndarray:
    """Places of all two words of one concept and of two languages, or of any, a row for each two.

    >>> words = [Word("L1", "hand", "a", "1"), Word("L2", "hand", "b", "1"), Word("L2", "foot", "c", "2")]
    >>> within_concepts(words).tolist()
    [[0, 1]]
    """
    if not words:
        raise ArgumentError("words", got="none", expected="a list of words")
    concepts, languages = numbers([word.concept for word in words]), numbers([word.language for word in words])
    groups = np.split(np.argsort(concepts, kind="stable"), np.cumsum(np.bincount(concepts))[:-1])
    rows = np.concatenate([group[np.stack(np.triu_indices(len(group), 1), axis=1)] for group in groups])
    return rows if same_language else np.compress(languages[rows[:, 0]] != languages[rows[:, 1]], rows, axis=0)


def concept_parts(words: list[Word], *, validation: float, test: float, seed: int) -> np.ndarray:
    """The part of each word, where shares of the concepts are held out, at random but at least one concept each.

    Nothing is held out for testing where that share is 0.
    """
    concepts = numbers([word.concept for word in words])
    count = int(concepts.max()) + 1
    sizes = [max(round(share * count), 1) if share else 0 for share in (validation, test)]
    if sum(sizes) >= count:
        raise ArgumentError("words", got=f"{count} concepts", expected=f"more than the {sum(sizes)} to be held out")
    order = np.random.default_rng(seed).permutation(count)
    parts = np.full(count, TRAINING)
    parts[order[: sizes[0]]] = VALIDATION
    parts[order[sizes[0] : sum(sizes)]] = TEST
    return np.take(parts, concepts)


def split_pairs(words: list[Word], rows: np.ndarray, parts: np.ndarray) -> Splits:
    """Labelled pairs in their parts; words of one class match.

    Two concepts may have the same words (one Slavic word is both hand and arm). So that still no pair of strings
    stands in two parts, training gives up those of validation and test, and validation those of test.
    """
    keys = unordered(numbers([word.tokens for word in words])[rows])
    keep = (parts == TEST) | ~np.isin(keys, keys[parts == TEST])
    keep &= (parts != TRAINING) | ~np.isin(keys, keys[parts == VALIDATION])
    classes = numbers([word.cognate_class for word in words])[rows]
    labels = classes[:, 0] == classes[:, 1]
    chosen = [np.flatnonzero(keep & (parts == part)) for part in (TRAINING, VALIDATION, TEST)]
    for name, places in zip(Splits._fields, chosen, strict=True):
        if not len(places):
            expected = "at least one: two words of one concept in two languages"
            raise ArgumentError("words", got=f"no pair for {name}", expected=expected)
    return Splits(*(pairs_of(words, rows[places], labels[places]) for places in chosen))


def numbers(texts: list[str]) -> np.ndarray:
    """A number for each text, the same for the same text."""
    return np.unique(np.array(texts, dtype=object), return_inverse=True)[1]


def unordered(pairs: np.ndarray) -> np.ndarray:
    """A key for each pair of numbers that is the same when the pair is the other way round.

    >>> unordered(np.array([[2, 5], [5, 2], [2, 2]])).tolist()
    [17, 17, 14]
    """
    keys: np.ndarray = pairs.min(1) * (pairs.max(initial=0) + 1) + pairs.max(1)
    return keys
