"""Train/validation split: pairs to learn from and to validate with, held out at random where nobody says which."""

from collections import Counter
from collections.abc import Hashable, Sequence
from random import Random
from typing import Any

import numpy as np

from nsed.errors import ArgumentError
from nsed.text import EncodedPairs, Pairs

HELD_OUT_SHARE, MOST_HELD_OUT = 20, 2000
PROPAGATIONS = 10
"""Rounds of label propagation at most."""
LINKS_AT_ONCE, MOST_OF_INT32 = 2**20, 2**31
"""Links that are joined at a time, and records whose numbers have four bytes."""


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


def labelled_split(
    pairs: Pairs, validation: Pairs | None, *, seed: int, parts: int = HELD_OUT_SHARE
) -> tuple[Pairs, Pairs]:
    """Split for matching, with labels of both kinds on both sides: to learn, to set a threshold, and to calibrate.

    Without validation pairs, one of so many parts is held out.
    """
    if validation is not None:
        return both_labels(pairs, "labels"), both_labels(_some(validation), "labels of the validation pairs")
    return stratified_split(both_labels(pairs, "labels"), seed=seed, parts=parts)


def stratified_split(pairs: Pairs, *, seed: int, parts: int = HELD_OUT_SHARE) -> tuple[Pairs, Pairs]:
    """Stratified split: one of so many parts of the pairs of each label, at least one and at most 2,000, is held out.

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
    apart = _held_out(pairs.sources, labels, seed=seed, parts=parts)
    if {label for label, out in zip(labels, apart, strict=True) if out} != set(labels):
        apart = _held_out(range(len(labels)), labels, seed=seed, parts=parts)
    return _parted(pairs, apart)


def _held_out(groups: Sequence[Hashable], labels: Sequence[bool], *, seed: int, parts: int) -> list[bool]:
    """Which pairs are held out: groups at random until each label has its share, of no label more than half."""
    members: dict[Any, Counter[bool]] = {}
    for group, label in zip(groups, labels, strict=True):
        members.setdefault(group, Counter())[label] += 1
    counts, share = Counter(labels), min(1 / parts, MOST_HELD_OUT / len(labels))
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


def folds_of(pairs: EncodedPairs, count: int, *, shared: bool, seed: int) -> np.ndarray:
    """Number of each pair's fold: groups of pairs at random, see `groups_of`; single ones where a label is missing."""
    random, groups = np.random.default_rng(seed), groups_of(pairs, len(pairs) / count, shared=shared)
    sizes, folds = np.zeros(count), np.empty(groups.max(initial=-1) + 1, dtype=np.int64)
    members = np.bincount(groups)
    for group in random.permutation(len(folds)).tolist():
        folds[group] = sizes.argmin()
        sizes[folds[group]] += members[group]
    found: np.ndarray = folds[groups]
    by_fold = [np.bincount(found[pairs.labels == label], minlength=count) for label in (False, True)]
    return found if np.min(by_fold) else _stratified(pairs.labels, count, random)


def groups_of(pairs: EncodedPairs, most: float, *, shared: bool) -> np.ndarray:
    """Number of each pair's group: pairs that share a string, or that other pairs connect (a concept's, say).

    Where that makes a group of more than `most` pairs, since some strings stand in several concepts, groups are those
    that are connected more closely; where these are too large as well, the pairs of one source.
    """
    one, other = string_numbers(pairs, shared=shared)
    for found in (connected(one, other), communities(one, other)[one], one):
        groups: np.ndarray = np.unique(found, return_inverse=True)[1]
        if not len(groups) or np.bincount(groups).max() <= most:
            break
    return groups


def _stratified(labels: np.ndarray, count: int, random: np.random.Generator) -> np.ndarray:
    """Number of each pair's fold, at random, with its share of either label."""
    order = random.permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    folds = np.empty(len(labels), dtype=np.int64)
    folds[order] = np.arange(len(labels)) % count
    return folds


