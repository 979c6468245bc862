"""DuckDB: models as functions of SQL, also for comparisons of Splink, and clusters of tables of links of any size."""

import math
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from glob import escape, glob
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
import pyarrow as pa

from nsed.errors import ArgumentError, DataError, MissingExtraError, UnknownIdWarning, warn
from nsed.jobs.assignment import ROUNDING
from nsed.jobs.blocking import interruptible
from nsed.jobs.choices import SqlScorer, answering
from nsed.jobs.clustering import LARGEST_NUMBER, LinkMethod, cluster_links, has_infomap, tell_of_large_cluster
from nsed.jobs.table_files import check_outputs, replacing, row_format, table_writer
from nsed.progress import Progress, silent
from nsed.train.split import UnionFind

__all__ = ["TableClusters", "cluster_files", "cluster_table", "register", "splink_comparison", "splink_level"]

THRESHOLDS = (0.9, 0.5)


TYPES = {"match": ("BOOLEAN", pa.bool_()), "transduce": ("VARCHAR", pa.string())}
"""Types of answers that are no numbers, as DuckDB and Arrow call them."""


def register(connection: Any, name: str, model: Any, *, scorer: SqlScorer = "score") -> None:
    """Register a model as a scalar function of two strings, source and target: its `score` or its `probability`.

    With `scorer="match"` the function says whether they match, with `"transduce"` it is one of a single string, and
    gives its best target. It takes whole vectors of strings (Arrow). What is NULL has no score: the answer is NULL. The
    model stays in memory as long as the connection has the function; `connection.remove_function(name)` removes it.

    Raises `ArgumentError` for a model that has no such answers, and for a name that is taken.
    """
    answer, given = answering(model, scorer), ["VARCHAR"] * (1 if scorer == "transduce" else 2)
    called, kind = TYPES.get(scorer, ("DOUBLE", pa.float64()))

    def of_one(sources: pa.ChunkedArray) -> pa.Array:
        return pa.array(answer(sources), kind)

    def of_two(sources: pa.ChunkedArray, targets: pa.ChunkedArray) -> pa.Array:
        return pa.array(answer(sources, targets), kind)

    function = of_one if scorer == "transduce" else of_two
    try:
        connection.create_function(name, function, given, called, type="arrow")
    except Exception as error:
        if "already created" not in str(error):
            raise
        advice = f"Remove the other one first: connection.remove_function({name!r})."
        raise ArgumentError("name", got=repr(name), expected="a name that is free", advice=advice) from None


def splink_level(column: str, function: str, threshold: float) -> Any:
    """Splink comparison level: records whose column has at least this score by a registered function.

    Raises `MissingExtraError` without Splink.

    >>> splink_level("name", "name_sim", 0.9).get_comparison_level("duckdb").sql_condition
    'name_sim("name_l", "name_r") >= 0.9'
    """
    condition = f'{function}("{column}_l", "{column}_r") >= {float(threshold)!r}'
    return _splink("comparison_level_library").CustomLevel(condition, f"{function} of {column} >= {threshold}")


def splink_comparison(column: str, function: str, thresholds: Sequence[float] = THRESHOLDS) -> Any:
    """Splink comparison of a column: nothing known, equal, a level for each threshold of a function, anything else.

    Thresholds are probabilities, if the function was registered as one, and come in any order, the highest counts
    first. The function sees the records in Splink's order: a model of both directions, a Matcher with one alphabet
    say, is the right one. Raises `MissingExtraError` without Splink.
    """
    levels = _splink("comparison_level_library")
    falling = sorted(thresholds, reverse=True)
    between = [splink_level(column, function, threshold) for threshold in falling]
    listed = [levels.NullLevel(column), levels.ExactMatchLevel(column), *between, levels.ElseLevel()]
    described = f"{function} of {column} at {', '.join(map(str, falling))}"
    return _splink("comparison_library").CustomComparison(listed, column, described)


def _splink(module: str) -> Any:
    try:
        return import_module(f"splink.{module}")
    except ImportError:
        raise MissingExtraError("splink", extra="link") from None


# --- Clusters of links ------------------------------------------------------------------------------------------------

