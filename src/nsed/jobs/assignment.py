"""Assignment: which of the scored pairs become links, what is known of labelled ones, and clusters of links."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa

from nsed.errors import ArgumentError
from nsed.evaluate.matching import ThresholdPoint, threshold_curve
from nsed.jobs.records import EvidenceWeights, LinkEvidence, Records
from nsed.text import read_pairs

Assignment = Literal["one-to-one", "best", "all"]


class ScoredPairs(NamedTuple):
    """Scored pairs: rows of both records, log-odds of a match, and the place of their evidence in the shards."""

    left: np.ndarray
    right: np.ndarray
    log_odds: np.ndarray
    places: np.ndarray

    def chosen(self, rows: np.ndarray) -> "ScoredPairs":
        """Some of the pairs."""
        return ScoredPairs(*(column[rows] for column in self))

    @property
    def probabilities(self) -> np.ndarray:
        """Probabilities of a match."""
        return np.asarray(1 / (1 + np.exp(-np.clip(self.log_odds, -700, 700))))


class DecidedPairs(NamedTuple):
    """Decision of a linkage: pairs that may be links, by the assignment, threshold, where the review band begins."""

    pairs: ScoredPairs
    curve: Sequence[ThresholdPoint]
    threshold: float
    at_threshold: ThresholdPoint | None
    review: float

    def between(self, low: float, high: float = np.inf) -> ScoredPairs:
        """Pairs with a probability from one up to another one."""
        probability = self.pairs.probabilities
        return self.pairs.chosen(np.flatnonzero((probability >= low) & (probability < high)))


class KnownLinks:
    """Known links by rows, and the records of which all links are known.

    Raises `ArgumentError` for labels without a link.
    """

    def __init__(self, path: str | Path, left: Records, right: Records) -> None:
        given, self.alone, self.size = read_pairs(path), left is right, len(right)
        labels = given.labels if given.labels is not None else [True] * len(given)
        links = {(a, b) for a, b, match in zip(given.sources, given.targets, labels, strict=True) if match}
        rows = [{name: row for row, name in enumerate(side.ids)} for side in (left, right)]
        known = [(rows[0][a], rows[1][b]) for a, b in links if a in rows[0] and b in rows[1]]
        ordered = [(min(pair), max(pair)) if self.alone else pair for pair in known]
        self.keys = np.unique(np.array([a * self.size + b for a, b in ordered], dtype=np.int64))
        self.total = len({tuple(sorted(pair)) for pair in links} if self.alone else links)
        self.complete = np.zeros(len(left), bool)
        named = {*given.sources, *(given.targets if self.alone else ())}
        self.complete[[rows[0][name] for name in named if name in rows[0]]] = True
        if not self.total:
            raise ArgumentError("--labels", got="no link", expected="pairs of ids, known links")

    def judges(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Which pairs are of a record of which all links are known."""
        return np.asarray(self.complete[left] | self.complete[right]) if self.alone else self.complete[left]

    def has(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Which pairs are known links."""
        return np.isin(left.astype(np.int64) * self.size + right, self.keys)

    def curve(self, links: ScoredPairs) -> list[ThresholdPoint]:
        """Threshold curve of the links of labelled records; what candidates have lost counts in recall."""
        rows = np.flatnonzero(self.judges(links.left, links.right))
        if not len(rows):
            got = "none that names a record that has a candidate"
            raise ArgumentError("--labels", got=got, expected="pairs of ids, known links")
        some = links.chosen(rows)
        return threshold_curve(some.probabilities, self.has(some.left, some.right), positives=self.total)


class ScoredShards:
    """Shards of evidence on disk, read one after the other: what they hold together need not fit into memory."""

    def __init__(self, parts: Sequence[Path], names: Sequence[str]) -> None:
        self.parts, self.names = parts, list(names)

    def __iter__(self) -> Iterator[LinkEvidence]:
        """Evidence of each shard; one without pairs has no table."""
        for part in self.parts:
            if part.stat().st_size:
                with pa.OSFile(str(part)) as file:
                    table = pa.ipc.open_file(file).read_all()
                columns = [table.column(name).to_numpy() for name in self.names]
                left, right = (table.column(name).to_numpy() for name in ("left", "right"))
                yield LinkEvidence(left, right, np.stack(columns, axis=1))

    def labelled(self, known: KnownLinks) -> tuple[np.ndarray, np.ndarray]:
        """Evidence of the pairs of labelled records, and which of them are links."""
        values, labels = [np.zeros((0, len(self.names)))], [np.zeros(0, bool)]
        for shard in self:
            judged = known.judges(shard.left, shard.right)
            values.append(shard.values[judged])
            labels.append(known.has(shard.left[judged], shard.right[judged]))
        return np.concatenate(values), np.concatenate(labels)

    def recall(self, known: KnownLinks) -> float:
        """Share of the known links among the pairs."""
        found = [shard.left.astype(np.int64) * known.size + shard.right for shard in self]
        kept = [keys[np.isin(keys, known.keys)] for keys in found]
        return len(np.unique(np.concatenate(kept))) / known.total if kept else 0.0

    def scored(self, weights: EvidenceWeights, floor: float) -> ScoredPairs:
        """Pairs with log-odds of at least `floor`, each once: of one table a pair may be found from both records."""
        columns = [ScoredPairs(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0), np.zeros(0, np.int64))]
        start = 0
        for shard in self:
            log_odds = weights.log_odds(shard.values)
            rows = np.flatnonzero(log_odds >= floor)
            columns.append(ScoredPairs(shard.left[rows], shard.right[rows], log_odds[rows], rows + start))
            start += len(log_odds)
        pairs = ScoredPairs(*(np.concatenate(parts) for parts in zip(*columns, strict=True)))
        keys = pairs.left.astype(np.int64) << 32 | pairs.right
        return pairs.chosen(np.unique(keys, return_index=True)[1])

    def values(self, places: np.ndarray) -> np.ndarray:
        """Evidence of some pairs, by their places."""
        found, start = np.zeros((len(places), len(self.names))), 0
        for shard in self:
            here = np.flatnonzero((places >= start) & (places < start + len(shard.left)))
            found[here] = shard.values[places[here] - start]
            start += len(shard.left)
        return found


def assigned(pairs: ScoredPairs, how: Assignment) -> np.ndarray:
    """Rows of the pairs that may be links, whatever the threshold, in the order of their records.

    One-to-one is greedy: the pair with the highest log-odds first, then the next whose records are both free. Of equal
    ones the first record wins.

    >>> pairs = ScoredPairs(np.array([0, 0, 1]), np.array([5, 6, 5]), np.array([3.0, 1.0, 2.0]), np.arange(3))
    >>> [assigned(pairs, how).tolist() for how in ("one-to-one", "best", "all")]
    [[0], [0, 2], [0, 1, 2]]
    """
    order = np.lexsort((pairs.right, pairs.left, -pairs.log_odds))
    if how == "all":
        kept = order
    elif how == "best":
        kept = order[np.unique(pairs.left[order], return_index=True)[1]]
    else:
        kept = np.array(_greedy(pairs, order), dtype=np.int64)
    return kept[np.lexsort((pairs.right[kept], pairs.left[kept]))]


def _greedy(pairs: ScoredPairs, order: np.ndarray) -> list[int]:
    taken_left: set[int] = set()
    taken_right: set[int] = set()
    kept = []
    for row, one, other in zip(order.tolist(), pairs.left[order].tolist(), pairs.right[order].tolist(), strict=True):
        if one not in taken_left and other not in taken_right:
            taken_left.add(one)
            taken_right.add(other)
            kept.append(row)
    return kept


def components(left: np.ndarray, right: np.ndarray, size: int) -> np.ndarray:
    """Connected components of records (union-find), numbered from 1 in the order of their first records.

    >>> components(np.array([0, 3]), np.array([2, 4]), 5).tolist()
    [1, 2, 1, 3, 3]
    """
    parent = np.arange(size)

    def root(record: int) -> int:
        while parent[record] != record:
            parent[record] = parent[parent[record]]
            record = int(parent[record])
        return record

    for one, other in zip(left.tolist(), right.tolist(), strict=True):
        low, high = sorted((root(one), root(other)))
        parent[high] = low
    while not np.array_equal(above := parent[parent], parent):
        parent = above
    return np.asarray(np.unique(parent, return_inverse=True)[1] + 1)
