"""Records to be linked: columns of a table, the evidence of pairs of them, and its weights, given or learned."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from pyarrow import compute

from nsed.errors import ArgumentError, DataError, DoubtfulLinksWarning, warn
from nsed.evaluate.calibration import logistic_regression
from nsed.text import Pairs
from nsed.text.batch import MAX_CELLS
from nsed.text.readers import read_sources
from nsed.text.readers.batches import TABLES
from nsed.text.readers.delimited import ReadOptions
from nsed.text.readers.parquet import Rows, sound, sources_of_table
from nsed.text.texts import Texts

ROW = "nsed_row"
"""Column of a record's row, for rules in SQL."""
RowPairs: TypeAlias = tuple[np.ndarray, np.ndarray]
"""Rows of the first records and of the second ones of pairs."""
AGREE = 0.95
"""Share of matches whose exact columns agree, or whose numbers are near, where both are known."""
LONG = 250
"""Characters of a string from which on its symbols are counted, which may be fewer, or some for each character."""
LARGEST = 40.0
"""Log-odds at most, on either side of 0: no single column is beyond all doubt."""
MOST_DRAWN = 10_000
"""Pairs of records by chance that the usual difference of numbers is known from."""
SEARCH = ("search", "margin")
"""Evidence of the search for candidates: the score of a candidate, and by how much it is better than the best other
candidate of the same record, or worse than the best."""


@dataclass(frozen=True)
class Records:
    """Records of a table."""

    columns: list[Texts]
    """Text columns; what is missing is empty, see `with_missing`."""
    ids: list[str]
    exact: dict[str, Texts]
    """Columns whose values agree or not, missing ones as in texts."""
    numeric: dict[str, np.ndarray]
    """Columns of numbers; what is missing is not a number."""

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def of(
        cls,
        table: pa.Table,
        texts: Sequence[str],
        identity: str | None,
        *,
        exact: Sequence[str] = (),
        numeric: Iterable[str] = (),
        path: str | Path = "",
    ) -> "Records":
        """Records of a table. Raises `DataError` for columns and ids that are not there, ids given twice, no number."""
        wanted = [*texts, *filter(None, [identity]), *exact, *numeric]
        missing = [name for name in wanted if name not in table.column_names]
        if missing:
            there = ", ".join(table.column_names)
            raise DataError(path, f"no column {', '.join(map(repr, missing))}; there are {there}")
        ids = _strings(table, identity) if identity else [str(row + 1) for row in range(len(table))]
        if "" in ids:
            raise DataError(
                path, f"{identity} of record {ids.index('') + 1:,} is missing; expected one for each record"
            )
        if len(set(ids)) < len(ids):
            twice, count = Counter(ids).most_common(1)[0]
            raise DataError(path, f"{identity} {twice!r} names {count} records; expected one each")
        return cls(
            [with_missing(_strings(table, name)) for name in texts],
            ids,
            {name: with_missing(_strings(table, name)) for name in exact},
            {name: _numbers(table, name, path) for name in numeric},
        )

    @cached_property
    def joined(self) -> Texts:
        """All text columns of each record as one string, for candidates."""
        return Texts.of(" ".join(filter(None, row)) for row in zip(*self.columns, strict=True))


def read_table(path: str | Path, first: str) -> pa.Table:
    """All columns of a file of records, see `whole_numbers`. Raises `DataError` where there is no such first column."""
    texts, others = read_sources(path, column=first, missing=True)
    table = pa.table({first: pa.array(texts, pa.string())})
    if others is not None:
        for name in others.column_names:
            table = table.append_column(name, whole_numbers(others.column(name)))
    return table


