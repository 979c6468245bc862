"""Tokenizers: how the strings of pairs become symbols, and symbols numbers; of many strings at once, vectorised.

Vectorised tokenization has no step of Python per symbol. All strings are joined, normalised and looked up together; the
separator is a character that neither Unicode forms nor case folding connect with its neighbours. What a grapheme
cluster is, only strings with marks, joiners and the like are asked one by one; all others have a cluster per code
point. The readable twin is `encode_one_by_one`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import chain, repeat

import numpy as np

from nsed.errors import ArgumentError, UnknownSymbolWarning, warn
from nsed.text.batch import DistinctPairs, EncodedStrings
from nsed.text.graphemes import is_plain, split_graphemes
from nsed.text.pairs import Pairs
from nsed.text.symbols import StringConfig, SymbolSplitter, kin_of
from nsed.text.texts import Texts
from nsed.text.visible import shown_kin, shown_symbols
from nsed.types import UNKNOWN

SPECIALS = ("<pad>", "<unk>", "<s>", "</s>")
"""Special symbols: the names of the first four numbers. A symbol of the text may look like one and still be another."""
MANY = 1024
"""Strings from which on vectorised tokenization is faster: the table of all code points takes a millisecond."""
ALIEN = 5
"""Unknown symbols from which on, if most are unknown, strings seem to be of another script than those of training."""
SEPARATOR = "\0"
CHARACTERS = ("graphemes", "codepoints")
"""Kinds of symbols that are cut from whole strings; all others are cut from their tokens."""
LAST_PLAIN = 0x2000
"""Code point from which on none counts as plain."""
Numbers = Mapping[str, int]


@dataclass(frozen=True)
class Vocabulary:
    """Vocabulary: the symbols of one side. Numbers 0 to 3 are padding, unknown, start and end; symbols follow.

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
        """Vocabulary of all symbols given at least so often, each once."""
        return cls(tuple(sorted(_frequent(symbols, min_count))))

    def extended(self, symbols: Iterable[str], *, min_count: int = 1) -> "Vocabulary":
        """Vocabulary extended by new symbols given at least so often, after those that have their numbers already.

        >>> Vocabulary.of("bc").extended("bacd").symbols
        ('b', 'c', 'a', 'd')
        """
        return Vocabulary((*self.symbols, *sorted(_frequent(symbols, min_count) - set(self.symbols))))

    def __len__(self) -> int:
        return len(SPECIALS) + len(self.symbols)

    def __contains__(self, symbol: str) -> bool:
        return symbol in self.numbers

    def encode(self, symbols: Iterable[str], *, kin: bool = False) -> list[int]:
        """Symbol numbers; those never seen get the number of `<unk>`, with `kin` that of known kin, if any."""
        symbols = [*symbols] if kin else symbols
        numbers = self.numbers_with(self.kin(symbols)) if kin else self.numbers
        return [numbers.get(symbol, UNKNOWN) for symbol in symbols]

    def kin(self, symbols: Iterable[str]) -> dict[str, str]:
        """Nearest known symbol of each new one that has any, see `kin_of`: one symbol for one symbol.

        >>> Vocabulary.of("ae").kin(["a", "é", "Ạ", "ł", "ae"])
        {'é': 'e', 'Ạ': 'a'}
        """
        new = dict.fromkeys(symbol for symbol in symbols if symbol not in self.numbers)
        near = {symbol: next(filter(self.numbers.__contains__, kin_of(symbol)), None) for symbol in new}
        return {symbol: known for symbol, known in near.items() if known is not None}

    def numbers_with(self, kin: Mapping[str, str]) -> "Numbers":
        """Number of each symbol, and of new ones that of their kin."""
        return {**self.numbers, **{new: self.numbers[known] for new, known in kin.items()}} if kin else self.numbers

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Symbol names by number, special ones included."""
        return (*SPECIALS, *self.symbols)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Number of each symbol; special ones are no symbols."""
        return {symbol: number for number, symbol in enumerate(self.symbols, start=len(SPECIALS))}


def _frequent(symbols: Iterable[str], min_count: int) -> set[str]:
    if min_count == 1:
        return set(symbols)
    return {symbol for symbol, count in Counter(symbols).items() if count >= min_count}


