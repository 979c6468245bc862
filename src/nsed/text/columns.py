"""Arrow interchange: columns and tables of any library in, columns of answers of the same kind out.

No such library is imported: of what is given only the interface is asked, and its classes make the answers, pandas for
pandas, polars for polars, Arrow for Arrow.
"""

from collections.abc import Iterable, Mapping, Sequence, Sized
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeGuard, runtime_checkable

import numpy as np
import pyarrow as pa

from nsed.errors import ArgumentError


@runtime_checkable
class ArrowStream(Protocol):
    """Arrow stream protocol (PyCapsule interface): tables and columns of pyarrow, polars, DuckDB and newer pandas."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


@runtime_checkable
class ArrowArray(Protocol):
    """Arrow array protocol (PyCapsule interface), in one piece."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> object: ...


@runtime_checkable
class PandasFrame(Protocol):
    """Pandas frame protocol: columns are had by their place."""

    @property
    def columns(self) -> Iterable[object]:
        """Column names."""

    @property
    def iloc(self) -> Any:
        """Positional indexer of rows and columns."""


@runtime_checkable
class LazyFrame(Protocol):
    """Lazy frame protocol: a query, as polars' `LazyFrame` is, which has rows once it is collected."""

    def collect(self) -> object:
        """Compute the frame."""


@runtime_checkable
class TypedColumn(Protocol):
    """Typed column protocol: knows the type of its elements, as pandas', polars' and numpy's do."""

    @property
    def dtype(self) -> object:
        """Element type."""


Column: TypeAlias = Iterable[object] | ArrowStream | ArrowArray
"""Strings or labels as callers have them, before they are checked: a list or any iterable, an Arrow array, a pandas or
polars Series, a numpy array."""

TableLike: TypeAlias = ArrowStream | PandasFrame | Mapping[str, Column]
"""Columns with names: an Arrow table, record batch or reader, a pandas or polars frame, a DuckDB relation, a dict."""

MANY = 2**14
"""Elements of a list that Arrow encodes faster than Python, even where its first array makes it load pandas."""


class NamedColumn(NamedTuple):
    """Named column, as the caller calls it."""

    name: str
    values: Column


def is_column(values: object) -> bool:
    """Column test: whether it is one column by its type, whatever it holds; lists are not, for they may hold rows."""
    if isinstance(values, np.ndarray):
        return values.ndim == 1
    return isinstance(values, pa.Array | pa.ChunkedArray | TypedColumn) and not isinstance(values, PandasFrame)


def refuse_lazy(values: object, name: str) -> None:
    """Raise `ArgumentError` for a lazy frame: nobody but the caller can say when a query is to be run."""
    if isinstance(values, LazyFrame) and not isinstance(values, ArrowStream | ArrowArray | Iterable):
        got = f"a {type(values).__name__}, whose rows are not computed yet"
        raise ArgumentError(name, got=got, expected="a frame or a column", advice="Collect it first: frame.collect().")


def is_table(values: object) -> TypeGuard[TableLike]:
    """Table test: whether it has columns with names; a dict has where its keys are strings."""
    if isinstance(values, Mapping):
        return isinstance(next(iter(values), None), str)
    return isinstance(values, PandasFrame) or (isinstance(values, ArrowStream) and not is_column(values))


def pick_columns(table: TableLike, roles: Sequence[str]) -> dict[str, NamedColumn]:
    """Select the table's columns that have one of these names; only they are read.

    The first two must be there. A table without them may have exactly two columns of other names, which are taken for
    them in their order. Raises `ArgumentError` with the names that there are.
    """
    if isinstance(table, PandasFrame):
        names = [str(name) for name in table.columns]
        return {role: NamedColumn(names[at], table.iloc[:, at]) for role, at in _places(names, roles).items()}
    if isinstance(table, Mapping):
        names, values = list(table), list(table.values())
        if any(isinstance(value, str) for value in values):
            advice = "If it leads from sources to targets, give its items: pairs.items()."
            raise ArgumentError("pairs", got="a dict of strings", expected="a dict of columns", advice=advice)
        return {role: NamedColumn(names[at], values[at]) for role, at in _places(names, roles).items()}
    try:
        batches = pa.RecordBatchReader.from_stream(table)
    except pa.ArrowInvalid:
        raise lone_column(table) from None
    return _pick_from_stream(batches, roles)


