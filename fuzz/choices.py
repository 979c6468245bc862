"""Bytes read as decisions, for targets whose input is no file: a fuzzer that changes a byte changes a decision."""

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Choices:
    """Decisions, one after the other; where the bytes end, each is the first there is.

    >>> choices = Choices(bytes([7, 1, 200]))
    >>> choices.number(5), choices.pick("abc"), choices.chance(0.5), choices.number(9)
    (2, 'b', True, 0)
    """

    def __init__(self, content: bytes) -> None:
        self._content, self._place = content, 0

    def number(self, below: int) -> int:
        """Number from 0 on, below a limit."""
        size = max(1, (max(below - 1, 0).bit_length() + 7) // 8)
        return int.from_bytes(self.take(size), "little") % max(below, 1)

    def pick(self, among: Sequence[T]) -> T:
        """One of several."""
        return among[self.number(len(among))]

    def chance(self, share: float) -> bool:
        """Whether something happens that happens so often; where the bytes end, it does not."""
        return self.number(256) >= 256 * (1 - share)

    def take(self, size: int) -> bytes:
        """The next bytes as they are; fewer at the end."""
        taken = self._content[self._place : self._place + size]
        self._place += size
        return taken

    def rest(self) -> bytes:
        """All bytes that are left."""
        return self.take(len(self._content))


def damaged(choices: Choices, content: bytes) -> bytes:
    """Bytes with some of them changed, left out or repeated."""
    found = bytearray(content)
    if choices.chance(0.1):
        return content[: choices.number(len(content) + 1)]
    for _ in range(choices.pick([1, 1, 2, 4, 16])):
        place, size = choices.number(len(found) + 1), choices.pick([1, 1, 2, 4, 8])
        few = choices.pick([b"\xff", b"\0", b"\x7f", choices.take(1)]) * size
        kept = choices.pick([size, size, size, 0, 4 * size])  # in place of as many, inserted, or of more
        found[place : place + kept] = few
    return bytes(found)
