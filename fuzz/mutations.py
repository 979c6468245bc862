"""Mutations of inputs, for where there is no atheris: blind to coverage, but quick, and the same for the same seed."""

from collections.abc import Callable, Iterator, Sequence
from random import Random

MOST = 8
"""Mutations of one input at most."""
ODD_BYTES = (0, 9, 10, 13, 32, 34, 39, 44, 45, 46, 58, 61, 91, 93, 123, 125, 127, 128, 0xBF, 0xC3, 0xED, 0xEF, 255)
ODD_TEXTS = (
    b"\xef\xbb\xbf", b"\r\n", b"\xed\xa0\x80", b"\xcc\x81", b"\xe2\x80\x8d", b"\xf0\x9f\x87\xa8", b"1e999", b"-1", b"0",
    b"nan", b"Infinity", b"9" * 30, b"9" * 5000, b"\\ud800", b"\\u0000", b"null", b"true", b"\xe1\x84\x80\xe1\x85\xa1",
)  # fmt: skip
"""What parsers stumble over: byte order marks, halves of characters, marks, numbers that are none, or too long."""


def inputs(seeds: Sequence[bytes], words: Sequence[bytes], random: Random, *, longest: int) -> Iterator[bytes]:
    """Inputs without end: first the seeds, then seeds changed here and there."""
    yield from seeds
    known, texts = list(seeds) or [b""], [*words, *ODD_TEXTS]
    while True:
        yield mutated(random.choice(known), random, texts, known)[:longest]


def mutated(content: bytes, random: Random, texts: Sequence[bytes] = ODD_TEXTS, others: Sequence[bytes] = ()) -> bytes:
    """Input with one to eight changes; `texts` are put in, and parts of `others`.

    >>> mutated(b"source: target", Random(2)) == mutated(b"source: target", Random(2)) != b"source: target"
    True
    """
    found = bytearray(content)
    for _ in range(random.randint(1, MOST)):
        random.choice(CHANGES)(found, random, texts, others or [content])
    return bytes(found)


Change = Callable[[bytearray, Random, Sequence[bytes], Sequence[bytes]], None]


def _span(found: bytearray, random: Random, most: int = 64) -> slice:
    start = random.randrange(len(found) + 1)
    return slice(start, start + min(random.randrange(most) + 1, random.randrange(most) + 1))


def _set_byte(found: bytearray, random: Random, texts: Sequence[bytes], others: Sequence[bytes]) -> None:
    if found:
        place = random.randrange(len(found))
        new = [random.randrange(256), random.choice(ODD_BYTES), found[place] ^ 1 << random.randrange(8)]
        found[place] = random.choice(new)


def _leave_out(found: bytearray, random: Random, texts: Sequence[bytes], others: Sequence[bytes]) -> None:
    del found[_span(found, random)]


def _repeat(found: bytearray, random: Random, texts: Sequence[bytes], others: Sequence[bytes]) -> None:
    part, place = found[_span(found, random)], random.randrange(len(found) + 1)
    found[place:place] = part * random.choice([1, 1, 2, 8])


def _insert(found: bytearray, random: Random, texts: Sequence[bytes], others: Sequence[bytes]) -> None:
    place = random.randrange(len(found) + 1)
    found[place : place + random.choice([0, 0, 1, 4])] = random.choice(texts)


def _splice(found: bytearray, random: Random, texts: Sequence[bytes], others: Sequence[bytes]) -> None:
    other = bytearray(random.choice(others))
    found[_span(found, random)] = other[_span(other, random, most=512)]


def _cut(found: bytearray, random: Random, texts: Sequence[bytes], others: Sequence[bytes]) -> None:
    if random.random() < 0.2:
        del found[random.randrange(len(found) + 1) :]


CHANGES: Sequence[Change] = (_set_byte, _set_byte, _leave_out, _repeat, _insert, _insert, _splice, _cut)
