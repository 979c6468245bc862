"""Record linkage: records of two tables, or of one, that are the same; candidates, evidence, threshold, assignment.

Candidates of some records after the others are scored and committed as a shard: whenever the process is killed, it goes
on from there, to the same output. Which pairs become links is decided in the end, over all of them.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from nsed.capabilities import Capability, can
from nsed.errors import ArgumentError
from nsed.evaluate.matching import ThresholdPoint, threshold_at_precision, threshold_curve
from nsed.jobs.candidates import Candidates, Generator, is_reversed, rank_of
from nsed.jobs.link_report import LinkExample, LinkFigures, link_page
from nsed.jobs.provenance import describe_inputs, model_hash
from nsed.jobs.records import EqualStrings, Records, TextColumn, agreement_odds, model_odds
from nsed.jobs.shards import Position, ShardFolder
from nsed.jobs.table_files import RowFormat, replacing, row_format, table_writer
from nsed.jobs.table_run import Warnings
from nsed.kernels.switch import wanted
from nsed.progress import Progress, silent
from nsed.text import read_pairs
from nsed.train.run_folder import versions
from nsed.train.saved_model import replace_file

Assignment = Literal["one-to-one", "best", "all"]
RECORDS_PER_SHARD = 4096
MOST_PER_RECORD = 10
"""Pairs of a record at most, in multiples of k: equal strings are one candidate, and may be those of many records."""
EXAMPLES = 20
"""Pairs on either side of the threshold that the report shows."""


class ScoredPairs(NamedTuple):
    """Scored candidate pairs: rows of both records, and the log-odds of each column, [pairs, columns]."""

    left: np.ndarray
    right: np.ndarray
    parts: np.ndarray

    @property
    def log_odds(self) -> np.ndarray:
        """Log-odds of a match: those of all columns together."""
        return np.asarray(self.parts.sum(axis=1))

    def chosen(self, rows: np.ndarray) -> "ScoredPairs":
        """Some of the pairs."""
        return ScoredPairs(self.left[rows], self.right[rows], self.parts[rows])


class LinkSummary(NamedTuple):
    """What a linkage has done."""

    records: tuple[int, int]
    candidates: int
    links: int
    threshold: float
    """Probability from which on pairs are links."""
    at_threshold: ThresholdPoint | None
    """Precision and recall at the threshold, on labelled links; None without labels."""
    candidate_recall: float | None
    """Share of the labelled links among the candidates."""


@dataclass(frozen=True)
class LinkJob:
    r"""Linkage of two tables, or, without a second one, duplicates of one. `run` writes links, manifest and report.

    >>> import tempfile, nsed
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.tsv").write_text("id\tname\n1\tgray\n2\tgala\n")
    >>> _ = (folder / "b.tsv").write_text("id\tname\n7\tgele\n8\tgrey\n")
    >>> words = ["gray", "gala", "lay", "ray", "yard", "drag"] * 4
    >>> pairs = [(w, w.replace("a", "e")) for w in words] + [(w, w[::-1] + "o") for w in words]
    >>> model = nsed.OddsMatcher.fit(pairs, [1] * 24 + [0] * 24, train__steps=20)
    >>> job = LinkJob(folder / "a.tsv", folder / "b.tsv", folder / "links.tsv", on=[TextColumn("name", model)], id="id")
    >>> job.run().links, [line.split("\t")[:2] for line in (folder / "links.tsv").read_text().splitlines()]
    (2, [['id_a', 'id_b'], ['1', '8'], ['2', '7']])
    """

    left: str | Path
    right: str | Path | None
    output: str | Path
    on: Sequence[TextColumn]
    """Text columns, each with its model; their log-odds add up."""
    id: str | None = None
    """Column that names a record; None: rows, counted from 1."""
    exact: Sequence[str] = ()
    """Columns whose agreement, or disagreement, is evidence too."""
    by: Sequence[Generator] | None = None
    """Generators of candidates, see `Candidates`."""
    k: int = 20
    threshold: float | None = None
    """Probability from which on a pair is a link; None: the model's own, of several columns one half."""
    precision: float | None = None
    """Precision that the links shall have, on the labelled ones: the threshold is the lowest that keeps it."""
    assign: Assignment = "one-to-one"
    """Links of a record: one at most on either side, greedily; the best one of each record of the first table; all."""
    labels: str | Path | None = None
    """Pairs of ids that are known links, of which a record of the first table has all that it has."""
    resume: bool = False
    overwrite: bool = False
    shard_rows: int = RECORDS_PER_SHARD
    progress: Progress = field(default=silent, compare=False)

    def run(self) -> LinkSummary:
        """Link. Raises `ArgumentError` or `DataError` for what cannot be."""
        self.check()
        left = Records.read(self.left, [one.name for one in self.on], self.id, self.exact)
        right = left if self.right is None else Records.read(self.right, left.names, self.id, self.exact)
        folder = ShardFolder(self._parts, RowFormat.ARROW, name=str(self.output), header=True, headers=True)
        with folder.lock():
            folder.begin(self._identity(), resume=self.resume, overwrite=self.overwrite)
            self._score(left, right, folder)
            summary = self._finish(left, right, _read(folder.parts, len(self.on) + len(self.exact)))
            folder.discard()
        return summary

    def check(self) -> None:
        """Check the settings, before anything is read."""
        row_format(Path(self.output), argument="--output")
        if not self.on:
            raise ArgumentError("--on", got="no column", expected="at least one text column with a model")
        for one in self.on:
            if not can(one.model, Capability.MATCH):
                got = f"a {type(one.model).__name__} that makes no decisions, for {one.name}"
                raise ArgumentError("model", got=got, expected="a matcher, or another model of labelled pairs")
        if self.precision is not None and (self.labels is None or self.threshold is not None):
            got = "no labels" if self.labels is None else "a threshold too"
            raise ArgumentError("--precision", got=got, expected="--labels with known links, and no --threshold")
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise ArgumentError("--threshold", got=self.threshold, expected="a probability, from 0 to 1")
        if self.labels is not None and self.id is None:
            raise ArgumentError("--labels", got="no --id", expected="--id COLUMN: labels are pairs of ids")

    @property
    def _parts(self) -> Path:
        path = Path(self.output).resolve()
        return path.with_name(path.name + ".parts")

    def _score(self, left: Records, right: Records, folder: ShardFolder) -> None:
        """Score the candidates of all records that are left to do, a shard after the other."""
        start, total = folder.position.row, len(left)
        if start >= total:
            return
        reversed_ = is_reversed(self.on[0].model, left.columns[0])
        candidates = Candidates(self._generators(), k=self.k, model=self.on[0].model)
        search = right.joined if self._joins else right.columns[0]
        candidates.fit(search)
        equal, telling = EqualStrings.of(search), Warnings()
        with self.progress("linking", total - start) as on_batch:
            for first in range(start, total, self.shard_rows):
                rows = range(first, min(first + self.shard_rows, total))
                pairs = self._pairs(left, candidates, equal, rows)
                with telling.once():
                    scored = self._evidence(left, right, pairs, reversed_)
                with folder.shard() as shard:
                    shard.write(_columns(scored), len(scored.left))
                    shard.rows, shard.end = len(rows), Position(0, rows.stop, 0)
                on_batch(len(rows))

    def _generators(self) -> Sequence[Generator] | None:
        return ["ngrams"] if self.by is None and len(self.on) > 1 and self._joins else self.by

    @property
    def _joins(self) -> bool:
        """Whether candidates share n-grams of all columns together; of learned operations, the first one counts."""
        probe = Candidates(self.by, k=self.k, model=self.on[0].model)
        return len(self.on) > 1 and not {"operations", "nbest"} & set(probe.chosen_generators())

    def _pairs(self, left: Records, candidates: Candidates, equal: EqualStrings, rows: range) -> tuple[np.ndarray, ...]:
        """Rows of candidate pairs: all records that have a candidate's string; of one table, each pair once."""
        alone = self.right is None
        texts = (left.joined if self._joins else left.columns[0])[rows.start : rows.stop]
        found = candidates.query(texts, self.k + alone)
        one = np.repeat(found.queries + rows.start, equal.sizes(found.references))
        other = equal.members(found.references)
        if alone:
            one, other = one[one != other], other[one != other]
        kept = rank_of(one) < MOST_PER_RECORD * self.k
        one, other = one[kept], other[kept]
        return (np.minimum(one, other), np.maximum(one, other)) if alone else (one, other)

    def _evidence(self, left: Records, right: Records, pairs: tuple[np.ndarray, ...], reversed_: bool) -> ScoredPairs:
        one, other = pairs
        parts = [
            column.weight * model_odds(column.model, left.columns[place], right.columns[place], pairs, reversed_)
            for place, column in enumerate(self.on)
        ]
        parts += [agreement_odds(left.exact[name], right.exact[name], pairs) for name in self.exact]
        return ScoredPairs(one, other, np.stack(parts, axis=1) if len(one) else np.zeros((0, len(parts))))

    def _finish(self, left: Records, right: Records, scored: ScoredPairs) -> LinkSummary:
        """Assign, choose the threshold, write links, manifest and report."""
        if self.right is None:
            _, first = np.unique(scored.left * len(left) + scored.right, return_index=True)
            scored = scored.chosen(first)
        links = scored.chosen(assigned(scored, self.assign))
        curve, recall = self._curve(left, right, links, scored)
        threshold, point = self._threshold(curve)
        probability = probabilities(links.log_odds)
        kept = links.chosen(np.flatnonzero(probability >= threshold))
        self._write(left, right, kept)
        records = len(left), len(right)
        summary = LinkSummary(records, len(scored.left), len(kept.left), threshold, point, recall)
        figures = LinkFigures(summary._asdict(), probability, kept.left, kept.right, curve)
        self._describe(summary, figures, self._examples(left, right, links, probability, threshold))
        return summary

    def _curve(
        self, left: Records, right: Records, links: ScoredPairs, scored: ScoredPairs
    ) -> tuple[list[ThresholdPoint], float | None]:
        """Threshold curve of links of labelled records, and the share of known links among the candidates."""
        if self.labels is None:
            return [], None
        given = read_pairs(self.labels)
        labels = given.labels if given.labels is not None else [True] * len(given)
        known = {(a, b) for a, b, match in zip(given.sources, given.targets, labels, strict=True) if match}
        known |= {(b, a) for a, b in known} if self.right is None else set()
        judged = set(given.sources) | (set(given.targets) if self.right is None else set())
        names = [(left.ids[a], right.ids[b]) for a, b in zip(links.left.tolist(), links.right.tolist(), strict=True)]
        rows = [row for row, (a, _) in enumerate(names) if a in judged]
        total = len(known) // (2 if self.right is None else 1)
        if not rows or not total:
            got = "none that names a record that has a candidate" if total else "no link"
            raise ArgumentError("--labels", got=got, expected=f"pairs of values of {self.id}, known links")
        right_ones = np.array([names[row] in known for row in rows])
        pairs = zip(scored.left.tolist(), scored.right.tolist(), strict=True)
        among = sum((left.ids[a], right.ids[b]) in known for a, b in pairs)
        return threshold_curve(probabilities(links.log_odds)[rows], right_ones, positives=total), among / total

    def _threshold(self, curve: list[ThresholdPoint]) -> tuple[float, ThresholdPoint | None]:
        if self.precision is not None:
            point = threshold_at_precision(curve, self.precision)
            return point.threshold, point
        own = self.on[0].model.threshold_probability if len(self.on) == 1 and not self.exact else 0.5
        threshold = float(own if self.threshold is None else self.threshold)
        above = [point for point in curve if point.threshold >= threshold]
        return threshold, above[-1] if above else None

    def _write(self, left: Records, right: Records, links: ScoredPairs) -> None:
        one, other = links.left.tolist(), links.right.tolist()
        table: dict[str, Any] = {"id_a": [left.ids[a] for a in one], "id_b": [right.ids[b] for b in other]}
        for place, column in enumerate(self.on):
            table[f"{column.name}_a"] = [left.columns[place][a] for a in one]
            table[f"{column.name}_b"] = [right.columns[place][b] for b in other]
        table |= {"probability": probabilities(links.log_odds), "log_odds": links.log_odds}
        if links.parts.shape[1] > 1:
            names = [*(f"log_odds_{one.name}" for one in self.on), *(f"agreement_{name}" for name in self.exact)]
            table |= {name: links.parts[:, place] for place, name in enumerate(names)}
        if self.right is None:
            table["cluster"] = components(links.left, links.right, len(left))[links.left]
        path = Path(self.output)
        with replacing(path) as beside, table_writer(beside, row_format(path)) as writer:
            writer.write(table)

    def _describe(self, summary: LinkSummary, figures: LinkFigures, examples: list[LinkExample]) -> None:
        path = Path(self.output)
        content = {"job": self._identity(), "threshold": summary.threshold, **summary._asdict()}
        replace_file(path.with_name(path.name + ".manifest.json"), json.dumps(content, indent=1).encode())
        html = link_page(f"Links of {Path(self.left).name}", self._identity(), figures, examples)
        replace_file(path.with_name(path.name + ".html"), html.encode())

    def _examples(
        self, left: Records, right: Records, links: ScoredPairs, probability: np.ndarray, threshold: float
    ) -> list[LinkExample]:
        """Pairs just above and just below the threshold, with the operations of their first column."""
        order = np.argsort(-probability, kind="stable")
        cut = int((probability[order] >= threshold).sum())
        near = order[max(cut - EXAMPLES, 0) : cut + EXAMPLES].tolist()
        texts = [(left.columns[0][links.left[row]], right.columns[0][links.right[row]]) for row in near]
        model, scripts = self.on[0].model, [None] * len(near)
        if near and can(model, Capability.ALIGN):
            turned = is_reversed(model, left.columns[0])
            scripts = model.align_all([(b, a) for a, b in texts] if turned else texts)
        return [
            LinkExample(*pair, float(probability[row]), bool(probability[row] >= threshold), script)
            for pair, row, script in zip(texts, near, scripts, strict=True)
        ]

    def _identity(self) -> Mapping[str, Any]:
        """What makes it the same job: all that the output depends on."""
        inputs = [Path(one) for one in (self.left, self.right, self.labels) if one is not None]
        return {
            "verb": "dedupe" if self.right is None else "link",
            "on": [{"column": one.name, "weight": one.weight, "model": model_hash(one.model)} for one in self.on],
            "id": self.id,
            "exact": list(self.exact),
            "by": self.by if self.by is None else list(self.by),
            "k": self.k,
            "threshold": self.threshold,
            "precision": self.precision,
            "assign": self.assign,
            "shard_rows": self.shard_rows,
            "inputs": [one._asdict() for one in describe_inputs(inputs)],
            "backend": wanted(),
            "versions": versions(),
        }


