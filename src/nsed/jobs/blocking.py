"""Blocking: the pairs of records that are compared at all, by candidates of their strings, equal keys or SQL rules.

Rules are conditions on the columns of two records, `a` and `b`, which DuckDB joins, out of core where memory is short;
equal keys, `surname,postcode`, are the simplest. What several rules and generators find is united.
"""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from nsed.errors import ArgumentError, DataError, MissingExtraError
from nsed.jobs.candidates import Candidates, Generator, rank_of
from nsed.jobs.records import ROW, EqualStrings, Records, search_evidence
from nsed.jobs.vector_index import Ranked

MOST_PER_RECORD = 10
"""Pairs of a record at most, in multiples of k: equal strings are one candidate, and may be those of many records."""
RULES = "rules.parquet"
MEMORY = "1GB"
"""Memory that DuckDB may use before it goes to disk."""


class BlockedPairs(NamedTuple):
    """Pairs of records to compare, rows of both, and the evidence of the search, [pairs, 0 or 2]."""

    left: np.ndarray
    right: np.ndarray
    search: np.ndarray


def equal_keys(columns: str) -> str:
    """SQL rule of columns, separated by commas, that must be there and agree, as text: numbers agree with it.

    >>> print(equal_keys("born"))
    a."born"::VARCHAR = b."born"::VARCHAR AND a."born"::VARCHAR <> ''
    """
    names = [name.strip() for name in columns.split(",") if name.strip()]
    if not names:
        raise ArgumentError("--block", got=repr(columns), expected="columns, separated by commas: surname,postcode")
    keys = ['"{}"::VARCHAR'.format(name.replace('"', '""')) for name in names]
    return " AND ".join(f"a.{key} = b.{key} AND a.{key} <> ''" for key in keys)


def write_rule_pairs(
    left: pa.Table, right: pa.Table | None, rules: Sequence[str], folder: Path, *, redact: bool = False
) -> Path:
    """Write the pairs of rows that any rule joins, each once, by rows; of one table, those with the lower row first.

    Raises `ArgumentError` for a rule that DuckDB does not understand, or that fails on a record, which is not quoted if
    it is to be redacted; `DataError` for a disk that is full, `MissingExtraError` without DuckDB.
    """
    path = folder / RULES
    beside = path.with_name(f"{RULES}.part")
    settings = {"memory_limit": MEMORY, "threads": torch.get_num_threads(), "temp_directory": tempfile.gettempdir()}
    connection = _duckdb().connect(config=settings)
    try:
        for name, table in (("a", left), ("b", left if right is None else right)):
            connection.register(f"{name}_rows", _numbered(table))
            connection.execute(f"CREATE VIEW {name} AS SELECT * FROM {name}_rows")
        order = f" AND a.{ROW} < b.{ROW}" if right is None else ""
        joins = [f"SELECT a.{ROW} AS l, b.{ROW} AS r FROM a JOIN b ON ({rule}){order}" for rule in rules]
        pairs = f"SELECT DISTINCT l, r FROM ({' UNION ALL '.join(joins)}) ORDER BY l, r"
        with interruptible():
            connection.execute(f"COPY ({pairs}) TO '{str(beside).replace(chr(39), chr(39) * 2)}' (FORMAT parquet)")
    except _duckdb().IOException as error:
        raise DataError(path, f"cannot be written: {str(error).splitlines()[0]}") from None
    except _duckdb().Error as error:
        listed, said = " | ".join(rules), str(error).splitlines()[0]
        if redact and not isinstance(error, (_duckdb().ParserException, _duckdb().BinderException)):
            said = f"{said.partition(':')[0]}, whose text may quote records and is left out"
        raise ArgumentError("--rule", got=f"{listed}: {said}", expected="conditions on columns of a and b") from None
    finally:
        connection.close()
    beside.replace(path)
    return path


def _numbered(table: pa.Table) -> pa.Table:
    return table.append_column(ROW, pa.array(np.arange(len(table), dtype=np.int32)))


def _duckdb() -> Any:
    try:
        return import_module("duckdb")
    except ImportError:
        raise MissingExtraError("duckdb", extra="link") from None


@contextmanager
def interruptible() -> Iterator[None]:
    """Interruption of a query of DuckDB, which makes an error of it, as the `KeyboardInterrupt` that it was."""
    try:
        yield
    except RuntimeError as error:
        if "interrupted" not in str(error):
            raise
        raise KeyboardInterrupt from None