def whole_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Column in which whole numbers are integers: pandas makes floats of them where one is missing.

    So 2031.0 of one table is the 2031 of another one, as an id, a postcode or a key.

    >>> whole_numbers(pa.chunked_array([[2031.0, None, float("nan")]])).to_pylist(), whole_numbers(
    ...     pa.chunked_array([[0.5, 1.0]])
    ... ).to_pylist()
    ([2031, None, None], [0.5, 1.0])
    """
    if not pa.types.is_floating(column.type):
        return column
    given = column.cast(pa.float64())
    known = compute.if_else(compute.is_nan(given), None, given)
    try:
        return known.cast(pa.int64())
    except pa.ArrowInvalid:  # one has a fraction, or is too large
        return column


def ids_as_text(table: pa.Table, names: Iterable[str]) -> pa.Table:
    """The same table with whole numbers of some columns, which have ids, as text."""
    for name in names:
        column = whole_numbers(table.column(name))
        if pa.types.is_integer(column.type):
            table = table.set_column(table.column_names.index(name), name, column.cast(pa.string()))
    return table


def read_ids(path: Path, column: str | None = None) -> list[str]:
    """Ids of a file, one per line, or in the column of a table that `read_sources` takes; they may be whole numbers."""
    ending = path.suffix.lower()
    if ending not in TABLES:
        return list(read_sources(path, column=column).texts)
    with sound(path):
        pieces = list(TABLES[ending](path, start=0, rows=2**16))
    if not pieces:  # which says so
        return list(read_sources(path, column=column).texts)
    table = pa.concat_tables(pieces)
    names = [name for name in table.column_names if table.column_names.count(name) == 1]
    options = ReadOptions(None if column is None else [column])
    return list(sources_of_table(Rows(path, ids_as_text(table, names)), options).content.texts)


def with_missing(texts: Iterable[str]) -> Texts:
    """Dictionary encoding in which the empty string is always there, and the first.

    >>> with_missing(["x", "", "x"]).rows.tolist()
    [1, 0, 1]
    """
    numbers = {"": 0}
    rows = np.array([numbers.setdefault(text, len(numbers)) for text in texts], dtype=np.int64)
    return Texts(list(numbers), rows)


def _strings(table: pa.Table, name: str) -> list[str]:
    return ["" if one is None else str(one) for one in table.column(name).to_pylist()]


def _numbers(table: pa.Table, name: str, path: str | Path) -> np.ndarray:
    values = np.full(len(table), np.nan)
    for row, text in enumerate(_strings(table, name)):
        try:
            values[row] = float(text) if text else np.nan
        except ValueError:
            raise DataError(path, f"{name} of record {row + 1} is no number; give such a column to --exact") from None
        if np.isinf(values[row]):
            message = (
                f"{name} of record {row + 1} is infinite, which is no difference; leave it empty where it is unknown"
            )
            raise DataError(path, message)
    return values


class EqualStrings(NamedTuple):
    """Records by their strings: the group of each record, where each group begins in `order`, its size."""

    groups: np.ndarray
    starts: np.ndarray
    counts: np.ndarray
    order: np.ndarray

    @classmethod
    def of(cls, texts: Sequence[str]) -> "EqualStrings":
        """Groups of equal strings.

        >>> EqualStrings.of(["x", "y", "x"]).members(np.array([0])).tolist()
        [0, 2]
        """
        groups = Texts.of(texts).rows
        counts = np.bincount(groups)
        return cls(groups, np.r_[0, np.cumsum(counts)][:-1], counts, np.argsort(groups, kind="stable"))

    def sizes(self, rows: np.ndarray) -> np.ndarray:
        """How many records have the string of each of these."""
        return np.asarray(self.counts[self.groups[rows]])

    def members(self, rows: np.ndarray) -> np.ndarray:
        """All records with the string of each of these, one after the other."""
        sizes = self.sizes(rows)
        within = np.arange(sizes.sum()) - np.repeat(np.r_[0, np.cumsum(sizes)][:-1], sizes)
        return np.asarray(self.order[np.repeat(self.starts[self.groups[rows]], sizes) + within])


class TextColumn(NamedTuple):
    """Text column to compare: its name in both tables, the model that compares it, and the weight of its log-odds.

    >>> from nsed.baselines import Levenshtein
    >>> names = Levenshtein.fit([("gray", "grey"), ("gray", "blue")], [1, 0])
    >>> TextColumn("name", names, weight=2.0).weight
    2.0
    """

    name: str
    model: Any
    weight: float = 1.0


class NumericColumn(NamedTuple):
    """Numeric column: its name in both tables, and the usual difference of two records of the same.

    >>> evidence_names([], ["city"], [NumericColumn("year_of_birth", scale=1.0)])
    ['agreement_city', 'nearness_year_of_birth']
    """

    name: str
    scale: float


class LinkEvidence(NamedTuple):
    """Evidence of candidate pairs: rows of both records, and what speaks for each pair, [pairs, names]."""

    left: np.ndarray
    right: np.ndarray
    values: np.ndarray


class EvidenceWeights(NamedTuple):
    """Weights of evidence: log-odds of a match are `values @ weights + intercept`."""

    names: tuple[str, ...]
    weights: np.ndarray
    intercept: float = 0.0

    @classmethod
    def given(cls, names: Sequence[str], weights: Mapping[str, float], *, prior: float = 0.0) -> "EvidenceWeights":
        """Evidence of columns, each with its weight, and the prior log-odds add up; the search does not count."""
        chosen = [0.0 if name in SEARCH else weights.get(name, 1.0) for name in names]
        return cls(tuple(names), np.array(chosen), prior)

    @classmethod
    def learned(cls, names: Sequence[str], values: np.ndarray, labels: np.ndarray) -> "EvidenceWeights":
        """Weights by logistic regression on pairs that are known to be links, or not.

        >>> values = np.array([[3.0, 0.1], [2.0, -0.1], [-1.0, 0.1], [-2.0, -0.1]])
        >>> learned = EvidenceWeights.learned(["name", "noise"], values, np.array([1, 1, 0, 0]))
        >>> (learned.log_odds(values) > 0).tolist()
        [True, True, False, False]
        """
        if labels.all() or not labels.any():
            kind = "all of them links" if labels.any() else "no link among them"
            expected = "links and others among them: more --labels, or a larger --k"
            raise ArgumentError("--learn", got=f"{len(labels):,} pairs of labelled records, {kind}", expected=expected)
        centre, spread = values.mean(axis=0), np.maximum(values.std(axis=0), 1e-9)
        features = np.c_[(values - centre) / spread, np.ones(len(values))]
        found = logistic_regression(features, labels.astype(float))
        weights = found[:-1] / spread
        return cls(tuple(names), weights, float(found[-1] - centre @ weights))

    def log_odds(self, values: np.ndarray) -> np.ndarray:
        """Log-odds of a match."""
        return np.asarray(self.contributions(values).sum(axis=1) + self.intercept)

    def contributions(self, values: np.ndarray) -> np.ndarray:
        """What each kind of evidence adds to the log-odds."""
        return np.asarray(values.astype(np.float64) * self.weights)


def search_evidence(queries: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Score and margin of candidates, [pairs, 2]; those of a query stand together. A single one is compared with 0.

    >>> search_evidence(np.array([0, 0, 0, 1]), np.array([5.0, 3.0, 4.0, 2.0]))[:, 1].tolist()
    [1.0, -2.0, -1.0, 2.0]
    """
    if not len(queries):
        return np.zeros((0, 2))
    order = np.lexsort((-scores, queries))
    starts = np.flatnonzero(np.r_[True, queries[order][1:] != queries[order][:-1]])
    sizes = np.diff(np.r_[starts, len(order)])
    best = scores[order][starts]
    second = np.where(sizes > 1, scores[order][np.minimum(starts + 1, len(order) - 1)], 0.0)
    other = np.repeat(best, sizes)
    other[starts] = second
    margin = np.empty(len(scores))
    margin[order] = scores[order] - other
    return np.stack([scores, margin], axis=1)


