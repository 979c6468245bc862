"""Capabilities, what a model can do: one set of names, which commands, server, reports and jobs ask."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any


class Capability(StrEnum):
    """Capability: a verb that not every model answers."""

    SCORE = "score"
    """Give a pair a number: the higher, the better the two strings belong together."""
    MATCH = "match"
    """Decide whether a pair matches, with a threshold and calibrated probabilities."""
    TRANSDUCE = "transduce"
    """Turn sources into targets."""
    SAMPLE = "sample"
    """Draw targets with their probabilities."""
    ALIGN = "align"
    """Say which operations turn one string into another."""
    LINKS = "links"
    """Say which source symbol became which target symbol."""
    EXPLAIN = "explain"
    """Show the evidence for an answer."""
    RULES = "rules"
    """Have lattices, whose operations can be counted over a data set."""
    OPERATIONS = "operations"
    """Have a table of operations, each with a probability or with log-odds."""
    COSTS = "costs"
    """Have costs of operations, as a weighted Levenshtein distance adds them up."""
    FINE_TUNE = "fine-tune"
    """Learn more from where its training ended."""


_METHODS = {
    Capability.SCORE: "score",
    Capability.MATCH: "probability",
    Capability.TRANSDUCE: "transduce",
    Capability.SAMPLE: "sample",
    Capability.ALIGN: "align",
    Capability.LINKS: "links",
    Capability.EXPLAIN: "explain",
    Capability.RULES: "lattices",
    Capability.OPERATIONS: "operations",
    Capability.COSTS: "costs",
}


def capabilities_of(model: object) -> frozenset[Capability]:
    """Capabilities that a model says it has; of one that is not ours, the verbs that it has methods for.

    >>> class Longer:
    ...     def score(self, pairs): ...
    >>> sorted(capabilities_of(Longer()))
    [<Capability.SCORE: 'score'>]
    """
    declared = getattr(model, "capabilities", None)
    if isinstance(declared, frozenset):
        return declared
    found = {one for one, method in _METHODS.items() if callable(getattr(model, method, None))}
    decides = {Capability.MATCH} if getattr(model, "calibration", None) is not None else set()
    return frozenset(found | decides)


def can(model: object, *wanted: Capability) -> bool:
    """Capability test: whether a model can do all of these."""
    return capabilities_of(model).issuperset(wanted)


def by_language(model: Any, languages: Sequence[str] | None, count: int) -> Iterator[tuple[Any, Sequence[int]]]:
    """Rows of each language, with the model for it; all at once where nobody, or the model, knows no languages."""
    if languages is None or getattr(model, "languages", None) is None:
        yield model, range(count)
        return
    for language in dict.fromkeys(languages):
        yield model.for_language(language), [row for row, own in enumerate(languages) if own == language]
