"""Kinship of symbols: which of two alphabets are the same or akin, and what is expected of them before any pair."""

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from nsed.networks.operation_table import OperationTable
from nsed.text import EncodedStrings, Tokenizers, Vocabulary
from nsed.text.batch import EncodedPairs
from nsed.text.tokenizer import SPECIALS
from nsed.types import UNKNOWN

KINSHIP = ("other", "kin", "identical")
"""Classes of substitutions, by how the two symbols are akin."""
OTHER, KIN, IDENTICAL = range(len(KINSHIP))
SHARES = (0.1, 0.15, 0.5, 0.25)
"""Shares of operations before any pair: of substitutions by `KINSHIP`, and of gaps."""
UNSAID = frozenset({"SHORT", "FINAL", "SMALL", "CAPITAL", "FARSI", "UKRAINIAN"})
"""Words in the names of letters that say nothing of the letter."""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

Kinship = Float[Tensor, "sources targets"]


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
        of_kind = torch.where(kinship == number, cells.sqrt() if number == IDENTICAL else cells, 0.0)
        if of_kind.sum() > 0:
            substitute += share * of_kind / of_kind.sum()
    end = torch.tensor(1 / max(1.0, float(pairs.sizes.mean()) / 2), dtype=source.dtype)
    return OperationTable(shares[-1] * source / 2, shares[-1] * target / 2, substitute, end).normalised()


def shares_of(table: OperationTable, kinship: Kinship) -> tuple[float, ...]:
    """Shares of operations in a table: of substitutions by `KINSHIP`, and of gaps."""
    found = [float(table.substitute[kinship == number].sum()) for number in range(len(KINSHIP))]
    found.append(float(table.delete.sum() + table.insert.sum()))
    return tuple(share / sum(found) for share in found)


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
    names = (unicodedata.name(character, "") for character in unicodedata.normalize("NFD", symbol))
    found = (_letter(name.partition(" LETTER ")[2].split(" WITH ")[0].split()) for name in names)
    return frozenset(letter for letter in found if letter)


def _letter(words: list[str]) -> str:
    """Letter that a letter's name stands for: that of OPEN O is O, of EM (Cyrillic) M, of BEH (Arabic) B."""
    single = [word for word in words if len(word) == 1]
    words = single or [word for word in words if word not in UNSAID]
    if not words:
        return ""
    letter = words[0][-1] if len(words[0]) == 2 and words[0][0] in "EI" else words[0][0]
    return letter if letter in LETTERS else ""