def _pick_from_stream(batches: pa.RecordBatchReader, roles: Sequence[str]) -> dict[str, NamedColumn]:
    places = _places(batches.schema.names, roles)
    wanted = list(places.values())
    schema = pa.schema([batches.schema.field(place) for place in wanted])
    read = pa.Table.from_batches((batch.select(wanted) for batch in batches), schema=schema)
    return {role: NamedColumn(schema.names[at], read.column(at)) for at, role in enumerate(places)}


def _places(names: Sequence[str], roles: Sequence[str]) -> dict[str, int]:
    """Column positions of the roles."""
    twice = [name for name in roles if names.count(name) > 1]
    if twice:
        raise ArgumentError("pairs", got=f"a table with {list(names)}", expected=f"{twice[0]!r} once")
    found = {role: names.index(role) for role in roles if role in names}
    plain = [name.strip().lower() for name in names]
    others = [place for place, name in enumerate(plain) if name not in roles]
    if len(others) == 2 and not set(roles[:2]) & set(plain):
        return dict(zip(roles[:2], others, strict=True)) | found
    missing = [role for role in roles[:2] if role not in found]
    if missing:
        advice = 'Choose source and target by df[["name_a", "name_b"]], or rename the columns.'
        got = f"a table with {list(names)}"
        raise ArgumentError("pairs", got=got, expected=f"columns {missing} too", advice=advice)
    return found


def to_arrow(column: Column) -> pa.Array | pa.ChunkedArray | None:
    """Arrow conversion of a column, zero-copy where it is Arrow's already; NaN is null.

    None for a short list, and where Arrow has no type for it: objects of several kinds, strings with half a surrogate
    pair.
    """
    try:
        if isinstance(column, pa.Array | pa.ChunkedArray):
            return column
        if isinstance(column, ArrowStream):
            return pa.chunked_array(column)
        values = column if isinstance(column, TypedColumn | ArrowArray) else list(column)
        return None if isinstance(values, list) and len(values) < MANY else pa.array(values, from_pandas=True)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return None


def is_arrow(column: object) -> bool:
    """Arrow test: whether it hands out its elements through Arrow."""
    return isinstance(column, pa.Array | pa.ChunkedArray | ArrowStream | ArrowArray)


def checked_column(column: object, name: str, *, expected: str = "a list of strings") -> Column:
    """Validated column, which can be read twice. Raises `ArgumentError` for a single string, a frame, or no column."""
    if isinstance(column, str):
        raise ArgumentError(name, got=repr(column), expected=expected)
    refuse_lazy(column, name)
    if isinstance(column, PandasFrame):
        raise not_one_column(name, column.columns)
    if isinstance(column, ArrowStream | ArrowArray):
        return column
    if not isinstance(column, Iterable):
        raise ArgumentError(name, got=f"{column!r} ({type(column).__name__})", expected=expected)
    return column if isinstance(column, Sized) else list(column)


def not_one_column(name: str, columns: Iterable[object]) -> ArgumentError:
    """Error for a table where a column is meant."""
    advice = 'Choose one of its columns, as in df["name"].'
    return ArgumentError(name, got=f"a table with {list(columns)}", expected="one column", advice=advice)


def lone_column(column: object) -> ArgumentError:
    """Error for a column where two are needed."""
    advice = 'Give sources and targets, two columns, or a table of both, as in df[["name_a", "name_b"]].'
    got = f"one column ({type(column).__name__})"
    return ArgumentError("pairs", got=got, expected="(source, target), two strings in each row", advice=advice)


def checked_strings(column: Column, name: str) -> list[str]:
    """Validated strings of a column, one by one. Raises `ArgumentError` at the first that is no string."""
    values = list(column) if isinstance(column, Iterable) else [column]
    strings = [value for value in values if isinstance(value, str)]
    if len(strings) < len(values):
        raise no_string(name, values)
    return strings


