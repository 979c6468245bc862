"""Models as functions of SQL: DuckDB calls them with Arrow vectors. Splink compares records by them."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import pyarrow as pa

from nsed.errors import ArgumentError, MissingExtraError
from nsed.jobs.choices import SqlScorer, answering

__all__ = ["register", "splink_comparison", "splink_level"]

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
