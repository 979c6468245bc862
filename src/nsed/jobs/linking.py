"""Record linkage: records of two tables, or of one, that are the same; candidates, evidence, threshold, assignment.

Pairs of some records after the others are compared and committed as a shard: whenever the process is killed, it goes
on from there, to the same output. Which pairs become links is decided in the end, over all of them, shard by shard.
"""

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from nsed.capabilities import Capability, can
from nsed.errors import ArgumentError, UnknownSymbolWarning
from nsed.evaluate.matching import ThresholdPoint, best_f1, lowest_at_precision, threshold_at_precision
from nsed.jobs.assignment import (
    ROUNDING,
    Assignment,
    Choice,
    CrossFit,
    DecidedPairs,
    KnownLinks,
    ScoredPairs,
    ScoredShards,
    assigned,
    components,
    tell_of_one_cluster,
)
from nsed.jobs.blocking import RULES, PairFinder, RulePairs, generators_of, write_rule_pairs
from nsed.jobs.candidates import Candidates, Generator, is_reversed
from nsed.jobs.link_report import LinkExample, LinkFigures, link_page
from nsed.jobs.records import (
    SEARCH,
    Comparisons,
    EvidenceWeights,
    NumericColumn,
    Records,
    TextColumn,
    evidence_names,
    prior_once,
    read_table,
)
from nsed.jobs.shards import Position, ShardFolder, check_unfinished, describe_inputs, model_hash, telling_what_is_kept
from nsed.jobs.table_files import RowFormat, check_outputs, replacing, row_format, table_writer
from nsed.jobs.table_run import Warnings
from nsed.kernels.switch import wanted
from nsed.progress import Progress, silent
from nsed.train.run_folder import versions
from nsed.train.saved_model import replace_file

RECORDS_PER_SHARD = 4096
EXAMPLES, REASONS = 20, 5
"""Pairs on either side of the threshold that the report shows, and pairs of a record that it gives reasons for."""
FLOOR = 1e-3
"""Probability below which no pair is looked at again, unless the threshold is lower."""