def probabilities(log_odds: np.ndarray) -> np.ndarray:
    """Probabilities of log-odds."""
    return np.asarray(1 / (1 + np.exp(-np.clip(log_odds, -700, 700))))


def assigned(pairs: ScoredPairs, how: Assignment) -> np.ndarray:
    """Rows of the pairs that may be links, whatever the threshold, in the order of their records.

    One-to-one is greedy: the pair with the highest log-odds first, then the next whose records are both free. Of equal
    ones the first record wins.

    >>> pairs = ScoredPairs(np.array([0, 0, 1]), np.array([5, 6, 5]), np.array([[3.0], [1.0], [2.0]]))
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
    parent = list(range(size))

    def root(record: int) -> int:
        while parent[record] != record:
            parent[record] = parent[parent[record]]
            record = parent[record]
        return record

    for one, other in zip(left.tolist(), right.tolist(), strict=True):
        low, high = sorted((root(one), root(other)))
        parent[high] = low
    roots = np.array([root(record) for record in range(size)], dtype=np.int64)
    return np.asarray(np.unique(roots, return_inverse=True)[1] + 1)


def _columns(scored: ScoredPairs) -> dict[str, np.ndarray]:
    parts = {f"part_{place}": scored.parts[:, place] for place in range(scored.parts.shape[1])}
    return {"left": scored.left, "right": scored.right, **parts}


def _read(parts: Sequence[Path], columns: int) -> ScoredPairs:
    """Scored pairs of all shards; one without pairs has no table."""
    tables = []
    for part in parts:
        if part.stat().st_size:
            with pa.OSFile(str(part)) as file:
                tables.append(pa.ipc.open_file(file).read_all())
    if not tables:
        return ScoredPairs(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, columns)))
    table = pa.concat_tables(tables)
    values = [table.column(f"part_{place}").to_numpy() for place in range(columns)]
    return ScoredPairs(table.column("left").to_numpy(), table.column("right").to_numpy(), np.stack(values, axis=1))
