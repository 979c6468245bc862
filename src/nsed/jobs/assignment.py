"""Assignment: which of the scored pairs become links, what is known of labelled ones, and clusters of links."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa

from nsed.errors import ArgumentError, DataError, DoubtfulLinksWarning, UnknownIdWarning, warn
from nsed.evaluate.matching import ThresholdPoint, threshold_curve, threshold_point
from nsed.jobs.clustering import EarlierClusters, LinkMethod, cluster_links, cluster_number, keep_ids, linked_records
from nsed.jobs.records import EvidenceWeights, LinkEvidence, Records, ids_as_text, read_table
from nsed.text import Pairs, read_pairs
from nsed.text.pairs import COLUMNS
from nsed.text.readers.batches import TABLES
from nsed.text.readers.delimited import ReadOptions
from nsed.text.readers.parquet import Rows, pairs_of_table, sound

Assignment = Literal["one-to-one", "best", "all"]
FOLDS = 5
"""Parts of the labelled records, each of which is judged by what the others have taught."""
ROUNDING = 1e-9
"""What rounding may take of a probability: a pair whose score is the threshold of its model is a link."""


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
    folds: int = 0
    """Folds of the labels that figures were cross-fitted by; 0 where nothing was chosen on the labels."""

    def between(self, low: float, high: float = np.inf) -> ScoredPairs:
        """Pairs with a probability from one, or what rounding leaves of it, up to another one."""
        probability = self.pairs.probabilities + ROUNDING
        return self.pairs.chosen(np.flatnonzero((probability >= low) & (probability < high)))


def read_known(path: str | Path) -> Pairs:
    """Known links, pairs of ids: two columns and perhaps a label, or `id_a` and `id_b`, as links are written."""
    if Path(path).suffix.lower() in TABLES and (known := _known_of_table(Path(path))) is not None:
        return known
    try:
        names = read_table(path, "id_a").column_names
    except DataError:  # no such column, or what `read_pairs` says as well
        return read_pairs(path)
    return read_pairs(path, columns=["id_a", "id_b", *(["label"] if "label" in names else [])])


def _known_of_table(path: Path) -> Pairs | None:
    """Known links of a binary table, whose ids may be numbers; None where it has no such columns, or no row."""
    with sound(path):
        pieces = list(TABLES[path.suffix.lower()](path, start=0, rows=2**16))
    names = pieces[0].column_names if pieces else []
    columns = next((list(both) for both in (("id_a", "id_b"), COLUMNS[:2]) if {*both} <= {*names}), None)
    if columns is None:
        return None
    table = ids_as_text(pa.concat_tables(pieces), columns)
    return pairs_of_table(Rows(path, table), ReadOptions([*columns, *(["label"] if "label" in names else [])])).content


def _tell_of_strangers(path: str | Path, strangers: Sequence[tuple[str, str]], links: int) -> None:
    """Warn of known links of records that are not there; raises `ArgumentError` where all are."""
    if not strangers:
        return
    some = ", ".join(f"{a} with {b}" for a, b in sorted(strangers)[:3])
    if len(strangers) == links:
        expected = "pairs of ids as --id has them, that of the first table first"
        raise ArgumentError("--labels", got=f"links of records that are not there: {some}", expected=expected)
    message = f"{path}: {len(strangers):,} of {links:,} known links are of records that are not there, and do not count"
    warn(UnknownIdWarning(f"{message}: {some}"))


def _tell_of_no_loners(path: str | Path, complete: np.ndarray, keys: np.ndarray, size: int, *, alone: bool) -> None:
    """Warn where labels are of records with a link alone: what others are wrongly linked to does not count."""
    linked = np.concatenate([keys // size, keys % size]) if alone else keys // size
    others = len(complete) - int(complete.sum())
    if others and complete.sum() == len(np.unique(linked)):
        message = f"{path}: every record in it has a link, so wrong links of {others:,} other records do not count"
        advice = "If it has all links, say so (--labels-complete); else add pairs with label 0 of records without any"
        warn(DoubtfulLinksWarning(f"{message}. {advice}"))


class KnownLinks:
    """Known links by rows, the records of which all links are known, and the folds of these, for cross-fitting.

    Where links are `all_known`, these are all records. Raises `ArgumentError` for labels without a link.
    """

    def __init__(self, path: str | Path, left: Records, right: Records, *, all_known: bool = False) -> None:
        given, self.alone, self.size = read_known(path), left is right, len(right)
        labels = given.labels if given.labels is not None else [True] * len(given)
        links = {(a, b) for a, b, match in zip(given.sources, given.targets, labels, strict=True) if match}
        links = {(a, b) for a, b in links if not (self.alone and a == b)}  # a record is no duplicate of itself
        if not links:
            raise ArgumentError("--labels", got="no link", expected="pairs of ids, known links")
        rows = [{name: row for row, name in enumerate(side.ids)} for side in (left, right)]
        known = [(rows[0][a], rows[1][b]) for a, b in links if a in rows[0] and b in rows[1]]
        _tell_of_strangers(
            path, [pair for pair in links if pair[0] not in rows[0] or pair[1] not in rows[1]], len(links)
        )
        ordered = [(min(pair), max(pair)) if self.alone else pair for pair in known]
        self.keys = np.unique(np.array([a * self.size + b for a, b in ordered], dtype=np.int64))
        self.complete = np.zeros(len(left), bool)
        named = {*given.sources, *(given.targets if self.alone else ())}
        self.complete[[rows[0][name] for name in named if name in rows[0]]] = True
        self.complete |= all_known
        _tell_of_no_loners(path, self.complete, self.keys, self.size, alone=self.alone)
        self.folds = self._folds()

    @property
    def total(self) -> int:
        """Number of known links."""
        return len(self.keys)

    def _folds(self) -> np.ndarray:
        """Fold of each record of which all links are known, -1 of others, and of all where fewer than two have links.

        Records of one table that links connect share a fold. Each fold has about as many records with links.
        """
        one, other = self.keys // self.size, self.keys % self.size
        groups = linked_records(one, other, self.size) if self.alone else np.arange(len(self.complete))
        linked, found = np.unique(groups[one]), np.full(len(groups), -1)
        count = min(FOLDS, len(linked))
        if count > 1:
            random = np.random.default_rng(0)
            others = np.setdiff1d(groups[self.complete], linked)
            order = np.concatenate([random.permutation(linked), random.permutation(others)])
            fold_of = np.zeros(groups.max() + 1, dtype=np.int64)
            fold_of[order] = np.arange(len(order)) % count
            found[self.complete] = fold_of[groups[self.complete]]
        return found

    @property
    def fold_count(self) -> int:
        """Number of folds; 0 where there are none."""
        return int(self.folds.max(initial=-1)) + 1

    def fold(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Fold of each pair, that of its record; -1 of pairs of which nothing is known."""
        own = self.folds[left]
        return np.asarray(np.where(own < 0, self.folds[right], own) if self.alone else own)

    def judges(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Which pairs are of a record of which all links are known."""
        return np.asarray(self.complete[left] | self.complete[right]) if self.alone else self.complete[left]

    def has(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Which pairs are known links."""
        return np.isin(left.astype(np.int64) * self.size + right, self.keys)

    def curve(self, links: ScoredPairs) -> list[ThresholdPoint]:
        """Threshold curve of the links of labelled records; what candidates have lost counts in recall."""
        some = self._judged(links)
        return threshold_curve(some.probabilities, self.has(some.left, some.right), positives=self.total)

    def held_out(self, links: ScoredPairs, choose: "Choice", threshold: float) -> ThresholdPoint | None:
        """Figures of a threshold chosen on the labels: those of each fold at the one that the other folds choose.

        None where there are no folds, or where no held-out pair is called a link.
        """
        some = self._judged(links)
        folds, right = self.fold(some.left, some.right), self.has(some.left, some.right)
        called = np.zeros(len(folds), bool)
        for number in range(self.fold_count):
            own, lost = folds == number, int((self.folds[self.keys // self.size] == number).sum())
            if not own.all():
                positives = max(self.total - lost, 1)
                point = choose(threshold_curve(some.probabilities[~own], right[~own], positives=positives))
                called[own] = False if point is None else some.probabilities[own] >= point.threshold
        hits = int((called & right).sum())
        return threshold_point(threshold, int(called.sum()), hits, self.total) if called.any() else None

    def _judged(self, links: ScoredPairs) -> ScoredPairs:
        rows = np.flatnonzero(self.judges(links.left, links.right))
        if not len(rows):
            got = "none that names a record that has a candidate"
            raise ArgumentError("--labels", got=got, expected="pairs of ids, known links")
        return links.chosen(rows)


Choice = Callable[[list[ThresholdPoint]], ThresholdPoint | None]
"""Choice of a threshold on a curve; None where no threshold will do."""


class CrossFit(NamedTuple):
    """Cross-fitting: weights without the labels of each fold, for its pairs; those of all labels for other pairs."""

    known: KnownLinks
    without: Sequence[EvidenceWeights]
    of_all: EvidenceWeights

    @classmethod
    def of(cls, known: KnownLinks, evidence: "LabelledEvidence", of_all: EvidenceWeights) -> "CrossFit | None":
        """Weights learned without each fold; None where the labels left teach nothing, or there are no folds."""
        without = []
        for number in range(known.fold_count):
            others = evidence.folds != number
            if not evidence.labels[others].any() or evidence.labels[others].all():
                return None
            without.append(EvidenceWeights.learned(of_all.names, evidence.values[others], evidence.labels[others]))
        return cls(known, without, of_all) if without else None

    def log_odds(self, shard: LinkEvidence) -> np.ndarray:
        """Log-odds of a match, of labelled records out of fold."""
        found, folds = self.of_all.log_odds(shard.values), self.known.fold(shard.left, shard.right)
        for number, weights in enumerate(self.without):
            found[folds == number] = weights.log_odds(shard.values[folds == number])
        return found


class LabelledEvidence(NamedTuple):
    """Evidence of the pairs of labelled records, which of them are links, and the fold of each."""

    values: np.ndarray
    labels: np.ndarray
    folds: np.ndarray


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

    def labelled(self, known: KnownLinks) -> LabelledEvidence:
        """Evidence of the pairs of labelled records."""
        columns = [(np.zeros((0, len(self.names))), np.zeros(0, bool), np.zeros(0, np.int64))]
        for shard in self:
            judged = known.judges(shard.left, shard.right)
            left, right = shard.left[judged], shard.right[judged]
            columns.append((shard.values[judged], known.has(left, right), known.fold(left, right)))
        return LabelledEvidence(*(np.concatenate(parts) for parts in zip(*columns, strict=True)))

    def recall(self, known: KnownLinks) -> float:
        """Share of the known links among the pairs."""
        found = (shard.left.astype(np.int64) * known.size + shard.right for shard in self)  # never all of them at once
        kept = [keys[np.isin(keys, known.keys)] for keys in found]
        return len(np.unique(np.concatenate(kept))) / known.total if kept else 0.0

    def scored(self, log_odds_of: Callable[[LinkEvidence], np.ndarray], floor: float) -> ScoredPairs:
        """Pairs with log-odds of at least `floor`, each once: of one table a pair may be found from both records."""
        columns = [ScoredPairs(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0), np.zeros(0, np.int64))]
        start = 0
        for shard in self:
            log_odds = log_odds_of(shard)
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


def assigned(pairs: ScoredPairs, how: Assignment, *, alone: bool = False) -> np.ndarray:
    """Rows of the pairs that may be links, whatever the threshold, in the order of their records.

    One-to-one is greedy: the pair with the highest log-odds first, then the next whose records are both free. Of equal
    ones the first record wins. Of one table (`alone`) a record is the same on either side: which of two is the first
    says nothing, and `best` are the pairs that are the best of one of their records.

    >>> pairs = ScoredPairs(np.array([0, 0, 1]), np.array([5, 6, 5]), np.array([3.0, 1.0, 2.0]), np.arange(3))
    >>> [assigned(pairs, how).tolist() for how in ("one-to-one", "best", "all")]
    [[0], [0, 2], [0, 1, 2]]
    >>> chain = ScoredPairs(np.array([0, 1]), np.array([1, 2]), np.array([1.0, 2.0]), np.arange(2))
    >>> [assigned(chain, how, alone=True).tolist() for how in ("one-to-one", "best", "all")]
    [[1], [0, 1], [0, 1]]
    """
    order = np.lexsort((pairs.right, pairs.left, -pairs.log_odds))
    if how == "all":
        kept = order
    elif how == "best":
        kept = _best(pairs, order, alone=alone)
    else:
        kept = np.array(_greedy(pairs, order, alone=alone), dtype=np.int64)
    return kept[np.lexsort((pairs.right[kept], pairs.left[kept]))]


def _best(pairs: ScoredPairs, order: np.ndarray, *, alone: bool) -> np.ndarray:
    """Best pair of each first record; of one table, of each record."""
    if not alone:
        return np.asarray(order[np.unique(pairs.left[order], return_index=True)[1]])
    records = np.stack([pairs.left[order], pairs.right[order]], axis=1).ravel()
    return np.asarray(order[np.unique(np.unique(records, return_index=True)[1] // 2)])


def _greedy(pairs: ScoredPairs, order: np.ndarray, *, alone: bool) -> list[int]:
    taken_left: set[int] = set()
    taken_right: set[int] = taken_left if alone else set()
    kept = []
    for row, one, other in zip(order.tolist(), pairs.left[order].tolist(), pairs.right[order].tolist(), strict=True):
        if one not in taken_left and other not in taken_right:
            taken_left.add(one)
            taken_right.add(other)
            kept.append(row)
    return kept


def read_clusters(path: str | Path, ids: Sequence[str]) -> EarlierClusters:
    """Clusters that an earlier run wrote, of all records or of links. Raises `DataError` for what is none of these."""
    table, named = _earlier_table(path)
    found: dict[str, int] = {}
    for name in named:
        for record, cell in zip(table.column(name).to_pylist(), table.column("cluster").to_pylist(), strict=True):
            if cell in (None, ""):  # a link between two clusters
                continue
            if found.setdefault(record, number := cluster_number(path, str(cell))) != number:
                raise DataError(path, f"record {record!r} is in clusters {found[record]} and {number}; expected one")
    if found and not any(name in found for name in ids):
        raise DataError(path, "no record of the table is in it: expected the same ids as --id has them")
    return EarlierClusters(np.array([found.get(name, 0) for name in ids], np.int64), max(found.values(), default=0))


def _earlier_table(path: str | Path) -> tuple[pa.Table, list[str]]:
    """Table of records or of links, which may be none, and its columns of ids."""
    try:
        table, named = _read_or_empty(path, ["id"]), ["id"]
    except DataError:
        named = ["id_a", "id_b"]
        table = _read_or_empty(path, named)
    if not {*named, "cluster"} <= {*table.column_names}:
        raise DataError(path, "no column cluster beside id, or id_a and id_b: give a file that nsed dedupe wrote")
    return table, named


def _read_or_empty(path: str | Path, named: list[str]) -> pa.Table:
    """Table with these columns of ids; of a header alone, as of a run that found no link, one without rows."""
    try:
        return read_table(path, named[0])
    except DataError as error:
        if not {*named, "cluster"} <= {*error.header}:
            raise
        return pa.table({name: pa.array([], pa.string()) for name in (*named, "cluster")})


class LinkClusters(NamedTuple):
    """Clusters of links of one table: that of each record, and how many there are of which."""

    ids: np.ndarray
    counts: dict[str, int]

    @classmethod
    def of(
        cls,
        links: ScoredPairs,
        scored: ScoredPairs,
        size: int,
        *,
        threshold: float,
        method: LinkMethod,
        before: EarlierClusters | None,
    ) -> "LinkClusters":
        """Clusters of some links, by the probabilities of all pairs, with the numbers that they had before."""
        pairs, cut = np.stack([scored.left, scored.right], axis=1), threshold - ROUNDING
        connected = linked_records(links.left, links.right, size)
        found = cluster_links(connected, pairs, scored.probabilities, threshold=cut, method=method)
        apart = int((found[links.left] != found[links.right]).sum())
        counts = {"found": int(found.max(initial=0)), "apart": apart}
        if before is None:
            return cls(found, counts)
        kept = keep_ids(found.tolist(), before.numbers, largest=before.largest)
        return cls(kept.ids, counts | kept.counts)

    def of_both(self, pairs: ScoredPairs) -> pa.Array:
        """Cluster of both records of each pair; none where they are in two."""
        own = self.ids[pairs.left]
        return pa.array(own, mask=own != self.ids[pairs.right])