ROWS = 2**17
"""Rows that DuckDB and the union-find hand each other at a time."""
MEMORY = "1GB"
"""Memory that DuckDB may use for files before it goes to disk."""
MATCH = "match"
"""Column of decisions, as `nsed match` writes it: rows with 0 are no links."""
IDS, FOUND, NUMBERS, BEFORE, KEPT = (f"_nsed_{name}" for name in ("ids", "found", "numbers", "before", "kept"))
"""Temporary tables: ids in rising order; their clusters; these on the way to DuckDB; an earlier run's; kept numbers."""
ARROW, PACKED = (".arrow", ".feather"), (".gz", ".zst")
PLAIN = "header = true, all_varchar = true, comment = '', skip = 0"
"""Texts have no comments, which DuckDB would see in ids that begin with #, and begin with their header."""
READERS = {
    ".parquet": "read_parquet({})",
    **dict.fromkeys((".json", ".jsonl"), "read_json({}, format = 'newline_delimited')"),
    ".csv": "read_csv({}, " + PLAIN + """, quote = '"', escape = '"')""",
    **dict.fromkeys((".tsv", ".txt"), "read_csv({}, " + PLAIN + r", quote = '', escape = '', delim = '\t')"),
}
"""What DuckDB reads files with, by their endings; ids in text are text."""
INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
LARGE_INTEGERS = ("UBIGINT", "HUGEINT")
FLOATS = ("FLOAT", "DOUBLE")
TABLES = ("links", "records", "previous")


class TableClusters(NamedTuple):
    """Counts of a clustering: records, rows that are links, clusters, the records of the largest one.

    `since` counts what has become of the clusters of an earlier run, see `nsed.jobs.KeptIds.counts`.

    >>> TableClusters(records=5, links=2, clusters=3, largest=3).since
    {}
    """

    records: int
    links: int
    clusters: int
    largest: int
    since: Mapping[str, int] = {}


def cluster_table(
    connection: Any,
    links: str | Path,
    *,
    columns: tuple[str, str] = ("id_a", "id_b"),
    probability: str = "probability",
    threshold: float | None = None,
    method: LinkMethod = "components",
    records: str | Path | None = None,
    id_column: str = "id",
    previous: str | Path | None = None,
    output: str = "clusters",
    overwrite: bool = False,
    progress: Progress = silent,
) -> TableClusters:
    """Cluster the records that links connect, into a new table `output` of `id` and `cluster`, of any number of links.

    Links, like `records` and `previous`, are a table or view of the connection, a query (`SELECT ...`), or files: the
    name, or a glob, of Parquet, CSV, TSV, JSON lines or Arrow. Two `columns` are ids, text or numbers. With a
    `threshold`, links are rows whose `probability` is at least that; without one, rows whose column `match` says so, as
    `nsed match` writes it; where there is no such column, all. Every id of the table has a cluster, also without a
    link, and so has every id of `records`. DuckDB makes ids numbers, out of core where its `memory_limit` is short, and
    streams links into a union-find, which keeps one number per record.

    Clusters are numbered from 1 in the order of their first ids, ids sorted as their type is, text by its bytes: the
    same whatever the order of rows and the number of threads. With `previous`, a table of `id` and `cluster`, clusters
    keep their numbers, by the rules of `nsed.jobs.keep_ids`. The methods `average` and `infomap` divide what links
    connect by the probabilities of all pairs of the table, of which several of two records count as the highest.

    Raises `ArgumentError` for what cannot be read, missing ids, and an output that is there, unless `overwrite`.

    >>> import duckdb
    >>> with duckdb.connect() as connection:
    ...     rows = "VALUES ('b', 'd', 0.9), ('d', 'e', 0.8), ('a', 'c', 0.2)"
    ...     query = f"SELECT * FROM ({rows}) t(id_a, id_b, probability)"
    ...     print(cluster_table(connection, query, threshold=0.5).clusters, connection.table("clusters").fetchall())
    3 [('a', 1), ('b', 2), ('c', 3), ('d', 2), ('e', 2)]
    """
    _check_method(method, threshold)
    if not overwrite and _is_there(connection, output):
        advice = "Give another name, or overwrite=True."
        raise ArgumentError("output", got=f"{output!r}, which is there", expected="a new table", advice=advice)
    with _temporary(connection):
        tables = _Tables.of(connection, links, columns, records, id_column, previous)
        pairs = tables.pairs(probability, threshold)
        known = tables.number_ids(pairs)
        found, total = _united(connection, pairs, known, progress)
        _store(connection, found)
        if method != "components" and threshold is not None:
            _divide(connection, found, pairs, method, threshold)
            _store(connection, found)
        sizes = f"SELECT count(*) AS records FROM {FOUND} GROUP BY cluster"
        clusters, largest = _row(connection, f"SELECT count(*), coalesce(max(records), 0) FROM ({sizes})")
        since = tables.keep_numbers() if previous is not None else {}
        _write(connection, output, kept=previous is not None, overwrite=overwrite)
    tell_of_large_cluster(largest, known)
    return TableClusters(known, total, clusters, largest, since)


