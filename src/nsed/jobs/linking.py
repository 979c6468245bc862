"""Record linkage: records of two tables, or of one, that are the same; candidates, evidence, threshold, assignment.

Pairs of some records after the others are compared and committed as a shard: whenever the process is killed, it goes
on from there, to the same output. Which pairs become links is decided in the end, over all of them, shard by shard.
"""

import json
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast, get_args

import numpy as np

from nsed.capabilities import Capability, can
from nsed.errors import (
    ArgumentError,
    DataError,
    DoubtfulLinksWarning,
    MissingExtraError,
    UnknownSymbolWarning,
    warn,
)
from nsed.evaluate.matching import ThresholdPoint, best_f1, lowest_at_precision, threshold_at_precision
from nsed.jobs.assignment import (
    ROUNDING,
    Assignment,
    Choice,
    CrossFit,
    DecidedPairs,
    KnownLinks,
    LinkClusters,
    ScoredPairs,
    ScoredShards,
    assigned,
    read_clusters,
)
from nsed.jobs.blocking import RULES, PairFinder, RulePairs, generators_of, write_rule_pairs
from nsed.jobs.candidates import Candidates, Generator, is_reversed
from nsed.jobs.clustering import LinkMethod, has_infomap, tell_of_one_cluster
from nsed.jobs.link_report import (
    LinkExample,
    LinkFigures,
    LinkSummary,
    asked_pairs,
    link_examples,
    link_page,
    near_pairs,
)
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
from nsed.jobs.shards import (
    Position,
    ShardFolder,
    ShardInProgress,
    ShardPlan,
    check_unfinished,
    describe_inputs,
    model_hash,
    telling_what_is_kept,
)
from nsed.jobs.table_files import RowFormat, check_outputs, replacing, row_format, table_writer
from nsed.jobs.table_run import Warnings
from nsed.kernels.switch import wanted
from nsed.progress import Progress, silent
from nsed.text.readers.lines import STDIN
from nsed.train.run_folder import versions
from nsed.train.saved_model import replace_file

RECORDS_PER_SHARD = 4096
FLOOR = 1e-3
"""Probability below which no pair is looked at again, unless the threshold is lower."""


class LinkRun(NamedTuple):
    """What writes the shards of a linkage: it has found out what it needs to know of both tables."""

    finder: PairFinder
    comparisons: Comparisons
    names: Sequence[str]
    """Names of the evidence."""

    def write(self, plan: ShardPlan, shard: ShardInProgress) -> None:
        """Write the pairs of some records, and their evidence; of two with nothing in common, none."""
        rows = range(plan.start.row, plan.start.row + plan.rows)
        pairs = self.finder.of(rows)
        evidence = self.comparisons.evidence((pairs.left, pairs.right))
        common = evidence.any(axis=1)
        values = np.c_[evidence, pairs.search][common]
        left, right = (side[common].astype(np.int32) for side in (pairs.left, pairs.right))
        shard.write({"left": left, "right": right, **dict(zip(self.names, values.T, strict=True))}, len(left))
        shard.rows, shard.end = len(rows), Position(0, rows.stop, 0)


