"""Columns of answers, of the kind of the column that was asked about: pandas for pandas, polars for polars, Arrow.

No such library is imported: what was given has the classes.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

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