def cluster_files(
    links: str | Path, output: str | Path, *, memory: str = MEMORY, progress: Progress = silent, **options: Any
) -> TableClusters:
    r"""Cluster links of files into a file, Parquet, Arrow, TSV, CSV or JSON lines, see `cluster_table`.

    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "links.tsv").write_text("id_a\tid_b\n5\t2\n7\t8\n")
    >>> made = cluster_files(folder / "links.tsv", folder / "clusters.tsv")
    >>> (folder / "clusters.tsv").read_text().splitlines()
    ['id\tcluster', '2\t1', '5\t1', '7\t2', '8\t2']
    """
    path = Path(output)
    form = row_format(path, argument="--output")
    read = [one for one in (links, options.get("records"), options.get("previous")) if one is not None]
    found = [sorted(glob(_pattern(one))) for one in read]
    for one, files in zip(read, found, strict=True):
        if not files:
            raise DataError(one, "no such file: expected one, or a glob of some")
    check_outputs([path], [file for files in found for file in files])
    with tempfile.TemporaryDirectory() as folder, _connected(folder, memory) as connection:
        counts = cluster_table(connection, links, progress=progress, **options)
        with replacing(path) as beside, table_writer(beside, form) as writer:
            for ids, numbers in _columns(connection, "SELECT id, cluster FROM clusters"):
                writer.write({"id": ids, "cluster": numbers})
    return counts


@contextmanager
def _connected(folder: str, memory: str) -> Iterator[Any]:
    """Connection of its own to DuckDB, which spills to a folder."""
    try:
        duckdb = import_module("duckdb")
    except ImportError:
        raise MissingExtraError("duckdb", extra="link") from None
    try:
        connection = duckdb.connect(config={"memory_limit": memory, "temp_directory": folder})
    except duckdb.Error as error:
        got, advice = f"{memory!r}: {_said(error)}", "Say 500MB, 4GB or the like."
        raise ArgumentError("--memory", got=got, expected="an amount of memory", advice=advice) from None
    with connection:
        try:
            with interruptible():
                yield connection
        except (duckdb.IOException, duckdb.OutOfMemoryException) as error:
            message = f"DuckDB cannot go on: {_said(error)}; give it more memory (--memory), or room on the disk"
            raise DataError(tempfile.gettempdir(), message) from None


def _said(error: Exception) -> str:
    """First line of what DuckDB says, and of a text, whose row has other fields than the header, that it has."""
    first, *others = str(error).splitlines()
    if "Error when sniffing" in first:
        return "no such text: a row has another number of fields than the header, most likely"
    return " ".join([first, *(one for one in others if one.startswith("Expected Number of Columns"))])


def _check_method(method: LinkMethod, threshold: float | None) -> None:
    if method not in get_args(LinkMethod):
        raise ArgumentError("method", got=method, expected=f"one of {', '.join(get_args(LinkMethod))}")
    if method == "infomap" and not has_infomap():
        raise MissingExtraError("infomap", extra="cognates")
    if method != "components" and threshold is None:
        raise ArgumentError("threshold", got="none", expected=f"a number: {method} looks at pairs on either side of it")
    if threshold is not None and not math.isfinite(threshold):
        raise ArgumentError("threshold", got=threshold, expected="a finite number")


@contextmanager
def _temporary(connection: Any) -> Iterator[None]:
    """Temporary tables of a clustering are gone when it ends, however it ends."""
    try:
        yield
    finally:
        for name in (IDS, FOUND, BEFORE, KEPT):
            with suppress(Exception):  # not made, or the transaction has failed
                connection.execute(f"DROP TABLE IF EXISTS temp.{name}")
        for name in (NUMBERS, *map(_files_view, TABLES)):
            with suppress(Exception):  # not registered
                connection.unregister(name)


