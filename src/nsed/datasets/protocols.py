"""Protocols: ways to make labelled pairs of a word list and to split them; the paper's own, `published`, leaks.

The paper's recipe for cognate pairs is here as its authors draw negatives, and as it was first written here; both leak.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from nsed.datasets.splits import Splits, pairs_of, provenance
from nsed.datasets.word_list import CLASSES, Word
from nsed.errors import ArgumentError
from nsed.registry import Registry
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


TRAINING, VALIDATION, TEST = range(3)


def within_concepts(words: list[Word], *, same_language: bool = False) -> np.ndarray:
    """Within-concept pairs: places of all two words of one concept and of two languages, or of any, a row for each two.

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
    """Concept split: the part of each word, where shares of the concepts are held out, at random but at least one each.

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
    """Labelled pairs in their parts; words of one cognate class match.

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
    """Integer codes: a number for each text, the same for the same text."""
    return np.unique(np.array(texts, dtype=object), return_inverse=True)[1]


def unordered(pairs: np.ndarray) -> np.ndarray:
    """Unordered pair key, which is the same when the pair of numbers is the other way round.

    >>> unordered(np.array([[2, 5], [5, 2], [2, 2]])).tolist()
    [17, 17, 14]
    """
    keys: np.ndarray = pairs.min(1) * (pairs.max(initial=0) + 1) + pairs.max(1)
    return keys


VALIDATION_SHARE, TEST_SHARE = 0.1, 0.2


def hold_out_concepts(words: list[Word], *, seed: int = 0) -> Splits:
    """Concept-held-out split, pairs within a concept: 70, 10 and 20 % of the concepts to train, validate and test."""
    words = list(dict.fromkeys(words))
    rows = within_concepts(words)
    return split_pairs(words, rows, parts_of_concepts(words, seed=seed)[rows[:, 0]])


def parts_of_concepts(words: list[Word], *, seed: int = 0) -> np.ndarray:
    """Concept split: the part of each word by `hold_out_concepts`: TRAINING, VALIDATION or TEST of `concept_pairs`."""
    return concept_parts(words, validation=VALIDATION_SHARE, test=TEST_SHARE, seed=seed)


def hold_out_languages(words: list[Word], languages: Sequence[str], *, seed: int = 0) -> Splits:
    """Language-held-out split of the pairs within a concept: those with one of the languages are for testing.

    A tenth of the concepts, of the other languages, is for validation.
    """
    words = list(dict.fromkeys(words))
    _check_languages(words, languages)
    parts = concept_parts(words, validation=VALIDATION_SHARE, test=0.0, seed=seed)
    rows = within_concepts(words)
    held_out = np.array([word.language in languages for word in words])
    return split_pairs(words, rows, np.where(held_out[rows].any(1), TEST, parts[rows[:, 0]]))


def hold_out_family(words: list[Word], test_words: list[Word], *, seed: int = 0) -> Splits:
    """Family-held-out split of the pairs within a concept of each list: those of the second list are for testing.

    A tenth of the first list's concepts is for validation.
    """
    words, test_words = list(dict.fromkeys(words)), list(dict.fromkeys(test_words))
    seen, new = within_concepts(words), within_concepts(test_words) + len(words)
    parts = concept_parts(words, validation=VALIDATION_SHARE, test=0.0, seed=seed)[seen[:, 0]]
    rows, parts = np.concatenate([seen, new]), np.concatenate([parts, np.full(len(new), TEST)])
    # classes of two lists may have the same names, but no pair has words of both
    return split_pairs(words + test_words, rows, parts)


def _check_languages(words: list[Word], languages: Sequence[str]) -> None:
    known = dict.fromkeys(word.language for word in words)
    if not languages:
        raise ArgumentError("languages", got="none", expected=f"at least one of: {', '.join(known)}")
    for language in languages:
        if language not in known:
            raise ArgumentError("languages", got=repr(language), expected=f"one of: {', '.join(known)}")


@dataclass(frozen=True)
class SplitOptions:
    """Split options, what a user may say; which of it a protocol takes is written beside the protocol."""

    seed: int = 0
    held_out: int | None = None
    """Held-out pairs for validation, and as many for testing."""
    languages: tuple[str, ...] = ()
    """Held-out languages."""
    test_words: list[Word] | None = None
    """Test word list, the other one."""


class Protocol(NamedTuple):
    """Split protocol, which of the options beside the seed it takes, and whether it cannot do without.

    >>> PROTOCOLS["concept"]
    Traceback (most recent call last):
    nsed.errors.UnknownNameError: protocol: got 'concept', expected one of: concepts, ... Did you mean 'concepts'?
    """

    split: Callable[[list[Word], SplitOptions], Splits]
    takes: Literal["held_out", "languages", "test_words"] | None = None
    required: bool = False
    class_column: str | None = None
    """The only column of a word list that its classes may come from. It is chosen when the list is read, since a
    word does not know the name of its column; None is any."""
    own_column: str = CLASSES
    """The column that is read unless somebody says otherwise."""


def _published(words: list[Word], options: SplitOptions) -> Splits:
    return published_cognates(words, seed=options.seed, held_out=options.held_out or HELD_OUT)


def _same_sources(words: list[Word], options: SplitOptions) -> Splits:
    return same_source_cognates(words, seed=options.seed, held_out=options.held_out or HELD_OUT)


def _families(words: list[Word], options: SplitOptions) -> Splits:
    return hold_out_family(words, options.test_words or [], seed=options.seed)


PROTOCOLS: Registry[Protocol] = Registry("protocol")
PROTOCOLS.register("published", Protocol(_published, "held_out", own_column="COGNATE_CLASS"))
PROTOCOLS.register("published-same-sources", Protocol(_same_sources, "held_out"))
PROTOCOLS.register("published-fixed", Protocol(_published, "held_out", class_column="COGID"))
PROTOCOLS.register("concepts", Protocol(lambda words, options: hold_out_concepts(words, seed=options.seed)))
PROTOCOLS.register(
    "languages",
    Protocol(
        lambda words, options: hold_out_languages(words, options.languages, seed=options.seed),
        "languages",
        required=True,
    ),
)
PROTOCOLS.register("families", Protocol(_families, "test_words", required=True))
