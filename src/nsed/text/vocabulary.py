"""Symbols and their numbers."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from nsed.types import UNKNOWN

SPECIALS = ("<pad>", "<unk>", "<s>", "</s>")
"""The names of the first four numbers. A symbol of the text may look like one of them and still be another symbol."""


@dataclass(frozen=True)
class Vocabulary:
    """The symbols of one side. Numbers 0 to 3 are padding, unknown, start and end; symbols follow.

    They are in sorted order; those that a vocabulary is extended by come last.

    >>> vocabulary = Vocabulary.of(["b", "a", "b"])
    >>> vocabulary.encode(["a", "b", "z"])
    [4, 5, 1]
    >>> vocabulary.names[4], vocabulary.names[1]
    ('a', '<unk>')
    """

    symbols: tuple[str, ...]

    @classmethod
    def of(cls, symbols: Iterable[str], *, min_count: int = 1) -> "Vocabulary":
        """The vocabulary of all symbols given at least so often, each once."""
        return cls(tuple(sorted(_frequent(symbols, min_count))))

    def extended(self, symbols: Iterable[str], *, min_count: int = 1) -> "Vocabulary":
        """With the symbols that are new and given at least so often, after those that have their numbers already.

        >>> Vocabulary.of("bc").extended("bacd").symbols
        ('b', 'c', 'a', 'd')
        """
        return Vocabulary((*self.symbols, *sorted(_frequent(symbols, min_count) - set(self.symbols))))

    def __len__(self) -> int:
        return len(SPECIALS) + len(self.symbols)

    def __contains__(self, symbol: str) -> bool:
        return symbol in self._numbers

    def encode(self, symbols: Iterable[str]) -> list[int]:
        """Numbers of symbols; those never seen get the number of `<unk>`."""
        numbers = self._numbers
        return [numbers.get(symbol, UNKNOWN) for symbol in symbols]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The symbol of each number, or the name of a special one."""
        return (*SPECIALS, *self.symbols)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {symbol: number for number, symbol in enumerate(self.symbols, start=len(SPECIALS))}


def _frequent(symbols: Iterable[str], min_count: int) -> set[str]:
    if min_count == 1:
        return set(symbols)
    return {symbol for symbol, count in Counter(symbols).items() if count >= min_count}