class _Tables(NamedTuple):
    """Tables of a clustering, as SQL names them, and the type that ids of all of them have."""

    connection: Any
    links: str
    columns: tuple[str, str]
    records: str | None
    id_column: str
    previous: str | None
    kind: str

    @classmethod
    def of(
        cls,
        connection: Any,
        links: str | Path,
        columns: tuple[str, str],
        records: str | Path | None,
        id_column: str,
        previous: str | Path | None,
    ) -> "_Tables":
        """Tables that are there, with the columns that they need. Raises `ArgumentError`."""
        wanted = {"links": (links, columns), "records": (records, (id_column,)), "previous": (previous, ("id",))}
        named: dict[str, str | None] = {}
        types: dict[str, str] = {}
        for name, (given, ids) in wanted.items():
            named[name] = None if given is None else _relation(connection, given, name)
            if given is not None:
                own = _types(connection, str(named[name]), name)
                _check_columns(name, own, ids if name != "previous" else ("id", "cluster"))
                types |= {f"{one} of {name}": own[one] for one in ids}
        return cls(
            connection, str(named["links"]), columns, named["records"], id_column, named["previous"], _kind(types)
        )

    def pairs(self, probability: str, threshold: float | None) -> str:
        """Pairs as a subquery: ids `a` and `b`, probability `p`, and whether they are `linked`. None is missing."""
        types = _types(self.connection, self.links, "links")
        one, other = (self._id(name) for name in self.columns)
        value = "NULL::DOUBLE"
        if threshold is not None:
            _check_columns("links", types, (probability,))
            value = f"CAST({_quoted(probability)} AS DOUBLE)"
        decided = f"CAST({_quoted(MATCH)} AS BOOLEAN)" if MATCH in types else "true"
        linked = decided if threshold is None else f"{value} >= {threshold - ROUNDING!r}"
        pairs = f"(SELECT {one} AS a, {other} AS b, {value} AS p, {linked} AS linked FROM {self.links})"
        unknown = "linked IS NULL" if threshold is None else "p IS NULL OR isnan(p)"
        with _telling("links", self.links):
            checks = f"count(*) FILTER (a IS NULL OR b IS NULL), count(*) FILTER ({unknown}), count(*)"
            nameless, undecided, rows = _row(self.connection, f"SELECT {checks} FROM {pairs}")
        _check_none(nameless, rows, "links", "an id of both records", " and ".join(self.columns))
        _check_none(undecided, rows, "links", f"a {MATCH if threshold is None else probability}", "it")
        return pairs

    def _id(self, name: str) -> str:
        """SQL of an id: NULL where it is empty or not a number."""
        column = f"CAST({_quoted(name)} AS {self.kind})"
        if self.kind in FLOATS:
            return f"CASE WHEN isnan({column}) THEN NULL ELSE {column} END"
        return f"nullif({column}, '')" if self.kind == "VARCHAR" else column

    def number_ids(self, pairs: str) -> int:
        """Give each id a number, its place among all in rising order, and count them."""
        given = f"SELECT a AS id FROM {pairs} UNION ALL SELECT b FROM {pairs}"
        if self.records is not None:
            given += f" UNION ALL SELECT {self._id(self.id_column)} FROM {self.records}"
            self._check_records(pairs)
        ids = f"SELECT id, row_number() OVER (ORDER BY id) - 1 AS n FROM (SELECT DISTINCT id FROM ({given}))"
        self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {IDS} AS {ids}")
        return int(_row(self.connection, f"SELECT count(*) FROM {IDS}")[0])

    def _check_records(self, pairs: str) -> None:
        """Check that records have ids, and that links are of records; warn where some are not."""
        own = f"(SELECT {self._id(self.id_column)} AS id FROM {self.records})"
        with _telling("records", str(self.records)):
            missing = "SELECT count(*) FILTER (id IS NULL), count(*) FROM"
            nameless, rows = _row(self.connection, f"{missing} {own}")
            _check_none(nameless, rows, "records", "an id", self.id_column)
            ends = f"ends AS MATERIALIZED (SELECT DISTINCT unnest([a, b]) AS id FROM {pairs}), own AS {own}"
            counted = "SELECT (SELECT count(*) FROM ends), count(*), min(id) FROM ends ANTI JOIN own USING (id)"
            ids, strange, one = _row(self.connection, f"WITH {ends} {counted}")
        if strange and strange == ids:
            expected = "links of records: ids of both, written in the same way"
            raise ArgumentError("records", got=f"no record that links name, {one!r} say", expected=expected)
        if strange:
            message = f"links name {strange:,} of {ids:,} records that are not in the table of records, {one!r} say"
            warn(UnknownIdWarning(f"{message}. They have clusters all the same"))

    def keep_numbers(self) -> dict[str, int]:
        """Give clusters the numbers of an earlier run, in a table of new and kept ones; counts of which are which."""
        self._read_before()
        both = f"{FOUND} f JOIN {BEFORE} b USING (id)"
        cells = f"SELECT f.cluster AS new, b.cluster AS old, count(*) AS n FROM {both} GROUP BY ALL"
        wanted = "SELECT * FROM cells QUALIFY row_number() OVER (PARTITION BY new ORDER BY n DESC, old) = 1"
        given = "SELECT * FROM wanted QUALIFY row_number() OVER (PARTITION BY old ORDER BY n DESC, new) = 1"
        shared = "SELECT count(*) FROM (SELECT 1 FROM cells GROUP BY {} HAVING count(*) > 1)"
        last = f"(SELECT coalesce(max(cluster), 0) FROM {BEFORE})"
        every = f"SELECT DISTINCT cluster AS new FROM {FOUND}"
        self.connection.execute(
            f"CREATE OR REPLACE TEMP TABLE {KEPT} AS WITH cells AS MATERIALIZED ({cells}), wanted AS ({wanted}), "
            f"given AS ({given}) SELECT new, old AS number, true AS kept FROM given UNION ALL "
            f"SELECT new, {last} + row_number() OVER (ORDER BY new), false FROM ({every}) ANTI JOIN given USING (new)"
        )
        split, merged = (
            _row(self.connection, f"WITH cells AS ({cells}) {shared.format(side)}")[0] for side in ("old", "new")
        )
        counted = f"SELECT count(*) FILTER (kept), count(*) FILTER (NOT kept) FROM {KEPT}"
        kept, new = _row(self.connection, counted)
        return {"kept": kept, "split": split, "merged": merged, "new": new}

    def _read_before(self) -> None:
        """Read the clusters of an earlier run. Raises `ArgumentError` for what is none."""
        number = "TRY_CAST(cluster AS BIGINT)"
        rows = f"(SELECT {self._id('id')} AS id, {number} AS cluster FROM {self.previous})"
        with _telling("previous", str(self.previous)):
            self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {BEFORE} AS SELECT DISTINCT id, cluster FROM {rows}")
        wrong = f"id IS NULL OR cluster IS NULL OR cluster <= 0 OR cluster >= {LARGEST_NUMBER}"
        both = f"SELECT count(*) FROM (SELECT id FROM {BEFORE} GROUP BY id HAVING count(*) > 1)"
        there = f"SELECT count(*) FROM {BEFORE} SEMI JOIN {IDS} USING (id)"
        faults = f"SELECT count(*) FILTER ({wrong}), ({both}), count(*), ({there}) FROM {BEFORE}"
        bad, twice, total, known = _row(self.connection, faults)
        expected = "what an earlier run wrote: each id once, with the number of its cluster, from 1"
        if bad or twice:
            got = f"{bad:,} rows without an id or a number from 1" if bad else f"{twice:,} ids in two clusters"
            raise ArgumentError("previous", got=got, expected=expected)
        if total and not known:
            raise ArgumentError("previous", got="no id that is in links or records", expected=expected)


