"""The description of the API (OpenAPI) with what only this server knows: the names of its models and its limits."""

from collections.abc import Iterable, Iterator
from typing import Any

from nsed.web.limits import Limits

REQUESTS = ("TransduceRequest", "PairsRequest", "ExplainRequest", "RulesRequest")


def tell_limits(schema: dict[str, Any], names: Iterable[str], limits: Limits) -> None:
    """Add to a description which models there are, and how long and how many strings may be."""
    records, served = schema["components"]["schemas"], list(names)
    for name in (*REQUESTS, "AskedPair"):
        for field, told in records[name]["properties"].items():
            for part in _alternatives(told):
                _limit(part, field, limits)
    for name in REQUESTS:
        records[name]["properties"]["model"]["enum"] = served


def _alternatives(told: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What a field may be: of one that may be left out, the other."""
    yield from told.get("anyOf", [told])


def _limit(part: dict[str, Any], field: str, limits: Limits) -> None:
    if field in ("source", "target") and part["type"] == "string":
        part["maxLength"] = limits.length
    if field in ("sources", "pairs") and part["type"] == "array":
        part |= {"minItems": 1, "maxItems": limits.items}
    if field == "sources":
        part["items"]["maxLength"] = limits.length
    if field in ("nbest", "beam") and part["type"] == "integer":
        part["maximum"] = getattr(limits, field)