def string_numbers(pairs: EncodedPairs, *, shared: bool) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the strings of each pair, the same for the same strings; with `shared`, also across sides."""
    numbers: dict[tuple[bool, bytes], int] = {}
    source, target = (
        np.array(
            [
                numbers.setdefault((turned and not shared, strings.flat[start:end].tobytes()), len(numbers))
                for start, end in zip(strings.starts[:-1].tolist(), strings.starts[1:].tolist(), strict=True)
            ],
            dtype=np.int64,
        )
        for turned, strings in ((False, pairs.source), (True, pairs.target))
    )
    return source, target


class UnionFind:
    """Streaming union-find (disjoint sets): links come batch by batch, and one number per record is all that is kept.

    Records point to lower ones; the tops of linked records are joined, the higher to the lower, all links of a batch at
    a time, until none has two: at least half of them are gone after two rounds. So neither the order of links, nor
    their direction, nor their batches say anything.

    >>> found = UnionFind(5)
    >>> for left, right in (([3], [4]), ([2], [0])):
    ...     found.link(np.array(left), np.array(right))
    >>> found.numbers().tolist()
    [1, 2, 1, 3, 3]
    """

    def __init__(self, size: int) -> None:
        self.above = np.arange(size, dtype=np.int32 if size <= MOST_OF_INT32 else np.int64)
        """A record of the same component, the record itself or a lower one."""

    def link(self, left: np.ndarray, right: np.ndarray) -> None:
        """Join the components of the two records of each link."""
        for start in range(0, len(left), LINKS_AT_ONCE):
            ends = [side[start : start + LINKS_AT_ONCE] for side in (left, right)]
            while len(ends[0]):
                one, other = self.find(ends[0]), self.find(ends[1])
                apart = one != other
                ends = [one[apart], other[apart]]
                np.minimum.at(self.above, np.maximum(*ends), np.minimum(*ends))

    def find(self, records: np.ndarray) -> np.ndarray:
        """First record of the component of each of these; all ways there are halved as they are gone (path halving)."""
        above = self.above
        found: np.ndarray = above[records]
        climbing = np.flatnonzero(above[found] != found)
        at = records[climbing]
        while len(climbing):
            up = above[above[at]]
            above[at] = found[climbing] = up
            rising = above[up] != up
            climbing, at = climbing[rising], up[rising]
        return found

    def firsts(self) -> np.ndarray:
        """First record of each record's component."""
        size = len(self.above)
        for start in range(0, size, LINKS_AT_ONCE):  # what is below is flat already, and little is in the air
            self.above[start : start + LINKS_AT_ONCE] = self.find(np.arange(start, min(start + LINKS_AT_ONCE, size)))
        return self.above

    def split(self, records: np.ndarray, groups: np.ndarray) -> None:
        """Divide whole components: of these records, in rising order, those of one group are together from now on."""
        _, first, own = np.unique(groups, return_index=True, return_inverse=True)
        self.above[records] = records[first[own]]

    def numbers(self) -> np.ndarray:
        """Number of each record's component, from 1 in the order of first records."""
        firsts = self.firsts()
        own = np.cumsum(firsts == np.arange(len(firsts), dtype=firsts.dtype), dtype=firsts.dtype)
        return np.asarray(own[firsts])


def components(one: np.ndarray, other: np.ndarray, size: int) -> np.ndarray:
    """Connected component of each node of a graph, by the smallest node in it, see `UnionFind`.

    >>> components(np.array([0, 3]), np.array([2, 4]), 5).tolist()
    [0, 1, 0, 3, 3]
    """
    found = UnionFind(size)
    found.link(one, other)
    return found.firsts().astype(np.int64)


def connected(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Connected component of each edge of a graph, see `components`.

    >>> connected(np.array([0, 1, 3, 4]), np.array([1, 2, 3, 3])).tolist()
    [0, 0, 3, 3]
    """
    size = int(max(one.max(initial=-1), other.max(initial=-1))) + 1
    return np.asarray(components(one, other, size)[one])


def communities(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Community of each node of a graph, by label propagation: that of most of its neighbours, with itself.

    >>> triangles = np.array([[0, 1], [0, 2], [1, 2], [2, 3], [3, 4], [3, 5], [4, 5]])
    >>> communities(*triangles.T).tolist()
    [0, 0, 0, 3, 3, 3]
    """
    count = int(max(one.max(initial=-1), other.max(initial=-1))) + 1
    labels = nodes = np.arange(count)
    ends, neighbours = np.concatenate([one, other, nodes]), np.concatenate([other, one, nodes])
    for _ in range(PROPAGATIONS):
        votes, counts = np.unique(ends * count + labels[neighbours], return_counts=True)
        order = np.lexsort((votes, -counts, votes // count))
        first = np.unique((votes // count)[order], return_index=True)[1]
        before, labels = labels, (votes % count)[order][first]
        if (labels == before).all():
            break
    return labels
