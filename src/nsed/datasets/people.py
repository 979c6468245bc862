"""Synthetic people: records with names and addresses, some of them twice with typing errors, as FEBRL makes them.

Names are made of syllables, common ones and rare ones; a suburb has its postcode. A duplicate has one to three errors:
a letter inserted, left out, put in another's place or exchanged with its neighbour, a value that is missing, given name
and surname in each other's place.
"""

from bisect import bisect
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import accumulate, combinations
from random import Random
from typing import NamedTuple

from nsed.errors import ArgumentError

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


FIELDS = Person._fields[2:]


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
    return Person(**values)  # type: ignore[arg-type]  # the number of the person stays one


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
