"""The paper's recipe for cognate pairs, as its authors draw negatives and as it was first written here; both leak."""

from collections import Counter
from typing import NamedTuple

import numpy as np

from nsed.datasets.splits import Splits, pairs_of, provenance
from nsed.datasets.word_list import Word
from nsed.errors import ArgumentError
from nsed.text import Pairs
from nsed.text.texts import Texts

NEGATIVES, HELD_OUT, MOST_TRAINING = 10, 20_000, 2_000_000
"""Negatives of each positive, pairs of validation and of test, and training pairs at most, by the published recipe."""


def published_cognates(
    words: list[Word],
    *,
    seed: int = 0,
    held_out: int = HELD_OUT,
    most_training: int = MOST_TRAINING,
) -> Splits:
    """Pairs of the words' sounds, split at random. Paper: section 4, "Cognate Detection".

    For a negative its authors draw two classes uniformly and a word of each, so that rare words are often negatives.
    Words of a class of their own take part: the paper says that they do not, but its counts are those with them. Where
    there are more training pairs than `most_training` (80 million in the Austro-Asiatic list), these are a random
    sample.
    """
    random = np.random.default_rng(seed)
    classes = Classes.of(words)
    total = classes.positives * (1 + NEGATIVES)
    if total <= 2 * held_out:
        raise ArgumentError("words", got=f"{classes.positives} pairs", expected=f"enough to hold out {2 * held_out}")
    chosen = _sample(total, min(total, 2 * held_out + most_training), random)
    labels = chosen < classes.positives
    rows = np.empty((len(chosen), 2), dtype=np.int64)
    rows[labels] = classes.pairs_within(chosen[labels])
    rows[~labels] = classes.pairs_between(int((~labels).sum()), random)
    parts = np.split(np.arange(len(rows)), [held_out, 2 * held_out])
    validation, test, training = (_compact_pairs(words, rows[part], labels[part]) for part in parts)
    return Splits(training, validation, test)


class Classes(NamedTuple):
    """The words of each class, one class after the other, and where each class begins."""

    order: np.ndarray
    """Places of the words, sorted by class."""
    starts: np.ndarray
    """Where each class begins in the order, and the end."""

    @classmethod
    def of(cls, words: list[Word]) -> "Classes":
        """The classes of a list of words."""
        classes = np.unique([word.cognate_class for word in words], return_inverse=True)[1]
        return cls(np.argsort(classes, kind="stable"), np.concatenate([[0], np.cumsum(np.bincount(classes))]))

    @property
    def positives(self) -> int:
        """How many ordered pairs there are within classes, those of a word with itself included."""
        return int((np.diff(self.starts) ** 2).sum())

    def pairs_within(self, pair: np.ndarray) -> np.ndarray:
        """The words of ordered pairs within classes, by the pairs' numbers from 0 to `positives`."""
        sizes = np.diff(self.starts)
        ends = np.cumsum(sizes**2)
        own = np.searchsorted(ends, pair, side="right")
        first, second = np.divmod(pair - (ends - sizes**2)[own], sizes[own])
        words: np.ndarray = self.order[self.starts[own][:, None] + np.stack([first, second], axis=1)]
        return words

    def pairs_between(self, count: int, random: np.random.Generator) -> np.ndarray:
        """Two different classes each, drawn uniformly, and a word of either."""
        sizes = np.diff(self.starts)
        if len(sizes) < 2:
            raise ArgumentError("words", got="one class", expected="at least two, for pairs that do not match")
        first = random.integers(len(sizes), size=count)
        second = (first + 1 + random.integers(len(sizes) - 1, size=count)) % len(sizes)
        own = np.stack([first, second], axis=1)
        drawn: np.ndarray = self.order[self.starts[own] + random.integers(sizes[own])]
        return drawn


def _sample(total: int, count: int, random: np.random.Generator) -> np.ndarray:
    """Different numbers below `total`, in random order; of very many, without a list of all."""
    if 10 * count >= total:
        return random.permutation(total)[:count]
    found = np.zeros(0, dtype=np.int64)
    while len(found) < count:
        found = np.unique(np.concatenate([found, random.integers(total, size=count)]))
    return random.permutation(found)[:count]


def _compact_pairs(words: list[Word], rows: np.ndarray, labels: np.ndarray) -> Pairs:
    """As `pairs_of`; every word is kept once, however often it occurs."""

    def column(values: list[str], places: np.ndarray) -> Texts:
        known = Texts.of(values)
        return Texts(known.different, known.rows[places])

    tokens, languages = [word.tokens for word in words], [word.language for word in words]
    source, target = rows.T
    return Pairs(
        column(tokens, source),
        column(tokens, target),
        labels.tolist(),
        column(languages, source),
        column(languages, target),
        provenance(words, rows),
    )


def same_source_cognates(words: list[Word], *, seed: int = 0, held_out: int = HELD_OUT) -> Splits:
    """The same, but negatives have the sources of positives, and a uniformly drawn word of another class."""
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