@dataclass(frozen=True)
class Tokenizer:
    """Tokenizer: cuts strings into symbols and looks them up; `side` is its name in warnings.

    >>> tokenizer = Tokenizer.learned("source", SymbolSplitter(), ["gray", "grey"])
    >>> tokenizer.split("grey"), tokenizer.encode(["grey"])[0]
    (('g', 'r', 'e', 'y'), [6, 7, 5, 8])
    """

    side: str
    splitter: SymbolSplitter
    vocabulary: Vocabulary

    @classmethod
    def learned(cls, side: str, splitter: SymbolSplitter, texts: Sequence[str], *, min_count: int = 1) -> "Tokenizer":
        """Tokenizer with the vocabulary of some texts' symbols, without those that are rarer than `min_count`.

        Raises `ArgumentError` where all of them are.
        """
        vocabulary = Vocabulary.of(chain.from_iterable(map(splitter.split, texts)), min_count=min_count)
        if not vocabulary.symbols and any(map(splitter.split, texts)):
            raise ArgumentError("min_count", got=f"{min_count:,}", expected=f"less: no {side} symbol is that frequent")
        return cls(side, splitter, vocabulary)

    def extended(self, texts: Iterable[str], *, min_count: int = 1) -> "Tokenizer":
        """Tokenizer extended by the new symbols of some texts, without those that are rarer than `min_count`."""
        new = chain.from_iterable(map(self.split, texts))
        return replace(self, vocabulary=self.vocabulary.extended(new, min_count=min_count))

    def split(self, text: str) -> tuple[str, ...]:
        """The symbols of a string."""
        return self.splitter.split(text)

    def encode(self, texts: Sequence[str], *, kin: bool = False) -> EncodedStrings:
        """Encoded strings, as symbol numbers; one warning names all symbols that are new (out of vocabulary).

        Of `Texts`, every different string is encoded once. With `kin` new symbols are read as the nearest known ones,
        those that have any, see `Vocabulary.kin`.
        """
        texts = texts.compacted() if isinstance(texts, Texts) else texts
        different = texts.different if isinstance(texts, Texts) else texts
        if len(different) < MANY:
            encoded = EncodedStrings(map(self.vocabulary.encode, map(self.split, different)))
        else:
            encoded = encode_many(different, self.splitter, self.vocabulary.numbers)
        if encoded.has_unknown:
            strange = [different[row] for row in encoded.unknown_rows.tolist()]
            new = self.new_symbols(strange)
            known = self.vocabulary.kin(new) if kin else {}
            encoded = self._reread(encoded, strange, known) if known else encoded
            self._warn(different, new, known)
        return encoded.chosen(texts.rows) if isinstance(texts, Texts) else encoded

    def _reread(self, encoded: EncodedStrings, strange: Sequence[str], kin: Mapping[str, str]) -> EncodedStrings:
        """Encoded strings, those with new symbols once more, which now have the numbers of their kin."""
        encode = encode_one_by_one if len(strange) < MANY else encode_many
        numbers = self.vocabulary.numbers_with(kin)
        return encoded.replaced(encoded.unknown_rows, encode(strange, self.splitter, numbers))

    def new_symbols(self, texts: Sequence[str]) -> list[str]:
        """Out-of-vocabulary symbols of strings, each once, in sorted order."""
        return new_symbols(texts, self.splitter, self.vocabulary.numbers)

    def _warn(self, texts: Sequence[str], new: Sequence[str], kin: Mapping[str, str]) -> None:
        others = [symbol for symbol in new if symbol not in kin]
        every = len(new_symbols(texts, self.splitter, {})) if len(others) >= ALIEN else 0
        alien = 2 * len(others) > every > 0
        warning = UnknownSymbolWarning(self._alien(len(others), every) if alien else self._unknown(new, others, kin))
        warning.side = self.side
        warn(warning)

    def _unknown(self, new: Sequence[str], others: Sequence[str], kin: Mapping[str, str]) -> str:
        """Message: which symbols are unknown, and what they are read as."""
        count = f"1 {self.side} symbol is" if len(new) == 1 else f"{len(new)} {self.side} symbols are"
        read = [f"reads {shown_kin(kin)}"] if kin else []
        read += [f"reads <unk>: {shown_symbols(others)}"] if others else []
        return f"{count} unknown to the model, which {', and '.join(read)}"

    def _alien(self, unknown: int, every: int) -> str:
        """Message: most symbols are unknown, those of another script, say; and some that are known."""
        known = [symbol for symbol in self.vocabulary.symbols if symbol[:1].isalpha()] or list(self.vocabulary.symbols)
        some, more = known[:: -(-len(known) // ALIEN) or 1], " ..." if len(known) > ALIEN else ""
        knows = f"which knows {shown_symbols(some)}{more}: its answers about these strings say little"
        return f"{unknown} of {every} {self.side} symbols are unknown to the model, {knows}"


@dataclass(frozen=True)
class Tokenizers:
    """Tokenizers of both sides of the pairs.

    >>> tokenizers = Tokenizers.learned(StringConfig(target_symbols="tokens"), Pairs.of([("hand", "HH AE N D")]))
    >>> tokenizers.source.vocabulary.symbols, tokenizers.target.vocabulary.symbols
    (('a', 'd', 'h', 'n'), ('AE', 'D', 'HH', 'N'))
    """

    source: Tokenizer
    target: Tokenizer

    @classmethod
    def of(cls, config: StringConfig, vocabularies: Mapping[str, Vocabulary]) -> "Tokenizers":
        """Tokenizers with given vocabularies, `source` and `target`."""
        of_source, of_target = config.splitters
        source, target = vocabularies["source"], vocabularies["target"]
        return cls(Tokenizer("source", of_source, source), Tokenizer("target", of_target, target))

    @classmethod
    def plain(cls, config: StringConfig) -> "Tokenizers":
        """Tokenizers without vocabularies, of a model that cuts strings into symbols but does not number them."""
        return cls.of(config, {"source": Vocabulary(()), "target": Vocabulary(())})

    @classmethod
    def learned(cls, config: StringConfig, pairs: Pairs, *, min_count: int = 1) -> "Tokenizers":
        """Tokenizers with the symbols that one side of some pairs has at least so often."""
        of_source, of_target = config.splitters
        source = Tokenizer.learned("source", of_source, pairs.sources, min_count=min_count)
        return cls(source, Tokenizer.learned("target", of_target, pairs.targets, min_count=min_count))

    def shared(self) -> "Tokenizers":
        """Tokenizers with one shared vocabulary for both sides."""
        together = Vocabulary.of([*self.source.vocabulary.symbols, *self.target.vocabulary.symbols])
        return Tokenizers(replace(self.source, vocabulary=together), replace(self.target, vocabulary=together))

    def extended(self, pairs: Pairs, *, shared: bool = False, min_count: int = 1) -> "Tokenizers":
        """Tokenizers extended by new symbols of some pairs; old numbers stay, and so does a shared vocabulary."""
        source = self.source.extended(pairs.sources, min_count=min_count)
        target = self.target.extended(pairs.targets, min_count=min_count)
        if not shared:
            return Tokenizers(source, target)
        both = source.vocabulary.extended(target.vocabulary.symbols)
        return Tokenizers(replace(source, vocabulary=both), replace(target, vocabulary=both))

    def extended_by(self, sources: Texts, targets: Texts, *, shared: bool = False) -> "Tokenizers":
        """Tokenizers extended by all new symbols of different strings, see `extended`."""
        sides = (self.source, sources), (self.target, targets)
        new = [one.vocabulary.extended(one.new_symbols(texts.different)) for one, texts in sides]
        if shared:
            new = [new[0].extended(new[1].symbols)] * 2
        return Tokenizers(*(replace(one, vocabulary=of) for (one, _), of in zip(sides, new, strict=True)))

    @property
    def vocabularies(self) -> dict[str, Vocabulary]:
        """Vocabularies, as `of` takes them."""
        return {"source": self.source.vocabulary, "target": self.target.vocabulary}

    def encode(self, pairs: Pairs, *, kin: bool = False) -> tuple[EncodedStrings, EncodedStrings]:
        """Encoded strings of both sides; with `kin` new symbols of sources are read as known ones."""
        return self.source.encode(pairs.sources, kin=kin), self.target.encode(pairs.targets)

    def encode_distinct(self, sources: Texts, targets: Texts, *, languages: np.ndarray | None = None) -> DistinctPairs:
        """Encoded strings of both sides, each different one once; `languages` are those of each pair."""
        sides = self.source.encode(sources.different), self.target.encode(targets.different)
        return DistinctPairs(*sides, (sources.rows, targets.rows), languages)


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
