"""Vectorised tokenization: many strings to symbol numbers at once, with no step of Python per symbol.

All strings are joined, normalised and looked up together; the separator is a character that neither Unicode forms nor
case folding connect with its neighbours. What a grapheme cluster is, only strings with marks, joiners and the like are
asked one by one; all others have a cluster per code point. The readable twin is `encode_one_by_one`.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain, repeat

import numpy as np

from nsed.text.batch import EncodedStrings
from nsed.text.graphemes import is_plain, split_graphemes
from nsed.text.symbols import SymbolSplitter
from nsed.types import UNKNOWN

MANY = 1024
"""Strings from which on this is faster: the table of all code points takes a millisecond."""
SEPARATOR = "\0"
CHARACTERS = ("graphemes", "codepoints")
"""Kinds of symbols that are cut from whole strings; all others are cut from their tokens."""
LAST_PLAIN = 0x2000
"""Code point from which on none counts as plain."""
Numbers = Mapping[str, int]


def encode_one_by_one(texts: Sequence[str], splitter: SymbolSplitter, numbers: Numbers) -> EncodedStrings:
    """Encoded strings, as symbol numbers, each string for itself."""
    return EncodedStrings([numbers.get(symbol, UNKNOWN) for symbol in splitter.split(text)] for text in texts)


def encode_many(texts: Sequence[str], splitter: SymbolSplitter, numbers: Numbers) -> EncodedStrings:
    """Encoded strings, as symbol numbers; new symbols have that of `<unk>`."""
    joined = splitter.normal(SEPARATOR.join(texts))
    if not texts or joined.count(SEPARATOR) != len(texts) - 1:  # one of the strings has it
        return encode_one_by_one(texts, splitter, numbers)
    if splitter.kind in CHARACTERS:
        return _encode_characters(texts, joined, splitter, numbers)
    return _encode_tokens(joined, splitter, numbers)


def new_symbols(texts: Sequence[str], splitter: SymbolSplitter, numbers: Numbers) -> list[str]:
    """Out-of-vocabulary symbols of strings, each once, in sorted order."""
    joined, found = splitter.normal(SEPARATOR.join(texts)), set[str]()
    if splitter.kind not in CHARACTERS or joined.count(SEPARATOR) != len(texts) - 1:
        found.update(*map(splitter.split, texts))
    else:
        characters = "".join(map(chr, _different(_codes(joined)).tolist())).replace(SEPARATOR, "")
        if splitter.kind == "codepoints" or is_plain(characters):
            found.update(characters)
        else:
            found.update(*(text if is_plain(text) else split_graphemes(text) for text in joined.split(SEPARATOR)))
    return sorted(symbol for symbol in found if symbol not in numbers)


def _codes(joined: str) -> np.ndarray:
    """Code points of a string."""
    return np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def _different(codes: np.ndarray) -> np.ndarray:
    """Different code points; counting is faster than sorting."""
    return np.flatnonzero(np.bincount(codes))


def _encode_characters(texts: Sequence[str], joined: str, splitter: SymbolSplitter, numbers: Numbers) -> EncodedStrings:
    codes = _codes(joined)
    is_bound = codes == ord(SEPARATOR)
    bounds = np.flatnonzero(is_bound)
    starts = np.concatenate([[0], bounds + 1])
    lengths = np.concatenate([bounds, [len(codes)]]) - starts
    encoded = EncodedStrings.of_flat(_code_table(numbers)[codes[~is_bound]], lengths)
    if splitter.kind == "codepoints":
        return encoded
    different = _different(codes)
    odd = different[~_plain_codes()[np.minimum(different, LAST_PLAIN)]]
    if not len(odd):
        return encoded
    rows = np.unique(np.searchsorted(starts, np.flatnonzero(np.isin(codes, odd)), side="right") - 1)
    return encoded.replaced(rows, encode_one_by_one([texts[row] for row in rows.tolist()], splitter, numbers))


def _code_table(numbers: Numbers) -> np.ndarray:
    """Number of every code point."""
    table = np.full(0x110000, UNKNOWN, dtype=np.int32)
    for symbol, number in numbers.items():
        if len(symbol) == 1:
            table[ord(symbol)] = number
    return table


@cache
def _plain_codes() -> np.ndarray:
    """Whether a code point, next to others of the kind, is a grapheme cluster by itself; so is the separator."""
    return np.array([is_plain(chr(code)) or chr(code) == SEPARATOR for code in range(LAST_PLAIN)] + [False])


class _NumbersOfTokens(dict[str, tuple[int, ...]]):
    """Numbers of the symbols of tokens, their letters or phones, each token split once."""

    def __init__(self, splitter: SymbolSplitter, numbers: Numbers) -> None:
        super().__init__()
        self.splitter, self.numbers = splitter, numbers

    def __missing__(self, token: str) -> tuple[int, ...]:
        self[token] = tuple(self.numbers.get(symbol, UNKNOWN) for symbol in self.splitter.split_token(token))
        return self[token]


def _encode_tokens(joined: str, splitter: SymbolSplitter, numbers: Numbers) -> EncodedStrings:
    tokens = list(map(str.split, joined.split(SEPARATOR)))
    counts = np.fromiter(map(len, tokens), dtype=np.int64, count=len(tokens))
    every = chain.from_iterable(tokens)
    if splitter.kind == "tokens":
        flat = np.fromiter(map(numbers.get, every, repeat(UNKNOWN)), dtype=np.int32, count=int(counts.sum()))
        return EncodedStrings.of_flat(flat, counts)
    symbols = EncodedStrings(map(_NumbersOfTokens(splitter, numbers).__getitem__, every))
    ends = np.concatenate([[0], np.cumsum(counts)])
    return EncodedStrings.of_flat(symbols.flat, np.diff(symbols.starts[ends]))