def encode_rows(column: Column) -> tuple[list[Any], np.ndarray]:
    """Dictionary encoding: the different values, null among them, and each row's code; all rows where Arrow cannot."""
    if isinstance(column, pa.Array | pa.ChunkedArray) and not pa.types.is_nested(column.type):
        kind = column.type
        plain = column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column
        encoded = plain.dictionary_encode(null_encoding="encode")
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.combine_chunks()
            encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
        return encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.int64)
    values = list(column) if isinstance(column, Iterable) else []
    return values, np.arange(len(values))


def no_string(name: str, values: Iterable[object], kind: str = "") -> ArgumentError:
    """Error for the first value that is no string, with its place and what can be done about it."""
    if kind:  # all of another type: one value says it, and there may be as many as nobody can hold
        first = next(iter(values))
        return ArgumentError(name, got=f"{first!r} at place 0{kind}", expected="a string", advice=_advice(first))
    everything = list(values)
    places = [place for place, value in enumerate(everything) if not isinstance(value, str)]
    value, advice = everything[places[0]], _advice(everything[places[0]])
    if 1 < len(places) < len(everything):
        advice += f" {rows_named(np.array(places))}."
    return ArgumentError(name, got=f"{value!r} at place {places[0]}", expected="a string", advice=advice)


SHOWN_ROWS = 10


def rows_named(rows: np.ndarray) -> str:
    """Row numbers in words, of many the first ones.

    >>> rows_named(np.arange(20))
    '20 rows have none: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...'
    """
    shown = ", ".join(map(str, rows[:SHOWN_ROWS].tolist()))
    return f"{len(rows):,} rows have none: {shown}{', ...' if len(rows) > SHOWN_ROWS else ''}"


def is_missing(value: object) -> bool:
    """Null test: whether it stands for no value, as None, NaN and pandas' own nulls do.

    >>> [is_missing(value) for value in (None, float("nan"), "nan", "")]
    [True, True, False, False]
    """
    return not isinstance(value, str) and str(value) in ("None", "nan", "<NA>", "NaT")


def _advice(value: object) -> str:
    if is_missing(value):
        return (
            "Leave rows without a string out, as with df.dropna() of pandas or df.drop_nulls() of polars, or fill "
            'them, as with df.fillna("") or df.fill_null("").'
        )
    if isinstance(value, bytes):
        return "Decode it first, as with value.decode()."
    if isinstance(value, tuple | list | np.ndarray):
        return "A column holds strings; pairs of them are one argument, sources and targets are two."
    return "Write it as a string first, as with str(value)."


AnswerColumn: TypeAlias = Any
"""Numbers or decisions, one for each pair: a numpy array; a Series or Arrow array, where pairs are of that kind."""


def column_like(given: object, values: np.ndarray | Sequence[Any], name: str) -> AnswerColumn:
    """Column of the kind of what was given, a column or a table, with these values; for any other kind, the values.

    A pandas Series has the index of what was given. Series have the name.

    >>> column_like(pa.array(["a", "b"]), np.array([1.0, 2.0]), "score").type
    DataType(double)
    >>> column_like(["a", "b"], [1.0, 2.0], "score")
    [1.0, 2.0]
    """
    if isinstance(given, pa.ChunkedArray | pa.Table):
        return pa.chunked_array([pa.array(values)])
    if isinstance(given, pa.Array | pa.RecordBatch):
        return pa.array(values)
    library, some = _library(given), _some_series(given)
    if library == "pandas" and some is not None:
        return type(some)(values, index=some.index, name=name)
    if library == "polars" and some is not None:
        return type(some)(name, values)
    return values


def _library(given: object) -> str:
    """Library that a column or table is of, by the class or one that it inherits from: pandas, polars, or no name."""
    roots = (kind.__module__.partition(".")[0] for kind in type(given).__mro__)
    return next((root for root in roots if root in ("pandas", "polars")), "")


def _some_series(given: Any) -> Any:
    """The Series itself, or the first one of a frame; None of what is neither, say a pandas Index."""
    kind = {one.__name__ for one in type(given).__mro__}
    if "Series" in kind:
        return given
    if "DataFrame" not in kind:
        return None
    return given.iloc[:, 0] if hasattr(given, "iloc") else given.to_series(0)