class LinkSummary(NamedTuple):
    """Linkage result: how many pairs were compared and linked, and precision and recall of the links on labelled ones.

    >>> done = LinkSummary((9, 8), 40, 7, 2, 0.5, at_threshold=None, candidate_recall=None, weights={}, folds=0)
    >>> f"{done.links} links of {done.candidates} pairs compared, {done.review} to be looked at"
    '7 links of 40 pairs compared, 2 to be looked at'
    """

    records: tuple[int, int]
    candidates: int
    """Pairs that were compared."""
    links: int
    review: int
    """Pairs in the review band."""
    threshold: float
    """Probability from which on pairs are links."""
    at_threshold: ThresholdPoint | None
    """Precision and recall at the threshold, on labelled links; None without labels, or where these are too few.

    Where weights or threshold were chosen on the labels, each fold of the labelled records is judged by what the others
    have chosen (cross-fitting): it is what records without labels may expect, not how well the labels were fitted.
    """
    candidate_recall: float | None
    """Share of the labelled links among the candidates."""
    weights: Mapping[str, float]
    """Weights of the evidence, given or learned."""
    folds: int
    """Folds of cross-fitting; 0 where nothing was chosen on the labels."""


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
    """Text columns, each with its model; their evidence adds up, and the prior of the first counts once."""
    id: str | None = None
    """Column that names a record; None: rows, counted from 1."""
    exact: Sequence[str] = ()
    """Columns whose agreement, or disagreement, is evidence too."""
    numeric: Sequence[NumericColumn] = ()
    """Columns of numbers whose difference is evidence too."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """Weights of exact and numeric columns, by name; 1 for others."""
    learn: bool = False
    """Learn the weights of all evidence, that of the search too, from the labels; figures are of held-out ones."""
    by: Sequence[Generator] | None = None
    """Generators of candidates, see `Candidates`; None: what suits, none where there are rules."""
    rules: Sequence[str] = ()
    """SQL conditions on the columns of two records, `a` and `b`: pairs that fulfil one are compared."""
    k: int = 20
    ranker: Any = None
    """Model that chooses among five times k candidates or more, by the first text column: see `Candidates`."""
    threshold: float | None = None
    """Probability from which on a pair is a link; None: the model's own, of several columns one half, of learned
    weights that with the best F1 on the labels."""
    precision: float | None = None
    """Precision that the links shall have, on the labelled ones: the threshold is the lowest that keeps it."""
    review: float | None = None
    """Where the review band begins that ends at the threshold: a probability, with `precision` a precision."""
    assign: Assignment = "one-to-one"
    """Links of a record: one at most on either side, greedily; the best one of each record of the first table; all."""
    labels: str | Path | None = None
    """Pairs of ids that are known links: all of the records in it. A record without any has a pair with label 0."""
    labels_complete: bool = False
    """Whether the labels have every link there is: records that they do not name have none."""
    why: Sequence[str] = ()
    """Ids of records whose pairs the report gives reasons for."""
    clusters: str | Path | None = None
    """File, for one table: all its records with the numbers of their clusters, also those that have no duplicate."""
    redact: bool = False
    """Leave all strings of records out of links, report and messages: ids and numbers only."""
    resume: bool = False
    overwrite: bool = False
    shard_rows: int = RECORDS_PER_SHARD
    progress: Progress = field(default=silent, compare=False)

    def run(self) -> LinkSummary:
        """Link. Raises `ArgumentError` or `DataError` for what cannot be."""
        self.check()
        made = [f"{self.output}{ending}" for ending in ("", ".manifest.json", ".html")]
        if self.resume:
            check_unfinished(Path(self.output), self._parts)
        made += [] if self.review is None else [str(self.review_path)]
        check_outputs([*made, self.clusters], [self.left, self.right, self.labels])
        with warnings.catch_warnings():
            if self.redact:
                warnings.simplefilter("ignore", UnknownSymbolWarning)  # it names symbols of the strings
            return self._run()

    def _run(self) -> LinkSummary:
        tables = self._tables()
        left = self._records(tables[0], self.left)
        right = left if self.right is None else self._records(tables[1], self.right)
        for name in self.why:
            if name not in left.ids and name not in right.ids:
                raise ArgumentError("--why", got=name, expected=f"a value of {self.id or 'a row, from 1'}")
        known = None if self.labels is None else KnownLinks(self.labels, left, right, all_known=self.labels_complete)
        folder = ShardFolder(self._parts, RowFormat.ARROW, name=str(self.output), header=True, headers=True)
        with folder.lock(), telling_what_is_kept(folder.name, lambda: folder.kept):
            folder.begin(self._identity(), resume=self.resume, overwrite=self.overwrite)
            rules = self._rule_pairs(tables, folder)
            del tables
            self._compare(left, right, rules, folder)
            summary = self._finish(left, right, known, ScoredShards(folder.parts, self._evidence_names))
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
        for name, value in (("--threshold", self.threshold), ("--review", self.review)):
            if value is not None and not 0 <= value <= 1:
                raise ArgumentError(name, got=value, expected="a probability, from 0 to 1")
        if self.clusters is not None:
            row_format(Path(self.clusters), argument="--clusters")
            if self.right is not None:
                raise ArgumentError("--clusters", got="two tables", expected="one: links of two are pairs")
        if self.labels_complete and self.labels is None:
            raise ArgumentError("--labels-complete", got="no labels", expected="--labels with all links there are")
        if self.learn and self.labels is None:
            raise ArgumentError("--learn", got="no labels", expected="--labels with known links, to learn from")
        generators, joined = self._generators()
        if self.ranker is not None and (joined or not generators):
            got = "candidates of several columns" if joined else "rules alone"
            raise ArgumentError("--ranker", got=got, expected="candidates of one text column, which --by may name")
        if self.labels is not None and self.id is None:
            raise ArgumentError("--labels", got="no --id", expected="--id COLUMN: labels are pairs of ids")

    @property
    def _parts(self) -> Path:
        path = Path(self.output).resolve()
        return path.with_name(path.name + ".parts")

    @property
    def _evidence_names(self) -> list[str]:
        generators, _ = self._generators()
        search = SEARCH if len(generators) == 1 and not self.rules else ()
        return [*evidence_names(self.on, self.exact, self.numeric), *search]

    def _generators(self) -> tuple[list[Generator], bool]:
        return generators_of(self.by, self.on[0].model, columns=len(self.on), rules=bool(self.rules))

    def _tables(self) -> list[Any]:
        return [read_table(path, self.on[0].name) for path in (self.left, self.right) if path is not None]

    def _records(self, table: Any, path: str | Path) -> Records:
        names, numeric = [one.name for one in self.on], [one.name for one in self.numeric]
        return Records.of(table, names, self.id, exact=self.exact, numeric=numeric, path=path)

    def _rule_pairs(self, tables: list[Any], folder: ShardFolder) -> RulePairs | None:
        """Pairs of the rules, which a job that goes on has already."""
        if not self.rules:
            return None
        path = folder.path / RULES
        if not path.exists():
            path = write_rule_pairs(tables[0], tables[1] if len(tables) > 1 else None, self.rules, folder.path)
        return RulePairs(path)

    def _compare(self, left: Records, right: Records, rules: RulePairs | None, folder: ShardFolder) -> None:
        """Compare the pairs of all records that are left to do, a shard after the other."""
        start, total = folder.position.row, len(left)
        if start >= total:
            return
        reversed_ = is_reversed(self.on[0].model, left.columns[0])
        comparisons = Comparisons(left, right, on=self.on, numeric=self.numeric, reversed_=reversed_)
        generators, joined = self._generators()
        searched = {"k": self.k, "model": self.on[0].model, "ranker": self.ranker}
        candidates = Candidates(generators, **searched) if generators else None
        finder, telling = PairFinder(left, right, candidates, joined=joined, rules=rules), Warnings()
        with self.progress("linking", total - start) as on_batch:
            for first in range(start, total, self.shard_rows):
                rows = range(first, min(first + self.shard_rows, total))
                with telling.once():
                    table = self._compared(finder, comparisons, rows)
                with folder.shard() as shard:
                    shard.write(table, len(table["left"]))
                    shard.rows, shard.end = len(rows), Position(0, rows.stop, 0)
                on_batch(len(rows))

    def _compared(self, finder: PairFinder, comparisons: Comparisons, rows: range) -> dict[str, np.ndarray]:
        """Columns of a shard: the pairs of some records, and their evidence; of two with nothing in common, none."""
        pairs = finder.of(rows)
        evidence = comparisons.evidence((pairs.left, pairs.right))
        common = evidence.any(axis=1)
        values = np.c_[evidence, pairs.search][common]
        left, right = (side[common].astype(np.int32) for side in (pairs.left, pairs.right))
        return {"left": left, "right": right, **dict(zip(self._evidence_names, values.T, strict=True))}

    def _finish(self, left: Records, right: Records, known: KnownLinks | None, shards: ScoredShards) -> LinkSummary:
        """Weigh the evidence, assign, choose the threshold, write links, manifest and report."""
        weights, crossed = self._weights(shards, known)
        scored = shards.scored(lambda shard: weights.log_odds(shard.values), self._floor())
        pairs = self._assigned(scored)
        decided = self._decided(pairs, known, self._held(shards, crossed, pairs))
        links, review = decided.between(decided.threshold), decided.between(decided.review, decided.threshold)
        self._write(Path(self.output), left, right, links, weights.contributions(shards.values(links.places)))
        if self.right is None:
            self._write_clusters(left, links)
        if self.review is not None:
            self._write(self.review_path, left, right, review, weights.contributions(shards.values(review.places)))
        recall = None if known is None else shards.recall(known)
        named = dict(zip(weights.names, weights.weights.tolist(), strict=True)) | {"intercept": weights.intercept}
        counts = (len(left), len(right)), sum(len(one.left) for one in shards), len(links.left), len(review.left)
        summary = LinkSummary(*counts, decided.threshold, decided.at_threshold, recall, named, decided.folds)
        shown = decided.pairs.probabilities, links.left, links.right, decided.curve, weights
        near, asked = self._near(decided), self._asked(left, right, scored)
        examples, reasons = (
            self._examples(left, right, pairs, shards.values(pairs.places), decided.threshold)
            for pairs in (near, asked)
        )
        figures = LinkFigures(summary._asdict(), *shown)
        title = f"Links of {Path(self.left).name}"
        self._describe(summary, link_page(title, self._identity(), figures, examples, reasons))
        return summary

    def _weights(self, shards: ScoredShards, known: KnownLinks | None) -> tuple[EvidenceWeights, CrossFit | None]:
        """Weights, given or learned; of learned ones, where labels are enough, also those without each fold of them."""
        if self.learn and known is not None:
            evidence = shards.labelled(known)
            learned = EvidenceWeights.learned(shards.names, evidence.values, evidence.labels)
            return learned, CrossFit.of(known, evidence, learned)
        given = {f"log_odds_{one.name}": one.weight for one in self.on}
        given |= {f"agreement_{name}": self.weights.get(name, 1.0) for name in self.exact}
        given |= {f"nearness_{one.name}": self.weights.get(one.name, 1.0) for one in self.numeric}
        return EvidenceWeights.given(shards.names, given, prior=prior_once(self.on)), None

    def _held(self, shards: ScoredShards, crossed: CrossFit | None, pairs: ScoredPairs) -> ScoredPairs | None:
        """Pairs that may be links by scores that their own labels have not taught; None where labels are too few."""
        if crossed is None:
            return None if self.learn else pairs
        return self._assigned(shards.scored(crossed.log_odds, self._floor()))

    def _assigned(self, scored: ScoredPairs) -> ScoredPairs:
        return scored.chosen(assigned(scored, self.assign))

    def _floor(self) -> float:
        """Log-odds below which no pair is needed: a little less than those of the lowest probability in question."""
        own = None if self.learn or self.precision is not None else self._own_threshold()
        review = None if self.precision is not None else self.review
        lowest = min(one for one in (FLOOR, own, review) if one is not None)
        return float(np.log(lowest / (1 - lowest)) - 1e-6) if lowest > 0 else -np.inf

    def _own_threshold(self) -> float:
        single = len(self.on) == 1 and not (self.exact or self.numeric)
        own = self.on[0].model.threshold_probability if single else 0.5
        return float(own if self.threshold is None else self.threshold)

    def _decided(self, pairs: ScoredPairs, known: KnownLinks | None, held: ScoredPairs | None) -> DecidedPairs:
        """Threshold and review band of the pairs that may be links, by these pairs as `_held` has them."""
        own = self._own_threshold()
        if known is None:
            return DecidedPairs(pairs, [], own, None, own if self.review is None else self.review)
        curve = known.curve(pairs if held is None else held)
        chosen = self._chosen(curve, known, held) if self._chooses else self._at(own, curve, held)
        folds = known.fold_count if held is not None and (self.learn or self._chooses) else 0
        return DecidedPairs(pairs, curve, *chosen, self._review(curve, chosen[0]), folds)

    @property
    def _chooses(self) -> bool:
        """Whether the threshold is chosen on the labels."""
        return self.precision is not None or (self.learn and self.threshold is None)

    def _chosen(
        self, curve: list[ThresholdPoint], known: KnownLinks, held: ScoredPairs | None
    ) -> tuple[float, ThresholdPoint | None]:
        """Threshold chosen on a curve, and its figures on labels that have not chosen it."""
        point, choice = best_f1(curve), cast("Choice", best_f1)
        if self.precision is not None:
            point = threshold_at_precision(curve, self.precision)
            choice = partial(lowest_at_precision, precision=self.precision)
        return point.threshold, None if held is None else known.held_out(held, choice, point.threshold)

    @staticmethod
    def _at(own: float, curve: list[ThresholdPoint], held: ScoredPairs | None) -> tuple[float, ThresholdPoint | None]:
        """Threshold that was given, and its figures."""
        above = [one for one in curve if one.threshold >= own - ROUNDING]
        return own, above[-1] if above and held is not None else None

    def _review(self, curve: list[ThresholdPoint], threshold: float) -> float:
        """Where the review band begins."""
        if self.review is None or not self._chooses:
            return threshold if self.review is None else self.review
        review = self.review if self.precision is None else threshold_at_precision(curve, self.review).threshold
        return min(review, threshold)

    @property
    def review_path(self) -> Path:
        """File of the review band, beside the output."""
        path = Path(self.output)
        return path.with_name(f"{path.stem}.review{path.suffix}")

    def _write(self, path: Path, left: Records, right: Records, links: ScoredPairs, parts: np.ndarray) -> None:
        one, other = links.left.tolist(), links.right.tolist()
        table: dict[str, Any] = {"id_a": [left.ids[a] for a in one], "id_b": [right.ids[b] for b in other]}
        for place, column in enumerate(self.on if not self.redact else ()):
            table[f"{column.name}_a"] = [left.columns[place][a] for a in one]
            table[f"{column.name}_b"] = [right.columns[place][b] for b in other]
        table |= {"probability": links.probabilities, "log_odds": links.log_odds}
        names = self._evidence_names if self.learn else evidence_names(self.on, self.exact, self.numeric)
        if len(names) > 1:
            table |= {name: parts[:, place] for place, name in enumerate(names)}
        if self.right is None:
            table["cluster"] = components(links.left, links.right, len(left))[links.left]
        with replacing(path) as beside, table_writer(beside, row_format(path)) as writer:
            writer.write(table)

    def _write_clusters(self, records: Records, links: ScoredPairs) -> None:
        """Write the cluster of each record, if that is wanted; of one that has most of them there is a warning."""
        clusters = components(links.left, links.right, len(records))
        tell_of_one_cluster(clusters)
        if self.clusters is not None:
            path = Path(self.clusters)
            with replacing(path) as beside, table_writer(beside, row_format(path)) as writer:
                writer.write({"id": records.ids, "cluster": clusters})

    def _describe(self, summary: LinkSummary, page: str) -> None:
        path = Path(self.output)
        content = {"job": self._identity(), "threshold": summary.threshold, **summary._asdict()}
        replace_file(path.with_name(path.name + ".manifest.json"), json.dumps(content, indent=1).encode())
        replace_file(path.with_name(path.name + ".html"), page.encode())

    def _near(self, decided: DecidedPairs) -> ScoredPairs:
        """Pairs just above and just below the threshold."""
        probability = decided.pairs.probabilities
        order = np.argsort(-probability, kind="stable")
        cut = int((probability + ROUNDING >= decided.threshold).sum())
        return decided.pairs.chosen(order[max(cut - EXAMPLES, 0) : cut + EXAMPLES])

    def _asked(self, left: Records, right: Records, scored: ScoredPairs) -> ScoredPairs:
        """Best pairs of the records that reasons are asked for."""
        rows: list[int] = []
        for name in self.why:
            there = [side.ids.index(name) if name in side.ids else -1 for side in (left, right)]
            own = np.flatnonzero((scored.left == there[0]) | (scored.right == there[1]))
            rows += own[np.argsort(-scored.log_odds[own], kind="stable")][:REASONS].tolist()
        return scored.chosen(np.array(rows, dtype=np.int64))

    def _examples(
        self, left: Records, right: Records, pairs: ScoredPairs, values: np.ndarray, threshold: float
    ) -> list[LinkExample]:
        """Pairs for the report, with their evidence and the operations of their first column; redacted, ids."""
        if self.redact:
            texts = [(left.ids[a], right.ids[b]) for a, b in zip(pairs.left, pairs.right, strict=True)]
        else:
            texts = [(left.columns[0][a], right.columns[0][b]) for a, b in zip(pairs.left, pairs.right, strict=True)]
        model, scripts = self.on[0].model, [None] * len(texts)
        if texts and can(model, Capability.ALIGN) and not self.redact:
            turned = is_reversed(model, left.columns[0])
            scripts = model.align_all([(b, a) for a, b in texts] if turned else texts)
        return [
            LinkExample(*pair, float(probability), bool(probability + ROUNDING >= threshold), script, own)
            for pair, probability, script, own in zip(texts, pairs.probabilities, scripts, values, strict=True)
        ]

    def _identity(self) -> Mapping[str, Any]:
        """What makes it the same job: all that the output depends on."""
        inputs = [Path(one) for one in (self.left, self.right, self.labels) if one is not None]
        plain = ("id", "learn", "k", "threshold", "precision", "review", "assign", "redact", "shard_rows")
        return {
            "verb": "dedupe" if self.right is None else "link",
            "on": [{"column": one.name, "weight": one.weight, "model": model_hash(one.model)} for one in self.on],
            "exact": list(self.exact),
            "numeric": {one.name: one.scale for one in self.numeric},
            "weights": dict(self.weights),
            "by": self.by if self.by is None else list(self.by),
            "rules": list(self.rules),
            **({} if self.ranker is None else {"ranker": model_hash(self.ranker)}),
            **({"labels_complete": True} if self.labels_complete else {}),
            **{name: getattr(self, name) for name in plain},
            "inputs": [one._asdict() for one in describe_inputs(inputs)],
            "backend": wanted(),
            "versions": versions(),
        }