def prior_of(model: Any) -> float | None:
    """Prior log-odds that are part of a model's; None of models that do not know theirs, as those of older versions."""
    prior: float | None = getattr(getattr(model, "criterion", None), "prior", None)
    return prior


def prior_once(on: Sequence[TextColumn]) -> float:
    """Prior log-odds of a match, counted once: those of the first column's model.

    Where one does not know its own, which its log-odds then contain, it counts there, and here is 0.
    """
    priors = [prior_of(one.model) for one in on]
    known = [prior for prior in priors if prior is not None]
    return known[0] if len(known) == len(priors) else 0.0


def model_odds(model: Any, left: Texts, right: Texts, pairs: RowPairs, *, reversed_: bool = False) -> np.ndarray:
    """Calibrated log-odds of pairs of strings, less the prior where it is known: what the strings alone say.

    0 where a string is missing, or where the pair is too long to be compared, which is warned of. Equal pairs of
    strings are scored once.
    """
    size = len(right.different)
    keys, place = np.unique(left.rows[pairs[0]] * size + right.rows[pairs[1]], return_inverse=True)
    one, other = keys // size, keys % size
    lengths = [_lengths(model, side, turned) for side, turned in ((left, reversed_), (right, not reversed_))]
    there = (one > 0) & (other > 0) & ~_too_long(lengths[0][one], lengths[1][other])
    odds = np.zeros(len(keys))
    if there.any():
        sides = Texts(left.different, one[there]).compacted(), Texts(right.different, other[there]).compacted()
        logits = model.calibration.logits(model.score(Pairs(*(sides[::-1] if reversed_ else sides))))
        odds[there] = np.clip(logits - (prior_of(model) or 0.0), -LARGEST, LARGEST)
    return np.asarray(odds[place])