def table_candidates(
    queries: pa.Table, references: pa.Table, column: str, rules: Sequence[str], candidates: Candidates | None = None
) -> Ranked:
    """Candidates of the rows of two tables by rules, `a` the query and `b` the reference, with the score 1.

    Those of generators, which know the references' column, come first, with their own scores; none is there twice.
    """
    with tempfile.TemporaryDirectory() as folder:
        pairs = RulePairs(write_rule_pairs(queries, references, rules, Path(folder)))
    ruled = Ranked(pairs.left.astype(np.int64), pairs.right.astype(np.int64), np.ones(len(pairs.left)))
    if candidates is None:
        return ruled
    found = candidates.query(queries.column(column))
    both = Ranked(*(np.concatenate(columns) for columns in zip(found, ruled, strict=True)))
    _, first = np.unique(both.queries * max(len(references), 1) + both.references, return_index=True)
    kept = first[np.lexsort((first, both.queries[first]))]
    return Ranked(*(column[kept] for column in both))


class RulePairs:
    """Pairs of rows that rules have found, by the first of them."""

    def __init__(self, path: Path) -> None:
        table = pq.read_table(path)
        self.left, self.right = table.column("l").to_numpy(), table.column("r").to_numpy()

    def of(self, rows: range) -> tuple[np.ndarray, np.ndarray]:
        """Pairs whose first record is one of these."""
        part = slice(*np.searchsorted(self.left, [rows.start, rows.stop]))
        return self.left[part].astype(np.int64), self.right[part].astype(np.int64)


class PairFinder:
    """Finder of pairs to compare: candidates of strings, pairs of rules, or both.

    Of several text columns, candidates share n-grams of all of them; of learned operations, the first one counts.
    """

    def __init__(
        self, left: Records, right: Records, candidates: Candidates | None, *, joined: bool, rules: RulePairs | None
    ) -> None:
        self.alone, self.candidates, self.rules = left is right, candidates, rules
        self.texts = left.joined if joined else left.columns[0]
        if candidates is not None:
            search = right.joined if joined else right.columns[0]
            candidates.fit(search)
            self.equal = EqualStrings.of(search)

    def of(self, rows: range) -> BlockedPairs:
        """Pairs of some records of the first table; of one table, each has the lower row first."""
        found = [self._search(rows)] if self.candidates is not None else []
        if self.rules is not None:
            one, other = self.rules.of(rows)
            found.append(BlockedPairs(one, other, np.zeros((len(one), 0))))
        if len(found) == 1:
            return found[0]
        pairs = np.unique(np.concatenate([np.stack(one[:2], axis=1) for one in found]), axis=0)
        return BlockedPairs(pairs[:, 0], pairs[:, 1], np.zeros((len(pairs), 0)))

    def _search(self, rows: range) -> BlockedPairs:
        """Candidates: all records that have a candidate's string, with the evidence of one generator's scores."""
        assert self.candidates is not None
        k = self.candidates.k
        found = self.candidates.query(list(self.texts[rows.start : rows.stop]), k + self.alone)
        sizes = self.equal.sizes(found.references)
        one, scores = np.repeat(found.queries + rows.start, sizes), np.repeat(found.scores, sizes)
        other = self.equal.members(found.references)
        kept = one != other if self.alone else np.ones(len(one), bool)
        kept[kept] = rank_of(one[kept]) < MOST_PER_RECORD * k
        one, other, scores = one[kept], other[kept], scores[kept]
        several = len(self.candidates.generators_) > 1 or self.rules is not None
        search = np.zeros((len(one), 0)) if several else search_evidence(one, scores)
        return (
            BlockedPairs(np.minimum(one, other), np.maximum(one, other), search)
            if self.alone
            else (BlockedPairs(one, other, search))
        )


def generators_of(
    by: Sequence[Generator] | None, model: Any, *, columns: int, rules: bool
) -> tuple[list[Generator], bool]:
    """Generators that are wanted, none where rules are enough, and whether they see all columns joined."""
    if by is None and rules:
        return [], False
    chosen = Candidates(by, model=model).chosen_generators()
    joined = columns > 1 and not {"operations", "nbest", "vectors"} & set(chosen)
    return (["ngrams"] if by is None and joined else chosen), joined
