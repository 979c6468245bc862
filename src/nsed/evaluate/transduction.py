"""Error rates of transduction."""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

from nsed.errors import ArgumentError

Symbols = Sequence[Hashable]


class TransductionScore(NamedTuple):
    """Shares between 0 and 1 (rates of edits can exceed 1).

    `cer` is the mean over words of edits / reference length, as in the paper; `corpus_cer` all edits over all reference
    symbols; `wer` the share of words that are not exactly right.
    """

    cer: float
    corpus_cer: float
    wer: float
    words: int


def transduction_score(outputs: Sequence[Symbols], references: Sequence[Sequence[Symbols]]) -> TransductionScore:
    """Compare each word's output with its references; the nearest of them counts.

    >>> transduction_score([list("cat"), list("dog")], [[list("cat")], [list("dig"), list("hog"), list("do")]])
    TransductionScore(cer=0.166..., corpus_cer=0.166..., wer=0.5, words=2)
    """
    if len(outputs) != len(references) or not all(references):
        got = f"{len(references)} rows"
        raise ArgumentError("references", got=got, expected=f"{len(outputs)} with at least one reference each")
    if not outputs:
        raise ArgumentError("outputs", got="none", expected="at least one word")
    edits, lengths = zip(
        *(_nearest(output, given) for output, given in zip(outputs, references, strict=True)), strict=True
    )
    rates = [edit / max(length, 1) for edit, length in zip(edits, lengths, strict=True)]
    wrong = sum(edit > 0 for edit in edits)
    return TransductionScore(
        sum(rates) / len(rates), sum(edits) / max(sum(lengths), 1), wrong / len(outputs), len(outputs)
    )


def _nearest(output: Symbols, references: Sequence[Symbols]) -> tuple[int, int]:
    """Edits to, and length of, the reference with the lowest rate of edits."""
    found = [(Levenshtein.distance(output, reference), len(reference)) for reference in references]
    return min(found, key=lambda pair: pair[0] / max(pair[1], 1))