class LinkEngine(Protocol):
    """Who compares the records of a linkage, where this process does not."""

    device: str
    """Where models with a network run."""

    def compare(self, job: "LinkJob", folder: ShardFolder, plans: Sequence[ShardPlan]) -> None:
        """Write these shards of a job into its folder, in this order, by what `LinkJob.run_from_files` gives."""


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
    """Links of a record: one at most on either side, greedily; the best one of each record of the first table; all.
    Of one table a record is the same on either side."""
    labels: str | Path | None = None
    """Pairs of ids that are known links: all of the records in it. A record without any has a pair with label 0."""
    labels_complete: bool = False
    """Whether the labels have every link there is: records that they do not name have none."""
    why: Sequence[str] = ()
    """Ids of records whose pairs the report gives reasons for."""
    clusters: str | Path | None = None
    """File, for one table: all its records with the numbers of their clusters, also those that have no duplicate."""
    method: LinkMethod = "components"
    """How links of one table become clusters: all that chains of them connect; or `average` linkage or `infomap` within
    these, so that one wrong link joins no two large groups. Links between two clusters have none."""
    previous: str | Path | None = None
    """File of an earlier run, `clusters` of one table: clusters keep their numbers, see `keep_ids`. Its links do too,
    but do not name records without a duplicate, whose numbers change."""
    redact: bool = False
    """Leave all strings of records out of links, report and messages: ids and numbers only."""
    resume: bool = False
    overwrite: bool = False
    shard_rows: int = RECORDS_PER_SHARD
    engine: LinkEngine | None = field(default=None, compare=False)
    """Who compares the records: None, this process; or a cluster, see `nsed.spark.SparkEngine`, to the same output."""
    progress: Progress = field(default=silent, compare=False)

    def run(self) -> LinkSummary:
        """Link. Raises `ArgumentError` or `DataError` for what cannot be."""
        self.check()
        made = [f"{self.output}{ending}" for ending in ("", ".manifest.json", ".html")]
        if self.resume:
            check_unfinished(Path(self.output), self._parts)
        made += [] if self.review is None else [str(self.review_path)]
        check_outputs([*made, self.clusters], [self.left, self.right, self.labels, self.previous])
        with warnings.catch_warnings():
            if self.redact:
                warnings.simplefilter("ignore", UnknownSymbolWarning)  # it names symbols of the strings
            return self._run()

    def _run(self) -> LinkSummary:
        tables = self._tables()
        left, right = self._sides(tables)
        for name in self.why:
            if name not in left.ids and name not in right.ids:
                raise ArgumentError("--why", got=name, expected=f"a value of {self.id or 'a row, from 1'}")
        known = None if self.labels is None else KnownLinks(self.labels, left, right, all_known=self.labels_complete)
        if self.previous is not None:
            read_clusters(self.previous, left.ids)  # what is wrong with it is known before anything is compared
        folder = ShardFolder(self._parts, RowFormat.ARROW, name=str(self.output), header=True, headers=True)
        with folder.lock(), telling_what_is_kept(folder.name, lambda: folder.kept):
            folder.begin(self._identity(), resume=self.resume, overwrite=self.overwrite)
            self._write_rule_pairs(tables, folder)
            del tables
            self._compare(left, right, folder)
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
        self._check_columns()
        self._check_band()
        if self.clusters is not None:
            row_format(Path(self.clusters), argument="--clusters")
        self._check_clusters()
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
        if self.engine is not None and STDIN in {Path(self.left), Path(self.right or self.left)}:
            raise ArgumentError("--engine", got="a cluster, and standard input", expected="files that executors see")

    def _check_columns(self) -> None:
        """Check that no column is compared twice in the same way, which would count its evidence twice."""
        kinds = {"--on": [one.name for one in self.on], "--exact": self.exact}
        for name, columns in {**kinds, "--numeric": [one.name for one in self.numeric]}.items():
            twice = [column for column, count in Counter(columns).items() if count > 1]
            if twice:
                raise ArgumentError(name, got=f"{', '.join(twice)} more than once", expected="each column once")

    def _check_band(self) -> None:
        """Check the threshold, and that the review band ends there and not before it begins."""
        for name, value in (("--threshold", self.threshold), ("--review", self.review)):
            if value is not None and not 0 <= value <= 1:
                raise ArgumentError(name, got=value, expected="a probability, from 0 to 1")
        if self.review is not None and (self.precision is not None or not self._chooses):
            end = self._own_threshold() if self.precision is None else self.precision
            if self.review > end:
                what = "threshold" if self.precision is None else "precision"
                raise ArgumentError(
                    "--review", got=self.review, expected=f"less than the {what}, {end:g}, where it ends"
                )

    def _check_clusters(self) -> None:
        """Check what is said of clusters, which links of one table have."""
        if self.method not in get_args(LinkMethod):
            raise ArgumentError("--method", got=self.method, expected=f"one of {', '.join(get_args(LinkMethod))}")
        if self.method == "infomap" and not has_infomap():
            raise MissingExtraError("infomap", extra="cognates")
        given = {"clusters": self.clusters, "previous": self.previous, "method": self.method != "components" or None}
        for name, value in given.items():
            if self.right is not None and value is not None:
                raise ArgumentError(f"--{name}", got="two tables", expected="one: links of two are pairs")
        if self.previous is not None and self.id is None:
            raise ArgumentError("--previous", got="no --id", expected="--id COLUMN: it says which records are the same")

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
        try:
            return [read_table(path, self.on[0].name) for path in (self.left, self.right) if path is not None]
        except DataError as error:
            if not self.redact or error.line is None:
                raise
            what = error.reason.partition(": ")[0]  # what comes after it was found in the row
            raise DataError(error.path, f"{what}; what is there is left out, see --redact", line=error.line) from None

    def _records(self, table: Any, path: str | Path) -> Records:
        names, numeric = [one.name for one in self.on], [one.name for one in self.numeric]
        return Records.of(table, names, self.id, exact=self.exact, numeric=numeric, path=path)

    def _sides(self, tables: list[Any]) -> tuple[Records, Records]:
        left = self._records(tables[0], self.left)
        return left, left if self.right is None else self._records(tables[1], self.right)

    def _write_rule_pairs(self, tables: list[Any], folder: ShardFolder) -> None:
        """Write the pairs of the rules, if there are any, which a job that goes on has already."""
        if self.rules and not (folder.path / RULES).exists():
            second = tables[1] if len(tables) > 1 else None
            write_rule_pairs(tables[0], second, self.rules, folder.path, redact=self.redact)

    def _compare(self, left: Records, right: Records, folder: ShardFolder) -> None:
        """Compare the pairs of all records that are left to do, a shard after the other."""
        plans = self._plans(len(left), folder)
        if not plans:
            return
        if self.engine is not None:
            self.engine.compare(self, folder, plans)
            return
        run, telling = self._link_run(left, right, folder), Warnings()
        with self.progress("linking", sum(plan.rows for plan in plans)) as on_batch:
            for plan in plans:
                with folder.shard() as shard, telling.once():
                    run.write(plan, shard)
                on_batch(plan.rows)

    def _plans(self, total: int, folder: ShardFolder) -> list[ShardPlan]:
        """Shards of the records that are left to do."""
        starts = range(folder.position.row, total, self.shard_rows)
        return [
            ShardPlan(number, Position(0, row, 0), min(self.shard_rows, total - row))
            for number, row in enumerate(starts, start=len(folder.shards))
        ]

    def _link_run(self, left: Records, right: Records, folder: ShardFolder) -> LinkRun:
        reversed_ = is_reversed(self.on[0].model, left.columns[0])
        comparisons = Comparisons(left, right, on=self.on, numeric=self.numeric, reversed_=reversed_)
        generators, joined = self._generators()
        searched = {"k": self.k, "model": self.on[0].model, "ranker": self.ranker}
        candidates = Candidates(generators, **searched) if generators else None
        rules = RulePairs(folder.path / RULES) if self.rules else None
        finder = PairFinder(left, right, candidates, joined=joined, rules=rules)
        return LinkRun(finder, comparisons, self._evidence_names)

    def run_from_files(self, folder: ShardFolder) -> LinkRun:
        """What writes the shards of this job in another process, which reads the tables again."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the process that began the job has said what there is to say of them
            left, right = self._sides(self._tables())
        return self._link_run(left, right, folder)

    def with_models(self, change: Callable[[Any], Any]) -> "LinkJob":
        """The same job, each different model of it changed once: packed to be sent, say, or unpacked."""
        given = {id(one): one for one in (*(one.model for one in self.on), self.ranker) if one is not None}
        made = {key: change(one) for key, one in given.items()}
        ranker = None if self.ranker is None else made[id(self.ranker)]
        return replace(self, on=[one._replace(model=made[id(one.model)]) for one in self.on], ranker=ranker)

    def _finish(self, left: Records, right: Records, known: KnownLinks | None, shards: ScoredShards) -> LinkSummary:
        """Weigh the evidence, assign, choose the threshold, write links, manifest and report."""
        weights, crossed = self._weights(shards, known)
        scored = shards.scored(lambda shard: weights.log_odds(shard.values), self._floor())
        pairs = self._assigned(scored)
        decided = self._decided(pairs, known, self._held(shards, crossed, pairs))
        links, review = decided.between(decided.threshold), decided.between(decided.review, decided.threshold)
        clusters = None if self.right is not None else self._clusters(left, links, scored, decided.threshold)
        for path, some in ((Path(self.output), links), (self.review_path, review)):
            if some is links or self.review is not None:
                self._write(path, left, right, some, weights.contributions(shards.values(some.places)), clusters)
        self._tell_of_earlier_review()
        if clusters is not None:
            self._write_clusters(left, clusters)
        recall = None if known is None else shards.recall(known)
        named = dict(zip(weights.names, weights.weights.tolist(), strict=True)) | {"intercept": weights.intercept}
        counts = (len(left), len(right)), sum(len(one.left) for one in shards), len(links.left), len(review.left)
        summary = LinkSummary(*counts, decided.threshold, decided.at_threshold, recall, named, decided.folds)
        summary = summary._replace(clusters=None if clusters is None else clusters.counts)
        shown = decided.pairs.probabilities, links.left, links.right, decided.curve, weights
        examples, reasons = (
            self._examples(left, right, some, shards.values(some.places), decided.threshold)
            for some in (near_pairs(decided), asked_pairs(scored, left, right, self.why))
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
        return scored.chosen(assigned(scored, self.assign, alone=self.right is None))

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

    def _tell_of_earlier_review(self) -> None:
        """Warn of a review band that is not of these links. It is not removed: somebody may have labelled it."""
        path = self.review_path
        if self.review is None and path.is_file() and not (self.labels and Path(self.labels).samefile(path)):
            message = f"{path} is of an earlier run, and not of these links: remove it, or ask for a band (--review)"
            warn(DoubtfulLinksWarning(message))

    def _clusters(self, records: Records, links: ScoredPairs, scored: ScoredPairs, threshold: float) -> LinkClusters:
        """Cluster of each record, with the number of an earlier run where it has one."""
        before = None if self.previous is None else read_clusters(self.previous, records.ids)
        size, method = len(records), self.method
        found = LinkClusters.of(links, scored, size, threshold=threshold, method=method, before=before)
        tell_of_one_cluster(found.ids)
        return found

    def _write(
        self,
        path: Path,
        left: Records,
        right: Records,
        links: ScoredPairs,
        parts: np.ndarray,
        clusters: LinkClusters | None,
    ) -> None:
        one, other = links.left.tolist(), links.right.tolist()
        table: dict[str, Any] = {"id_a": [left.ids[a] for a in one], "id_b": [right.ids[b] for b in other]}
        for place, column in enumerate(self.on if not self.redact else ()):
            table[f"{column.name}_a"] = [left.columns[place][a] for a in one]
            table[f"{column.name}_b"] = [right.columns[place][b] for b in other]
        table |= {"probability": links.probabilities, "log_odds": links.log_odds}
        names = self._evidence_names if self.learn else evidence_names(self.on, self.exact, self.numeric)
        if len(names) > 1:
            table |= {name: parts[:, place] for place, name in enumerate(names)}
        if clusters is not None:
            table["cluster"] = clusters.of_both(links)
        with replacing(path) as beside, table_writer(beside, row_format(path)) as writer:
            writer.write(table)

    def _write_clusters(self, records: Records, clusters: LinkClusters) -> None:
        """Write the cluster of each record, if that is wanted."""
        if self.clusters is not None:
            path = Path(self.clusters)
            with replacing(path) as beside, table_writer(beside, row_format(path)) as writer:
                writer.write({"id": records.ids, "cluster": clusters.ids})

    def _describe(self, summary: LinkSummary, page: str) -> None:
        path = Path(self.output)
        content = {"job": self._identity(), "threshold": summary.threshold, **summary._asdict()}
        replace_file(path.with_name(path.name + ".manifest.json"), json.dumps(content, indent=1).encode())
        replace_file(path.with_name(path.name + ".html"), page.encode())

    def _examples(
        self, left: Records, right: Records, pairs: ScoredPairs, values: np.ndarray, threshold: float
    ) -> list[LinkExample]:
        """Pairs for the report; redacted, ids."""
        shown = (left.ids, right.ids) if self.redact else (left.columns[0], right.columns[0])
        texts = [(shown[0][a], shown[1][b]) for a, b in zip(pairs.left, pairs.right, strict=True)]
        model = None if self.redact else self.on[0].model
        return link_examples(texts, pairs, values, threshold, model, reversed_=is_reversed(self.on[0].model, shown[0]))

    def _identity(self) -> Mapping[str, Any]:
        """What makes it the same job: all that the output depends on."""
        files = (self.left, self.right, self.labels, self.previous)
        inputs = [Path(one) for one in files if one is not None]
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
            **({} if self.method == "components" else {"method": self.method}),
            **{name: getattr(self, name) for name in plain},
            "inputs": [one._asdict() for one in describe_inputs(inputs)],
            "backend": wanted(),
            **self._device(),
            "versions": versions(),
        }

    def _device(self) -> dict[str, str]:
        """Where networks run, which changes the last bit of a score."""
        networks = [one for one in (*(one.model for one in self.on), self.ranker) if hasattr(one, "network")]
        if not networks:
            return {}
        return {"device": str(networks[0].device) if self.engine is None else self.engine.device}
