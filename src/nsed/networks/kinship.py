"""Kinship of symbols: which of two alphabets are the same or akin, and what is expected of them before any pair."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from nsed.networks.operation_table import OperationTable
from nsed.text import EncodedStrings, Tokenizers, Vocabulary
from nsed.text.batch import EncodedPairs
from nsed.text.symbols import MODIFIERS, plainer
from nsed.text.tokenizer import SPECIALS
from nsed.types import UNKNOWN

KINSHIP = ("other", "kin", "identical")
"""Classes of substitutions, by how the two symbols are akin."""
OTHER, KIN, IDENTICAL = range(len(KINSHIP))
SHARES = (0.1, 0.15, 0.5, 0.25)
"""Shares of operations before any pair: of substitutions by `KINSHIP`, and of gaps."""
UNLIKE = 0.2
"""How much less a vowel is expected to become a consonant, or the other way round, than another symbol of its kind."""
BACK_OFF = 0.9
"""Share of the prior of a symbol that is what is known of all symbols with its letter."""
STEEPNESS = 2.0
"""Logarithm of how much less a neighbour counts for each feature that is at the other end of its range."""
UNSAID = frozenset({"SHORT", "FINAL", "SMALL", "CAPITAL", "FARSI", "UKRAINIAN"})
"""Words in the names of letters that say nothing of the letter."""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
VOWELS = frozenset("AEIOUY")
SOUNDS = {"ə": "E", "ɚ": "E", "ɝ": "E", "ʌ": "A", "ɯ": "U", "ɤ": "O", "œ": "O", "ʃ": "S", "ʒ": "Z", "ŋ": "N", "ð": "D"}
"""Letters of the IPA whose names are no help: that of the schwa does not make it an S."""

Kinship = Float[Tensor, "sources targets"]


class Shares(NamedTuple):
    """Shares of known symbols in what is expected of more symbols, of both sides."""

    source: Float[Tensor, "sources known_sources"]
    target: Float[Tensor, "targets known_targets"]


@dataclass(frozen=True)
class SymbolFeatures:
    """Features of symbols, a table: symbols with the same features are expected to do the same, in training or not.

    >>> table = SymbolFeatures.of({"p": [0, 1], "b": [1, 1], "a": [1, 5]})
    >>> table.values.tolist()
    [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]
    >>> table.row_of("b"), table.row_of("\u02c8b\u02b0"), table.row_of("x")
    (1, 1, None)
    """

    vocabulary: Vocabulary
    values: Float[Tensor, "rows features"]
    """Features, each from 0 to 1."""

    @classmethod
    def of(cls, rows: Mapping[str, Sequence[int | float]]) -> "SymbolFeatures":
        """Features of symbols (in NFD), each scaled to its range; those that are the same for all say nothing."""
        values = torch.tensor([list(row) for row in rows.values()], dtype=torch.float64) / 2  # a range is finite, too
        least, most = values.min(0).values, values.max(0).values
        told = most > least
        scaled = (values - least)[:, told] / (most - least)[told]
        return cls(Vocabulary(tuple(rows)), scaled.float())

    def row_of(self, symbol: str) -> int | None:
        """Row of a symbol, or else of what is left of it without its stress and its last marks; None without any."""
        for spelled in plainer(unicodedata.normalize("NFD", symbol), MODIFIERS | {"Mn"}):
            if spelled in self.vocabulary:
                return self.vocabulary.numbers[spelled] - len(SPECIALS)
        return None

    def distances(self, one: Sequence[str], other: Sequence[str]) -> Float[Tensor, "one other"]:
        """Distances of symbols, in features: as many as differ by their whole range; infinite without any."""
        rows = [[self.row_of(symbol) for symbol in side] for side in (one, other)]
        known = [torch.tensor([row is not None for row in side], dtype=torch.bool) for side in rows]
        values = [self.values[[row or 0 for row in side]].double() for side in rows]
        return torch.cdist(values[0], values[1], p=1).masked_fill(~(known[0][:, None] & known[1]), torch.inf)

    def shares(self, known: Vocabulary, more: Vocabulary) -> Float[Tensor, "more known"]:
        """Shares of known symbols in what is expected of more: known ones are themselves, new ones their neighbours.

        Where known symbols have the very features of a new one, it is these; without features it is `<unk>`.
        """
        distances = self.distances(more.symbols[len(known.symbols) :], known.symbols)
        same = (distances == 0).double()
        near = torch.where(same.sum(1, keepdim=True) > 0, same, (-STEEPNESS * distances).softmax(1).nan_to_num(0.0))
        found = torch.zeros(len(more), len(known), dtype=torch.float64)
        found[: len(known)].fill_diagonal_(1)
        found[len(known) :, len(SPECIALS) :] = near / near.sum(1, keepdim=True).clamp(min=1)
        found[len(known) :, UNKNOWN] = (near.sum(1) == 0).double()
        return found


def prior_table(
    pairs: EncodedPairs, tokenizers: Tokenizers, kinship: Kinship, shares: Sequence[float] = SHARES
) -> OperationTable:
    """Prior table, what is expected before any pair: symbols with themselves, then with their kin, by frequency."""
    source, target = (
        _frequencies(side, len(one.vocabulary))
        for side, one in ((pairs.source, tokenizers.source), (pairs.target, tokenizers.target))
    )
    cells, substitute = source[:, None] * target, torch.zeros_like(kinship, dtype=source.dtype)
    for number, share in enumerate(shares[:-1]):
        expected = {OTHER: cells * likeness_of(tokenizers), KIN: cells, IDENTICAL: cells.sqrt()}[number]
        of_kind = torch.where(kinship == number, expected, 0.0)
        if of_kind.sum() > 0:
            substitute += share * of_kind / of_kind.sum()
    end = torch.tensor(1 / max(1.0, float(pairs.sizes.mean()) / 2), dtype=source.dtype)
    return OperationTable(shares[-1] * source / 2, shares[-1] * target / 2, substitute, end).normalised()


def shares_of(table: OperationTable, kinship: Kinship) -> tuple[float, ...]:
    """Shares of operations in a table: of substitutions by `KINSHIP`, and of gaps."""
    found = [float(table.substitute[kinship == number].sum()) for number in range(len(KINSHIP))]
    found.append(float(table.delete.sum() + table.insert.sum()))
    return tuple(share / sum(found) for share in found)


def backed_off(
    prior: OperationTable, table: OperationTable, tokenizers: Tokenizers, features: SymbolFeatures | None = None
) -> OperationTable:
    """Prior table, most of it what a table says of the symbols' letters: long vowels are expected to do as short ones.

    What the table has for two letters, all symbols of these together, is shared out by the symbols' frequencies. With
    features, symbols that have some are in groups with their neighbours instead.
    """
    source, target = (groups.to(table.delete) for groups in symbol_groups(tokenizers, features))
    in_source, in_target = prior.delete + prior.substitute.sum(1), prior.insert + prior.substitute.sum(0)
    from_source, from_target = (
        (groups.T * margin / (groups.T @ margin)[:, None]).nan_to_num(0.0, 0.0, 0.0)
        for groups, margin in ((source, in_source), (target, in_target))
    )
    known = OperationTable(
        table.delete @ source @ from_source,
        table.insert @ target @ from_target,
        from_source.T @ (source.T @ table.substitute @ target) @ from_target,
        table.end,
    )
    for part, of_prior in zip(
        (known.delete, known.insert, known.substitute, known.substitute.T), _parts(prior), strict=True
    ):
        part[UNKNOWN] = of_prior[UNKNOWN]
    return prior.mixed(known, BACK_OFF)


def _parts(table: OperationTable) -> tuple[Tensor, ...]:
    return table.delete, table.insert, table.substitute, table.substitute.T


def symbol_groups(tokenizers: Tokenizers, features: SymbolFeatures | None) -> list[Tensor]:
    """How much each symbol of each side is of which group: of its letter's or, with features, of its neighbours'.

    Each symbol with features is the middle of a group.
    """
    letters = letter_groups(tokenizers)
    if features is None:
        return letters
    sides = [one.symbols for one in tokenizers.vocabularies.values()]
    middles, found = list(dict.fromkeys(chain.from_iterable(sides))), []
    for side, groups in zip(sides, letters, strict=True):
        near = (-STEEPNESS * features.distances(side, middles)).softmax(1).nan_to_num(0.0)
        near = functional.pad(near, (0, 0, len(SPECIALS), 0))
        found.append(torch.cat([groups * (near.sum(1, keepdim=True) == 0), near], 1))
    return found


def letter_groups(tokenizers: Tokenizers) -> list[Tensor]:
    """Which symbols of each side have the same first letter, without its marks: a column for each such group."""
    bases = [[_base(symbol) for symbol in one.symbols] for one in tokenizers.vocabularies.values()]
    numbers = {base: number for number, base in enumerate(dict.fromkeys(chain.from_iterable(bases)))}
    found = []
    for side in bases:
        groups = torch.zeros(len(SPECIALS) + len(side), len(numbers))
        groups[range(len(SPECIALS), len(groups)), [numbers[base] for base in side]] = 1
        found.append(groups)
    return found


def _base(symbol: str) -> str:
    letters = (c for c in unicodedata.normalize("NFD", symbol) if unicodedata.category(c) in ("Ll", "Lu", "Lo"))
    return next(letters, symbol)


def letter_features(
    tokenizers: Tokenizers,
) -> tuple[Float[Tensor, "sources points"], Float[Tensor, "targets points"]]:
    """Features of symbols: which code points (NFD) they consist of, each row of length one."""
    spelled = [
        [unicodedata.normalize("NFD", symbol) for symbol in one.symbols] for one in tokenizers.vocabularies.values()
    ]
    points = {
        point: number for number, point in enumerate(sorted(set(chain.from_iterable(chain.from_iterable(spelled)))))
    }
    found = []
    for side in spelled:
        features = torch.zeros(len(SPECIALS) + len(side), len(points))
        for number, symbol in enumerate(side, len(SPECIALS)):
            features[number, [points[point] for point in symbol]] = 1
        found.append(functional.normalize(features, dim=1))
    return found[0], found[1]


def likeness_of(tokenizers: Tokenizers) -> Float[Tensor, "sources targets"]:
    """What is expected of each two symbols that are not akin: less of a vowel and a consonant."""
    vowels, consonants = zip(*(_sounds(vocabulary) for vocabulary in tokenizers.vocabularies.values()), strict=True)
    unlike = vowels[0][:, None] & consonants[1] | consonants[0][:, None] & vowels[1]
    return torch.where(unlike, UNLIKE, 1.0).double()


def _sounds(vocabulary: Vocabulary) -> tuple[Tensor, Tensor]:
    """Which symbols are vowels, and which are consonants, by their letters; others are neither."""
    letters = [frozenset[str]()] * len(SPECIALS) + [letters_of(symbol) for symbol in vocabulary.symbols]
    vowels = torch.tensor([bool(found) and found <= VOWELS for found in letters])
    return vowels, torch.tensor([bool(found) for found in letters]) & ~vowels


def pseudo_counts(prior: OperationTable, strength: float) -> OperationTable:
    """Pseudo-counts, a Dirichlet prior: so many operations on each symbol of either side, as the prior table has them.

    So what is rare stays near the prior, and what is frequent is as the pairs say.
    """
    source, target = (
        (strength / margin).nan_to_num(posinf=0.0)
        for margin in (prior.delete + prior.substitute.sum(1), prior.insert + prior.substitute.sum(0))
    )
    substitute = prior.substitute * (source[:, None] + target) / 2
    return OperationTable(prior.delete * source, prior.insert * target, substitute, torch.zeros_like(prior.end))


def _frequencies(strings: EncodedStrings, symbols: int) -> Float[Tensor, " symbols"]:
    counts = np.bincount(strings.flat, minlength=symbols) + 1.0
    counts[[number for number in range(len(SPECIALS)) if number != UNKNOWN]] = 0
    return torch.from_numpy(counts / counts.sum())


def kinship_of(tokenizers: Tokenizers) -> Kinship:
    """Classes of substitutions, see `KINSHIP`: the symbols are identical, or have the same letter in them."""
    source, target = tokenizers.vocabularies.values()
    found = (_letter_table(source) @ _letter_table(target).T > 0).float()
    numbers = {symbol: number for number, symbol in enumerate(target.symbols, len(SPECIALS))}
    same = [(s, numbers[symbol]) for s, symbol in enumerate(source.symbols, len(SPECIALS)) if symbol in numbers]
    if same:
        found[tuple(torch.tensor(same).T)] = IDENTICAL
    return found


def _letter_table(vocabulary: Vocabulary) -> Float[Tensor, "symbols letters"]:
    table = torch.zeros(len(vocabulary), len(LETTERS))
    for number, symbol in enumerate(vocabulary.symbols, len(SPECIALS)):
        for letter in letters_of(symbol):
            table[number, LETTERS.index(letter)] = 1
    return table


@lru_cache(maxsize=2**16)
def letters_of(symbol: str) -> frozenset[str]:
    """Latin letters that the names of a symbol's characters begin with: those of b, B, be and beta are all B.

    >>> [*letters_of("b")], [*letters_of("б")], [*letters_of("é")], [*letters_of("م")]
    (['B'], ['B'], ['E'], ['M'])
    """
    return frozenset(filter(None, map(_letter_of, unicodedata.normalize("NFD", symbol))))


def _letter_of(character: str) -> str:
    name = unicodedata.name(character, "").partition(" LETTER ")[2].split(" WITH ")[0]
    return SOUNDS.get(character) or _letter(name.split())


def _letter(words: list[str]) -> str:
    """Letter that a letter's name stands for: that of OPEN O is O, of EM (Cyrillic) M, of BEH (Arabic) B."""
    single = [word for word in words if len(word) == 1]
    words = single or [word for word in words if word not in UNSAID]
    if not words:
        return ""
    letter = words[0][-1] if len(words[0]) == 2 and words[0][0] in "EI" else words[0][0]
    return letter if letter in LETTERS else ""
