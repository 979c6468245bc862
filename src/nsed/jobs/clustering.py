"""Clustering methods, from similarities of pairs to groups of items. A new one is one function and one line below.

Clusters of links, of which few pairs are known among many records, and numbers that clusters keep from run to run.
"""

import math
from collections.abc import Callable, Collection, Hashable
from heapq import heapify, heappop, heappush
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from nsed.errors import ArgumentError, DataError, DoubtfulLinksWarning, ShapeError, warn
from nsed.evaluate.clustering import numbered
from nsed.registry import Registry
from nsed.train.split import UnionFind, components


def similarity_matrix(count: int, pairs: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Similarity matrix, symmetric, of a list of pairs of places with a score each; NaN for what is not in the list.

    >>> similarity_matrix(3, np.array([[0, 1], [2, 1]]), np.array([0.9, 0.2]))
    array([[nan, 0.9, nan],
           [0.9, nan, 0.2],
           [nan, 0.2, nan]])
    """
    if np.shape(pairs) != (len(scores), 2):
        raise ShapeError("pairs", got=np.shape(pairs), expected=f"({len(scores)}, 2), a row per score")
    matrix = np.full((count, count), np.nan)
    one, other = pairs.T
    matrix[one, other] = matrix[other, one] = scores
    return matrix


def checked_similarities(similarities: np.ndarray) -> np.ndarray:
    """Validated similarity matrix in double precision: square, symmetric, without infinities."""
    matrix = np.asarray(similarities, dtype=float)
    if matrix.ndim != 2 or len(set(matrix.shape)) != 1:
        raise ShapeError("similarities", got=matrix.shape, expected="a square matrix, a row and a column per item")
    if np.isinf(matrix).any():
        raise ArgumentError("similarities", got="infinite ones", expected="numbers, or NaN for what is not known")
    if not np.array_equal(matrix, matrix.T, equal_nan=True):
        advice = "Use the mean of both directions: (s + s.T) / 2."
        raise ArgumentError("similarities", got="a lopsided matrix", expected="a symmetric one", advice=advice)
    return matrix


def links(similarities: np.ndarray, threshold: float) -> np.ndarray:
    """Adjacency matrix: which two items are at least as similar as the threshold; none is linked with itself."""
    linked: np.ndarray = similarities >= threshold  # what is not a number is not linked
    np.fill_diagonal(linked, False)
    return linked


Clusterer = Callable[[np.ndarray, float], np.ndarray]
"""From a symmetric matrix of similarities, its diagonal not looked at, and a threshold to a number for each item, equal
for items of one cluster. A similarity that is not a number is one that nobody knows."""

CLUSTERERS: Registry[Clusterer] = Registry("method")


def average_linkage(similarities: np.ndarray, threshold: float) -> np.ndarray:
    """Average linkage (UPGMA): clusters of a mean similarity of at least the threshold are joined, most similar first.

    The mean is over the pairs of items that were compared; clusters without such a pair stay apart.
    """
    known = ~np.isnan(similarities)
    np.fill_diagonal(known, False)
    sums, counts = np.where(known, similarities, 0.0), known.astype(float)
    means = _mean(sums, counts)
    groups = np.arange(len(similarities))
    while means.size and means.max() >= threshold:
        kept, joined = sorted(divmod(int(means.argmax()), len(means)))
        groups[groups == joined] = kept
        _join(sums, kept, joined)
        _join(counts, kept, joined)
        means[kept] = means[:, kept] = _mean(sums[kept], counts[kept])
        means[joined] = means[:, joined] = -np.inf
    return groups


def _join(table: np.ndarray, kept: int, joined: int) -> None:
    """Merge two clusters: add up what they have with others; nothing is left of the second, nor within the first."""
    table[kept] += table[joined]
    table[:, kept] = table[kept]
    table[joined] = table[:, joined] = table[kept, kept] = 0.0


def _mean(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    return np.where(counts > 0, sums / np.maximum(counts, 1), -np.inf)


def connected_components(similarities: np.ndarray, threshold: float) -> np.ndarray:
    """Connected components: items are together where a chain of pairs at least as similar as the threshold leads."""
    one, other = np.nonzero(np.triu(links(similarities, threshold)))
    return components(one, other, len(similarities))


def _top(item: int, above: list[int]) -> int:
    """Union-find root: the item that stands for all those connected with this one; path halving shortens the way."""
    while above[item] != item:
        above[item] = item = above[above[item]]
    return item


SEED, TRIALS = 1, 3


def has_infomap() -> bool:
    """Availability of the `infomap` package: whether it is installed."""
    return find_spec("infomap") is not None


def infomap_modules(similarities: np.ndarray, threshold: float) -> np.ndarray:
    """Infomap modules of a network that links what is at least as similar as the threshold, weighted by similarity.

    A walker needs positive weights: similarities are probabilities, or at least not negative. Raises `ArgumentError`
    where one of them is, or where the package is not installed.
    """
    if not has_infomap():
        expected = "another method, or the package infomap: pip install 'neural-string-edit-distance[cognates]'"
        raise ArgumentError("method", got="infomap", expected=expected)
    pairs = np.argwhere(np.triu(links(similarities, threshold)))
    weights = similarities[tuple(pairs.T)]
    if not len(pairs):
        return np.arange(len(similarities))  # Infomap wants a network that is not empty
    if (weights < 0).any():
        raise ArgumentError("similarities", got=weights.min(), expected="no negative ones with the method infomap")
    modules = _modules(len(similarities), pairs, weights)
    # Infomap puts items without a link into modules of others, with which they have nothing in common
    apart: np.ndarray = modules * len(similarities) + connected_components(similarities, threshold)
    return apart


def _modules(count: int, pairs: np.ndarray, weights: np.ndarray) -> np.ndarray:
    network = import_module("infomap").Network()
    network.add_nodes(range(count))
    network.add_links(list(zip(*pairs.T.tolist(), weights.tolist(), strict=True)))
    modules = network.run(two_level=True, seed=SEED, num_trials=TRIALS).modules()
    return np.array([modules[item] for item in range(count)], dtype=np.int64)


PROPAGATION_SEED = 0
MOST_ROUNDS = 100


def label_propagation(similarities: np.ndarray, threshold: float) -> np.ndarray:
    """Label propagation: items ask in a random order, always the same, until nobody moves; only linked pairs count.

    What weighs is how far a pair is above the threshold. Of clusters of the same weight an item prefers its own.
    """
    linked = links(similarities, threshold)
    weights = np.where(linked, similarities - threshold, 0.0) + 1e-6 * linked  # a pair at the threshold counts, too
    random, groups = np.random.default_rng(PROPAGATION_SEED), np.arange(len(weights))
    for _ in range(MOST_ROUNDS):
        before = groups.copy()
        for item in random.permutation(len(groups)).tolist():
            groups[item] = _preferred(weights[item], groups, item)
        if np.array_equal(groups, before):
            break
    return groups


def _preferred(weights: np.ndarray, groups: np.ndarray, item: int) -> int:
    """Majority label: the cluster with the largest weight for an item."""
    votes = np.bincount(groups, weights=weights, minlength=len(groups))
    best, own = int(votes.argmax()), int(groups[item])
    return best if votes[best] > votes[own] + 1e-12 else own


CLUSTERERS.register("average", average_linkage)
CLUSTERERS.register("components", connected_components)
CLUSTERERS.register("labels", label_propagation)
CLUSTERERS.register("infomap", infomap_modules)

__all__ = ["CLUSTERERS"]


def cluster(similarities: np.ndarray, *, threshold: float, method: str = "average") -> np.ndarray:
    """Cluster labels of each item, as a number from 0 in the order in which clusters first occur.

    `similarities` is a symmetric matrix; NaN stands for pairs that were not compared, and the diagonal for nothing.
    What the threshold means is the method's business; the higher, the more clusters.

    >>> sorted(CLUSTERERS)
    ['average', 'components', 'infomap', 'labels']
    >>> similarities = np.array([[1, 0.9, 0.2], [0.9, 1, 0.6], [0.2, 0.6, 1]])
    >>> cluster(similarities, threshold=0.5), cluster(similarities, threshold=0.5, method="components")
    (array([0, 0, 1]), array([0, 0, 0]))
    >>> cluster(similarities, threshold=0.5, method="averge")
    Traceback (most recent call last):
    nsed.errors.UnknownNameError: method: got 'averge', expected one of: average, ... Did you mean 'average'?
    """
    if not math.isfinite(threshold):
        raise ArgumentError("threshold", got=threshold, expected="a finite number")
    groups = CLUSTERERS[method](checked_similarities(similarities), threshold)
    return numbered(groups.tolist())


LinkMethod = Literal["components", "average", "infomap"]
"""How links become clusters: all that chains of them connect, or average linkage or Infomap within these."""
MANY_RECORDS, LARGE_SHARE = 50, 0.05
"""Records of one cluster, and their share of all, from which on it is warned of."""


def tell_of_one_cluster(clusters: np.ndarray) -> None:
    """Warn where links connect a large part of all records: chains of them, mostly, and not one thing."""
    tell_of_large_cluster(int(np.bincount(clusters).max(initial=0)), len(clusters))


def tell_of_large_cluster(most: int, records: int) -> None:
    """Warn of a cluster of so many of all records, see `tell_of_one_cluster`."""
    if most > max(MANY_RECORDS, LARGE_SHARE * records):
        message = f"one cluster has {most:,} of {records:,} records, which links connect in chains"
        advice = "A higher --threshold, --precision with --labels, or a model trained on mined pairs keeps them apart"
        warn(DoubtfulLinksWarning(f"{message}. {advice}"))


def linked_records(left: np.ndarray, right: np.ndarray, size: int) -> np.ndarray:
    """Clusters of records that links connect, numbered from 1 in the order of their first records.

    >>> linked_records(np.array([0, 3]), np.array([2, 4]), 5).tolist()
    [1, 2, 1, 3, 3]
    """
    found = UnionFind(size)
    found.link(left, right)
    return found.numbers().astype(np.int64)


def cluster_links(
    connected: np.ndarray, pairs: np.ndarray, similarities: np.ndarray, *, threshold: float, method: LinkMethod
) -> np.ndarray:
    """Clusters of records within each connected component of their links, numbered as `linked_records` are.

    A method looks at the pairs of a component that have a similarity, also below the threshold; all others have 0.

    >>> chain, similarities = np.array([[0, 1], [1, 2], [2, 3]]), np.array([0.9, 0.6, 0.9])
    >>> cluster_links(linked_records(*chain.T, 4), chain, similarities, threshold=0.5, method="average").tolist()
    [1, 1, 2, 2]
    """
    if method == "components":
        return connected
    own = connected[pairs[:, 0]]
    within = np.flatnonzero((own == connected[pairs[:, 1]]) & (np.bincount(connected)[own] > 2))
    within = within[np.argsort(own[within], kind="stable")]
    groups, last = connected.copy(), int(connected.max(initial=0))
    for rows in np.split(within, np.flatnonzero(np.diff(own[within])) + 1) if len(within) else ():
        items, places = np.unique(pairs[rows], return_inverse=True)
        found = LINK_METHODS[method](len(items), places.reshape(-1, 2), similarities[rows], threshold)
        groups[items] = last + 1 + found
        last += len(items)
    return numbered(groups.tolist()) + 1


def average_links(count: int, pairs: np.ndarray, similarities: np.ndarray, threshold: float) -> np.ndarray:
    """Average linkage of few known pairs, all others 0: what `average_linkage` makes of the matrix, without one."""
    sums: list[dict[int, float]] = [{} for _ in range(count)]
    for (one, other), similarity in zip(pairs.tolist(), similarities.tolist(), strict=True):
        sums[one][other] = sums[other][one] = similarity
    heap = [(-mean, one, other) for one, own in enumerate(sums) for other, mean in own.items() if one < other]
    heapify(heap)
    groups, sizes = list(range(count)), [1] * count
    while heap and -heap[0][0] >= threshold:
        negative, kept, joined = heappop(heap)
        if sums[kept].get(joined, np.nan) / (sizes[kept] * sizes[joined]) != -negative:
            continue  # one of both is larger by now, or gone
        groups[joined] = kept
        sizes[kept] += sizes[joined]
        _join_sums(sums, kept, joined)
        for other, total in sums[kept].items():
            heappush(heap, (-total / (sizes[kept] * sizes[other]), min(kept, other), max(kept, other)))
    return np.array([_top(item, groups) for item in range(count)], dtype=np.int64)


def _join_sums(sums: list[dict[int, float]], kept: int, joined: int) -> None:
    """Merge two clusters: the first has the similarities of both, and nothing is left of the second."""
    for other, total in sums[joined].items():
        del sums[other][joined]
        if other != kept:
            sums[kept][other] = sums[other][kept] = sums[kept].get(other, 0.0) + total
    sums[joined] = {}


def infomap_links(count: int, pairs: np.ndarray, similarities: np.ndarray, threshold: float) -> np.ndarray:
    """Infomap modules of a connected network of the pairs that are at least as similar as the threshold."""
    linked = similarities >= threshold
    return _modules(count, pairs[linked], similarities[linked])


LINK_METHODS: dict[LinkMethod, Callable[[int, np.ndarray, np.ndarray, float], np.ndarray]] = {
    "average": average_links,
    "infomap": infomap_links,
}
"""From a number of records, places and similarities of pairs of them and a threshold to a number for each."""


LARGEST_NUMBER = 2**62
"""Numbers of clusters are below it: what is above it nobody has counted."""


class EarlierClusters(NamedTuple):
    """Clusters of an earlier run: the number that each item had, 0 where it had none, and the largest of all."""

    numbers: np.ndarray
    largest: int


def cluster_number(path: str | Path, cell: str) -> int:
    """Number of a cluster of an earlier run. Raises `DataError` for what is none."""
    if not cell.isdecimal() or not 0 < int(cell) < LARGEST_NUMBER:
        raise DataError(path, f"cluster {cell!r} is no number from 1: give a file of an earlier run")
    return int(cell)


class KeptIds(NamedTuple):
    """Ids of clusters that are those of an earlier run where they can be, and how many of them are which."""

    ids: np.ndarray
    """Id of the cluster of each item, from 1 on."""
    kept: int
    """Clusters that have an id of the earlier run."""
    split: int
    """Earlier clusters whose items are in several clusters now."""
    merged: int
    """Clusters of items of several earlier clusters."""
    new: int
    """Clusters that have an id that was not there before."""

    @property
    def counts(self) -> dict[str, int]:
        """How many are which, by name.

        >>> keep_ids("aabbc", np.array([4, 4, 4, 0, 0])).counts
        {'kept': 1, 'split': 1, 'merged': 0, 'new': 2}
        """
        return {name: value for name, value in self._asdict().items() if name != "ids"}


def keep_ids(clusters: Collection[Hashable], before: np.ndarray, *, largest: int = 0) -> KeptIds:
    """Ids of clusters across runs, by the id that each item had `before`, 0 where it had none.

    A cluster has the id that most of its items had, of several the smallest; where several want one, that with most of
    its items has it, of several the first. All others have ids above the largest one, in the order of first items.
    Raises `ShapeError` where there is not one id `before` for each item.

    >>> keep_ids("aabbc", np.array([4, 4, 4, 0, 0])).ids.tolist()
    [4, 4, 5, 5, 6]
    """
    groups, before = numbered(clusters), np.asarray(before)
    if before.shape != groups.shape:
        raise ShapeError("before", got=before.shape, expected=f"{groups.shape}, an id, or 0, for each item")
    olds, own = np.unique(before[before > 0], return_inverse=True)
    cells, counts = np.unique(groups[before > 0] * max(len(olds), 1) + own, return_counts=True)
    new, old = np.divmod(cells, max(len(olds), 1))
    order = np.lexsort((old, -counts, new))
    wanted = order[np.unique(new[order], return_index=True)[1]]
    order = wanted[np.lexsort((new[wanted], -counts[wanted], old[wanted]))]
    given = order[np.unique(old[order], return_index=True)[1]]
    ids = np.zeros(int(groups.max(initial=-1)) + 1, dtype=np.int64)
    ids[new[given]] = olds[old[given]]
    fresh = np.flatnonzero(ids == 0)
    ids[fresh] = max(largest, *olds[-1:].tolist(), 0) + 1 + np.arange(len(fresh))
    split, merged = (int((np.bincount(side) > 1).sum()) for side in (old, new))
    return KeptIds(ids[groups], len(given), split, merged, len(fresh))