def _lengths(model: Any, side: Texts, as_targets: bool) -> np.ndarray:
    """Lengths of different strings in symbols of a model, as sources or targets; of short ones in characters."""
    found = np.array([len(text) for text in side.different], dtype=np.int64)
    if hasattr(model, "tokenizers"):  # controls have none
        tokenizer = model.tokenizers.target if as_targets else model.tokenizers.source
        for row in np.flatnonzero(found > LONG).tolist():
            found[row] = len(tokenizer.split(side.different[row]))
    return found


def _too_long(n: np.ndarray, m: np.ndarray) -> np.ndarray:
    """Which pairs of strings need a larger lattice than there may be; they are warned of."""
    cells = (n + 1) * (m + 1)
    found = cells > MAX_CELLS
    if found.any():
        most = int(cells.argmax())
        message = f"pairs of strings that are too long to be compared: {found.sum():,}, one has {n[most]:,} and"
        warn(DoubtfulLinksWarning(f"{message} {m[most]:,} symbols. They are no evidence"))
    return np.asarray(found)


class ColumnAgreement(NamedTuple):
    """Comparison of an exact column: log-odds of agreement and disagreement against chance (Fellegi-Sunter).

    >>> both = with_missing(["x", "y"]), with_missing(["x", ""])
    >>> ColumnAgreement.of(*both).odds(*both, (np.array([0, 1, 0]), np.array([0, 0, 1]))).round(2).tolist()
    [0.64, -2.3, 0.0]
    """

    same: np.ndarray
    """Number of each different value of the first table in the second one; -1 where it has it not."""
    agree: float
    differ: float

    @classmethod
    def of(cls, left: Texts, right: Texts) -> "ColumnAgreement":
        """Comparison of two columns: by chance, two records agree as often as the values of both tables do."""
        numbers = {text: place for place, text in enumerate(right.different)}
        same = np.array([numbers.get(text, -1) for text in left.different], dtype=np.int64)
        counts = [np.bincount(side.rows, minlength=len(side.different)).astype(float) for side in (left, right)]
        counts[0][0] = counts[1][0] = 0.0
        total = counts[0].sum() * counts[1].sum()
        if not total:
            raise ArgumentError("--exact", got="a column without values", expected="one that has some in both tables")
        together = float((counts[0] * np.where(same >= 0, counts[1][same], 0.0)).sum()) / total
        chance = min(max(together, 1e-6), AGREE)
        return cls(same, float(np.log(AGREE / chance)), float(np.log((1 - AGREE) / (1 - chance))))

    def odds(self, left: Texts, right: Texts, pairs: RowPairs) -> np.ndarray:
        """Log-odds of pairs; 0 where a value is missing."""
        one, other = left.rows[pairs[0]], right.rows[pairs[1]]
        return np.where((one > 0) & (other > 0), np.where(self.same[one] == other, self.agree, self.differ), 0.0)