def _relation(connection: Any, given: str | Path, argument: str) -> str:
    """SQL of a table, view or query, or of files."""
    text = str(given)
    ending = "".join(one for one in Path(text.lower()).suffixes[-2:] if one not in PACKED)
    ending = Path(f"x{ending}").suffix
    words = text.split(maxsplit=1)
    if isinstance(given, str) and words and words[0].lstrip("(").lower() in ("select", "with", "from", "values"):
        return f"({text.strip().rstrip(';')}\n)"  # a comment may be its end
    if ending in ARROW:
        return _arrow_files(connection, _pattern(text), argument)
    if ending in READERS:
        return READERS[ending].format("'{}'".format(_pattern(text).replace("'", "''")))
    if isinstance(given, Path):
        expected = f"a file that ends in {', '.join((*READERS, *ARROW))}"
        raise ArgumentError(argument, got=text, expected=expected)
    return text


def _pattern(name: str | Path) -> str:
    """Glob of files; the name of a file that is there means this file."""
    return escape(str(name)) if os.path.isfile(name) else str(name)


def _arrow_files(connection: Any, pattern: str, argument: str) -> str:
    """View of Arrow files, which DuckDB reads through pyarrow."""
    import_module("pyarrow.dataset")
    paths, view = sorted(glob(pattern)) or [pattern], _files_view(argument)
    try:
        connection.register(view, pa.dataset.dataset(paths, format="ipc"))
    except (OSError, pa.ArrowInvalid) as error:
        raise ArgumentError(argument, got=f"{pattern}: {_said(error)}", expected="Arrow files") from None
    return view


