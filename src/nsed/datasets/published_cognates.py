"""The paper's recipe for pairs of cognates, which leaks: read the warning.

Every ordered pair of words of one class is a positive, ten random words of other classes per positive make negatives,
and the pairs, not the words, are shuffled and split. So most test pairs stand in the training data, often the other way
round; a table of the training pairs would score almost as well as any model. For comparison with the paper only.
"""

from collections import Counter

import numpy as np

from nsed.datasets.splits import Splits, pairs_of
from nsed.datasets.word_list import Word
from nsed.errors import ArgumentError

NEGATIVES, HELD_OUT = 10, 20_000


def published_cognates(words: list[Word], *, seed: int = 0, held_out: int = HELD_OUT) -> Splits:
    """Pairs of the words' sounds, split at random. Paper: section 4.1.

    Words of a class of their own take part: the paper says that they do not, but its counts are those with them.
    """
    random = np.random.default_rng(seed)
    classes = np.unique([word.cognate_class for word in words], return_inverse=True)[1]
    positives = _ordered_pairs(classes)
    negatives = _other_classes(np.repeat(positives[:, 0], NEGATIVES), classes, random)
    if len(positives) * (1 + NEGATIVES) <= 2 * held_out:
        raise ArgumentError("words", got=f"{len(positives)} pairs", expected=f"enough to hold out {2 * held_out}")
    everything = np.concatenate([positives, negatives])
    labels = np.arange(len(everything)) < len(positives)
    order = random.permutation(len(everything))
    parts = np.split(order, [held_out, 2 * held_out])
    validation, test, training = (pairs_of(words, everything[rows], labels[rows]) for rows in parts)
    return Splits(training, validation, test)


def count_positives(words: list[Word]) -> int:
    """How many positives the recipe makes, counted without making them: each class gives the square of its size.

    >>> hand, foot = Word("Dutch", "hand", "h ɑ n t", "1"), Word("Dutch", "foot", "v u t", "2")
    >>> count_positives([hand, hand, foot])
    5
    """
    return sum(size**2 for size in Counter(word.cognate_class for word in words).values())


def _ordered_pairs(classes: np.ndarray) -> np.ndarray:
    """All ordered pairs within a class, those of a word with itself included."""
    order = np.argsort(classes, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(classes))[:-1])
    return np.concatenate([np.stack(np.meshgrid(rows, rows), -1).reshape(-1, 2) for rows in groups])


def _other_classes(sources: np.ndarray, classes: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """For each source a random word of another class."""
    targets = random.integers(len(classes), size=len(sources))
    while len(wrong := np.flatnonzero(classes[sources] == classes[targets])):
        targets[wrong] = random.integers(len(classes), size=len(wrong))
    return np.stack([sources, targets], axis=1)