def usual_difference(left: np.ndarray, right: np.ndarray) -> float:
    """Mean difference of two numbers by chance, in a sample of pairs."""
    stream = np.random.default_rng(0)
    known = [side[~np.isnan(side)] for side in (left, right)]
    if not (len(known[0]) and len(known[1])):
        raise ArgumentError("--numeric", got="a column without numbers", expected="one that has some in both tables")
    drawn = [stream.choice(side, MOST_DRAWN) for side in known]
    return float(np.abs(drawn[0] - drawn[1]).mean())


def nearness_odds(apart: np.ndarray, *, scale: float, usual: float) -> np.ndarray:
    """Log-odds of differences of numbers: exponential with the mean `scale`, against that of pairs by chance, `usual`.

    Most matches are near, the others differ as by chance: no difference is more than some evidence, none is 0.

    >>> nearness_odds(np.array([0.0, 40.0, np.nan]), scale=1.0, usual=20.0).round(1).tolist()
    [2.9, -3.0, 0.0]
    """
    usual = max(usual, 2 * scale)
    density = usual / scale * np.exp(np.clip(apart / usual - apart / scale, -LARGEST, LARGEST))
    return np.where(np.isnan(apart), 0.0, np.log(AGREE * density + 1 - AGREE))


class Comparisons:
    """Comparisons of all columns of two tables, or of one with itself; what they need to know is found out once."""

    def __init__(
        self,
        left: Records,
        right: Records,
        *,
        on: Sequence[TextColumn],
        numeric: Sequence[NumericColumn] = (),
        reversed_: bool = False,
    ) -> None:
        self.left, self.right, self.on, self.numeric, self.reversed_ = left, right, on, numeric, reversed_
        self.agreements = {name: ColumnAgreement.of(left.exact[name], right.exact[name]) for name in left.exact}
        self.usual = {one.name: usual_difference(left.numeric[one.name], right.numeric[one.name]) for one in numeric}

    def evidence(self, pairs: RowPairs) -> np.ndarray:
        """Evidence of pairs of records, [pairs, columns], in the order of `evidence_names`."""
        left, right = self.left, self.right
        found = [
            model_odds(column.model, left.columns[place], right.columns[place], pairs, reversed_=self.reversed_)
            for place, column in enumerate(self.on)
        ]
        found += [one.odds(left.exact[name], right.exact[name], pairs) for name, one in self.agreements.items()]
        for column in self.numeric:
            apart = np.abs(left.numeric[column.name][pairs[0]] - right.numeric[column.name][pairs[1]])
            found.append(nearness_odds(apart, scale=column.scale, usual=self.usual[column.name]))
        return np.stack(found, axis=1)


def evidence_names(on: Sequence[TextColumn], exact: Sequence[str], numeric: Sequence[NumericColumn]) -> list[str]:
    """Names of the evidence of columns, as the output has them."""
    texts = [f"log_odds_{one.name}" for one in on]
    return [*texts, *(f"agreement_{name}" for name in exact), *(f"nearness_{one.name}" for one in numeric)]