def _row(connection: Any, query: str) -> Any:
    """The only row of an answer; all of it is fetched, so that the connection is free again."""
    (row,) = connection.execute(query).fetchall()
    return row


def _files_view(argument: str) -> str:
    return f"_nsed_files_of_{argument}"


def _quoted(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))


def _is_there(connection: Any, output: str) -> bool:
    """Whether a table or view has this name, looked up as DuckDB would: a query that fails would end a transaction."""
    name, *schema = reversed(output.split("."))
    wanted = "list_contains(current_schemas(true), table_schema)"
    if schema:
        wanted = "(lower(table_schema) = lower($2) OR lower(table_catalog) = lower($2))"
    found = f"SELECT 1 FROM information_schema.tables WHERE lower(table_name) = lower($1) AND {wanted}"
    return bool(connection.execute(found, [name, *schema[:1]]).fetchall())


def _named(output: str) -> str:
    """SQL of the name of a table, perhaps with that of its schema."""
    return ".".join(_quoted(part) for part in output.split("."))


@contextmanager
def _telling(argument: str, relation: str) -> Iterator[None]:
    """What DuckDB says of a table that it cannot read, as an error of this argument."""
    duckdb = import_module("duckdb")
    try:
        yield
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.Error as error:
        expected = "a table, view or query of this connection, or files: Parquet, CSV, TSV, Arrow"
        named = re.sub(r"^read_\w+\('(.*?)'[,)].*", r"\1", relation).removesuffix("\n)")
        raise ArgumentError(argument, got=f"{named}: {_said(error)}", expected=expected) from None


def _types(connection: Any, relation: str, argument: str) -> dict[str, str]:
    """Types of all columns."""
    with _telling(argument, relation):
        rows = connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()
    return {row[0]: row[1] for row in rows}


def _check_columns(argument: str, types: Mapping[str, str], wanted: Sequence[str]) -> None:
    missing = [name for name in wanted if name not in types]
    if missing:
        there = f"columns that are there: {', '.join(types)}"
        raise ArgumentError(argument, got=f"no column {', '.join(map(repr, missing))}", expected=there)


def _check_none(count: int, rows: int, argument: str, what: str, where: str) -> None:
    if count:
        advice = f"Fill {where}, or leave these rows out: SELECT ... WHERE ... IS NOT NULL."
        raise ArgumentError(
            argument, got=f"{count:,} of {rows:,} rows without {what}", expected="one in each", advice=advice
        )


def _kind(types: Mapping[str, str]) -> str:
    """Type that all ids have: their own where it is one, of whole numbers a large one, else text."""
    whole = {kind for kind in types.values() if kind in (*INTEGERS, *LARGE_INTEGERS) or kind.endswith(",0)")}
    kinds = {"VARCHAR" if kind.startswith("ENUM") else kind for kind in types.values()}  # a dictionary of text
    if len(kinds) == 1:
        return kinds.pop()
    if kinds <= set(INTEGERS):
        return "BIGINT"
    if kinds <= whole:
        return "HUGEINT"
    if kinds & set(FLOATS) or any(kind.startswith("DECIMAL") for kind in kinds - whole):
        got = ", ".join(f"{name} is {kind}" for name, kind in types.items())
        expected = "ids of one type: a number with a fraction is no other column's id"
        raise ArgumentError("ids", got=got, expected=expected, advice="CAST(... AS BIGINT) in a query.")
    return "VARCHAR"


def _columns(connection: Any, query: str) -> Iterator[list[pa.Array]]:
    """Columns of the answer to a query, batch by batch, as DuckDB finds them."""
    relation = connection.sql(query)
    read = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader  # before DuckDB 1.5
    for batch in read(ROWS):
        yield batch.columns


