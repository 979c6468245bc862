"""Which concepts and cognate classes of a word list the parts of a data set have in common."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from nsed.datasets.word_list import Word
from nsed.text import Pairs


@dataclass(frozen=True)
class WordOverlap:
    """Concepts and classes of a later part that an earlier one has too, and how many of its own these are.

    Whoever learns from words of a class has seen what other words of it look like, even where no pair is the same.
    """

    earlier: str
    later: str
    concepts: int
    share_of_concepts: float
    classes: int
    share_of_classes: float


class _Known(NamedTuple):
    """What is known of a string, or of a part."""

    concepts: set[str]
    classes: set[str]


def word_overlaps(parts: Mapping[str, Pairs], words: list[Word]) -> list[WordOverlap]:
    """Compare the parts, the earlier ones first.

    The concept of a pair is the one that both its strings are words for; its class, if it is a positive, the one that
    both are of. Pairs that have several, such as words for hand and arm in two languages, do not count.

    >>> words = [Word("de", "hand", "h a", "1"), Word("en", "hand", "h æ", "1"), Word("nl", "hand", "h ɑ", "1")]
    >>> parts = {"train": Pairs(["h a"], ["h æ"], [True]), "test": Pairs(["h a"], ["h ɑ"], [True])}
    >>> (overlap,) = word_overlaps(parts, words)
    >>> overlap.concepts, overlap.classes
    (1, 1)
    """
    strings: dict[str, _Known] = {}
    for word in words:
        known = strings.setdefault(word.tokens, _Known(set(), set()))
        known.concepts.add(word.concept)
        known.classes.add(word.cognate_class)
    facts = {name: _known_of(pairs, strings) for name, pairs in parts.items()}
    return [_overlap(one, facts[one], other, facts[other]) for one, other in combinations(facts, 2)]


def _known_of(pairs: Pairs, strings: Mapping[str, _Known]) -> _Known:
    nothing, found = _Known(set(), set()), _Known(set(), set())
    labels = pairs.labels if pairs.labels is not None else [True] * len(pairs)
    for (source, target), is_match in zip(pairs, labels, strict=True):
        one, other = strings.get(source, nothing), strings.get(target, nothing)
        _add_single(found.concepts, one.concepts & other.concepts)
        if is_match:
            _add_single(found.classes, one.classes & other.classes)
    return found


def _add_single(found: set[str], common: set[str]) -> None:
    if len(common) == 1:
        found.update(common)


def _overlap(earlier_name: str, earlier: _Known, later_name: str, later: _Known) -> WordOverlap:
    concepts, classes = len(later.concepts & earlier.concepts), len(later.classes & earlier.classes)
    return WordOverlap(
        earlier_name,
        later_name,
        concepts,
        concepts / max(len(later.concepts), 1),
        classes,
        classes / max(len(later.classes), 1),
    )
