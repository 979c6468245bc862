"""Ways to make labelled pairs of a word list and to split them: what a score means depends on them.

| name | what is held out | what a test pair is |
|---|---|---|
| `published` | pairs, at random: leaks | as in the paper, with whatever classes were read |
| `published-fixed` | pairs, at random: leaks | as in the paper, with the classes that are of one origin (`COGID`) |
| `concepts` | whole concepts | two words of a new concept |
| `languages` | whole languages | two words of one concept, at least one of them of a new language |
| `families` | a whole word list | two words of one concept of the other list |
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from nsed.datasets.concept_pairs import TEST, concept_parts, split_pairs, within_concepts
from nsed.datasets.published_cognates import HELD_OUT, published_cognates
from nsed.datasets.splits import Splits
from nsed.datasets.word_list import Word
from nsed.errors import ArgumentError
from nsed.registry import Registry

VALIDATION_SHARE, TEST_SHARE = 0.1, 0.2


def hold_out_concepts(words: list[Word], *, seed: int = 0) -> Splits:
    """All pairs within a concept; 70, 10 and 20 % of the concepts are for training, validation and test."""
    words = list(dict.fromkeys(words))
    rows = within_concepts(words)
    return split_pairs(words, rows, parts_of_concepts(words, seed=seed)[rows[:, 0]])


def parts_of_concepts(words: list[Word], *, seed: int = 0) -> np.ndarray:
    """The part of each word by `hold_out_concepts`: TRAINING, VALIDATION or TEST of `concept_pairs`."""
    return concept_parts(words, validation=VALIDATION_SHARE, test=TEST_SHARE, seed=seed)


def hold_out_languages(words: list[Word], languages: Sequence[str], *, seed: int = 0) -> Splits:
    """All pairs within a concept; those with one of the languages are for testing.

    A tenth of the concepts, of the other languages, is for validation.
    """
    words = list(dict.fromkeys(words))
    _check_languages(words, languages)
    parts = concept_parts(words, validation=VALIDATION_SHARE, test=0.0, seed=seed)
    rows = within_concepts(words)
    held_out = np.array([word.language in languages for word in words])
    return split_pairs(words, rows, np.where(held_out[rows].any(1), TEST, parts[rows[:, 0]]))


def hold_out_family(words: list[Word], test_words: list[Word], *, seed: int = 0) -> Splits:
    """All pairs within a concept of each list; those of the second list are for testing.

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
    """What a user may say of a split; which of it a protocol takes is written beside the protocol."""

    seed: int = 0
    held_out: int | None = None
    """How many pairs are held out for validation, and as many for testing."""
    languages: tuple[str, ...] = ()
    """Languages that are held out."""
    test_words: list[Word] | None = None
    """The other word list."""


class Protocol(NamedTuple):
    """A way to split, which of the options beside the seed it takes, and whether it cannot do without.

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


def _published(words: list[Word], options: SplitOptions) -> Splits:
    return published_cognates(words, seed=options.seed, held_out=options.held_out or HELD_OUT)


def _families(words: list[Word], options: SplitOptions) -> Splits:
    return hold_out_family(words, options.test_words or [], seed=options.seed)


PROTOCOLS: Registry[Protocol] = Registry("protocol")
PROTOCOLS.register("published", Protocol(_published, "held_out"))
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