def _batches(connection: Any, query: str) -> Iterator[tuple[np.ndarray, ...]]:
    for columns in _columns(connection, query):
        yield tuple(column.to_numpy(zero_copy_only=False) for column in columns)


def _united(connection: Any, pairs: str, records: int, progress: Progress) -> tuple[UnionFind, int]:
    """Components of the links of so many records, and the number of links, which stream out of DuckDB."""
    found, total = UnionFind(records), 0
    ends = f"JOIN {IDS} x ON x.id = a JOIN {IDS} y ON y.id = b"
    with progress("clustering", None) as on_batch:
        for left, right in _batches(connection, f"SELECT x.n, y.n FROM {pairs} {ends} WHERE linked"):
            found.link(left, right)
            total += len(left)
            on_batch(len(left))
    return found, total


def _store(connection: Any, found: UnionFind) -> None:
    """Hand the clusters of all ids to DuckDB."""
    numbers, schema = found.numbers(), pa.schema([("n", pa.int64()), ("cluster", pa.int64())])
    parts = ((start, numbers[start : start + ROWS].astype(np.int64)) for start in range(0, len(numbers), ROWS))
    batches = (pa.record_batch([np.arange(start, start + len(part)), part], schema=schema) for start, part in parts)
    connection.register(NUMBERS, pa.RecordBatchReader.from_batches(schema, batches))
    joined = f"SELECT i.id, i.n, c.cluster FROM {IDS} i JOIN {NUMBERS} c USING (n)"
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {FOUND} AS {joined}")
    connection.unregister(NUMBERS)


def _divide(connection: Any, found: UnionFind, pairs: str, method: LinkMethod, threshold: float) -> None:
    """Divide what links connect by a method, component by component, in the order of their numbers."""
    large = f"(SELECT cluster FROM {FOUND} GROUP BY cluster HAVING count(*) > 2)"
    within = (
        f"SELECT x.cluster, least(x.n, y.n) AS low, greatest(x.n, y.n) AS high, max(p) FROM {pairs} JOIN {FOUND} x "
        f"ON x.id = a JOIN {FOUND} y ON y.id = b AND y.cluster = x.cluster WHERE x.n <> y.n AND x.cluster IN {large} "
        "GROUP BY ALL ORDER BY ALL"
    )
    found.firsts()
    for own, low, high, similarities in _whole_components(_batches(connection, within)):
        if method == "infomap" and similarities.min() < 0:
            raise ArgumentError(
                "probability", got=similarities.min(), expected="no negative one with the method infomap"
            )
        records, places = np.unique(np.stack([low, high], axis=1), return_inverse=True)
        places, connected = places.reshape(-1, 2), np.zeros(len(records), np.int64)
        connected[places[:, 0]] = connected[places[:, 1]] = np.unique(own, return_inverse=True)[1] + 1
        cut = threshold - ROUNDING
        found.split(records, cluster_links(connected, places, similarities, threshold=cut, method=method))


def _whole_components(batches: Iterator[tuple[np.ndarray, ...]]) -> Iterator[tuple[np.ndarray, ...]]:
    """Batches of rows in the order of their component, cut between components; the first column is its number."""
    kept: list[tuple[np.ndarray, ...]] = []
    for batch in batches:
        cut = int(np.searchsorted(batch[0], batch[0][-1]))
        if kept and (cut or kept[-1][0][-1] != batch[0][-1]):
            yield tuple(map(np.concatenate, zip(*kept, tuple(column[:cut] for column in batch), strict=True)))
            kept = []
        elif cut:
            yield tuple(column[:cut] for column in batch)
        kept.append(tuple(column[cut:] for column in batch))
    if kept:
        yield tuple(map(np.concatenate, zip(*kept, strict=True)))


def _write(connection: Any, output: str, *, kept: bool, overwrite: bool) -> None:
    """Write the table of ids and clusters, in the order of ids."""
    number, join = ("k.number", f"JOIN {KEPT} k ON k.new = f.cluster") if kept else ("f.cluster", "")
    create = "CREATE OR REPLACE TABLE" if overwrite else "CREATE TABLE"
    rows = f"SELECT f.id, {number}::BIGINT AS cluster FROM {FOUND} f {join} ORDER BY f.n"
    connection.execute(f"{create} {_named(output)} AS {rows}")
