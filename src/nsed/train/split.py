"""Train/validation split: pairs to learn from and to validate with, held out at random where nobody says which."""

from collections import Counter
from collections.abc import Hashable, Sequence
from random import Random
from typing import Any

from nsed.errors import ArgumentError
from nsed.text import Pairs

HELD_OUT_SHARE, MOST_HELD_OUT = 20, 2000


def split(pairs: Pairs, validation: Pairs | None, *, seed: int) -> tuple[Pairs, Pairs]:
    """Training and validation pairs; without the latter a twentieth of the sources, at most 2,000, is held out.

    A source never stands on both sides of a split made here, unless there is only one.
    """
    if validation is not None:
        return pairs, _some(validation)
    sources = sorted(set(pairs.sources))
    Random(seed).shuffle(sources)
    held_out = set(sources[: held_out_count(len(sources))])
    kept, apart = _parted(pairs, [source in held_out for source in pairs.sources])
    return (kept if len(kept) else pairs), apart


def held_out_count(sources: int) -> int:
    """How many of so many sources are held out where there are no validation pairs."""
    return max(1, min(MOST_HELD_OUT, sources // HELD_OUT_SHARE))


def transduction_split(pairs: Pairs, validation: Pairs | None, *, seed: int) -> tuple[Pairs, Pairs]:
    """Split for transduction: positive pairs; validation sources that are also learned from do not count."""
    positives = pairs.positives()
    if not len(positives):
        raise ArgumentError("pairs", got="no positive pair", expected="at least one to learn from")
    checked = None if validation is None else validation.positives()
    training, held_out = split(positives, checked, seed=seed)
    return training, unseen(held_out, training)


def labelled_split(pairs: Pairs, validation: Pairs | None, *, seed: int) -> tuple[Pairs, Pairs]:
    """Split for matching, with labels of both kinds on both sides: to learn, to set a threshold, and to calibrate."""
    if validation is not None:
        return both_labels(pairs, "labels"), both_labels(_some(validation), "labels of the validation pairs")
    return stratified_split(both_labels(pairs, "labels"), seed=seed)


def stratified_split(pairs: Pairs, *, seed: int) -> tuple[Pairs, Pairs]:
    """Stratified split: a twentieth of the pairs of each label, at least one and at most 2,000 in all, is held out.

    No source stands on both sides, unless that would leave a side without a label. Raises `ArgumentError` where a label
    has a single pair.
    """
    labels = [bool(label) for label in pairs.labels or ()]
    for label, count in sorted(Counter(labels).items()):
        if count < 2:
            got, expected = (
                f"a single pair with label {int(label)}",
                "at least two of each: to learn from, to validate with",
            )
            raise ArgumentError("labels", got=got, expected=expected, advice="Add pairs, or give validation pairs.")
    apart = _held_out(pairs.sources, labels, seed=seed)
    if {label for label, out in zip(labels, apart, strict=True) if out} != set(labels):
        apart = _held_out(range(len(labels)), labels, seed=seed)
    return _parted(pairs, apart)


def _held_out(groups: Sequence[Hashable], labels: Sequence[bool], *, seed: int) -> list[bool]:
    """Which pairs are held out: groups at random until each label has its share, of no label more than half."""
    members: dict[Any, Counter[bool]] = {}
    for group, label in zip(groups, labels, strict=True):
        members.setdefault(group, Counter())[label] += 1
    counts, share = Counter(labels), min(1 / HELD_OUT_SHARE, MOST_HELD_OUT / len(labels))
    missing = {label: max(1, int(count * share)) for label, count in counts.items()}
    room = {label: count // 2 for label, count in counts.items()}
    apart, order = set(), sorted(members)
    Random(seed).shuffle(order)
    for group in order:
        own = members[group]
        if any(missing[label] > 0 for label in own) and all(room[label] >= own[label] for label in own):
            apart.add(group)
            for label, count in own.items():
                missing[label], room[label] = missing[label] - count, room[label] - count
    return [group in apart for group in groups]


def unseen(validation: Pairs, training: Pairs) -> Pairs:
    """Unseen validation pairs, whose source is not learned from; all of them, where every source is.

    A dictionary gives words with several pronunciations to both sides of a split, and says so nowhere.
    """
    seen = set(training.sources)
    new = [row for row, source in enumerate(validation.sources) if source not in seen]
    return validation.chosen(new) if new else validation


def _parted(pairs: Pairs, apart: Sequence[bool]) -> tuple[Pairs, Pairs]:
    """Pairs that are kept, and those that are held out."""
    kept, held_out = (pairs.chosen([row for row, out in enumerate(apart) if out == side]) for side in (False, True))
    return kept, held_out


def _some(validation: Pairs) -> Pairs:
    if not len(validation):
        raise ArgumentError("validation", got="no pairs", expected="at least one")
    return validation


def both_labels(pairs: Pairs, name: str) -> Pairs:
    """Pairs with labels of both kinds. Raises `ArgumentError` where one is missing."""
    kinds = set(pairs.labels or ())
    if len(kinds) < 2:
        got = "no labels" if not kinds else f"only labels {int(kinds.pop())}"
        raise ArgumentError(name, got=got, expected="pairs that match and pairs that do not, with labels 1 and 0")
    return pairs
