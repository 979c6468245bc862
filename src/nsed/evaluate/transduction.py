"""Error rates of transduction (WER, CER), n-best accuracy and oracle error rates."""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from rapidfuzz.distance import Levenshtein

from nsed.errors import ArgumentError

Symbols = Sequence[Hashable]


class TransductionScore(NamedTuple):
    """Error rates: shares between 0 and 1 (rates of edits can exceed 1).

    `cer` is the mean over words of edits / reference length, as in the paper; `corpus_cer` all edits over all reference
    symbols; `wer` the share of words that are not exactly right.

    >>> score: TransductionScore = transduction_score(["dog", "cat"], [["dig"], ["cat"]])
    >>> f"{score.wer:.0%} of {score.words} words are wrong"
    '50% of 2 words are wrong'
    """

    cer: float
    corpus_cer: float
    wer: float
    words: int


class WordErrors(NamedTuple):
    """Edit counts of each word, between its output and its nearest reference, and the length of that reference.

    >>> errors: WordErrors = word_errors(["dog", "cat"], [["dig", "hound"], ["cat"]])
    >>> errors.edits.tolist(), errors.lengths.tolist(), errors.wrong.tolist()
    ([1, 0], [3, 3], [True, False])
    """

    edits: np.ndarray
    lengths: np.ndarray

    @property
    def rates(self) -> np.ndarray:
        """Symbol error rates: edits per symbol of the reference; an empty one counts as one symbol."""
        return np.asarray(self.edits / np.maximum(self.lengths, 1))

    @property
    def wrong(self) -> np.ndarray:
        """Word errors: whether each word differs from all its references."""
        return np.asarray(self.edits > 0)

    def score(self) -> TransductionScore:
        """Error rates over all words."""
        corpus_cer = self.edits.sum() / max(self.lengths.sum(), 1)
        return TransductionScore(float(self.rates.mean()), float(corpus_cer), float(self.wrong.mean()), len(self.edits))


def transduction_score(outputs: Sequence[Symbols], references: Sequence[Sequence[Symbols]]) -> TransductionScore:
    """Error rates of each word's output against its references; the nearest of them counts.

    >>> transduction_score([list("cat"), list("dog")], [[list("cat")], [list("dig"), list("hog"), list("do")]])
    TransductionScore(cer=0.166..., corpus_cer=0.166..., wer=0.5, words=2)
    """
    return word_errors(outputs, references).score()


def word_errors(outputs: Sequence[Symbols], references: Sequence[Sequence[Symbols]]) -> WordErrors:
    """Edit counts of each word, for rates, their intervals, and comparisons of two models.

    >>> word_errors(["dog", "cat"], [["dig", "hound"], ["cat"]]).edits
    array([1, 0])
    """
    return nearest_errors([[output] for output in outputs], references)


def nearest_errors(outputs: Sequence[Sequence[Symbols]], references: Sequence[Sequence[Symbols]]) -> WordErrors:
    """Edit counts of each word's best output, of one or several, against its nearest reference."""
    check_words(outputs, references)
    nearest = [_nearest(given, accepted) for given, accepted in zip(outputs, references, strict=True)]
    return WordErrors(*np.array(nearest).T)


def check_words(outputs: Sequence[object], references: Sequence[Sequence[Symbols]]) -> None:
    """Input check: refuse outputs without references, and no outputs at all."""
    if len(outputs) != len(references) or not all(references):
        got = f"{len(references)} rows"
        raise ArgumentError("references", got=got, expected=f"{len(outputs)} with at least one reference each")
    if not outputs:
        raise ArgumentError("outputs", got="none", expected="at least one word")


def _nearest(outputs: Sequence[Symbols], references: Sequence[Symbols]) -> tuple[int, int]:
    """Nearest reference: edits to, and length of, the one with the lowest rate of edits to any output."""
    found = [
        (Levenshtein.distance(output, reference), len(reference)) for output in outputs for reference in references
    ]
    return min(found, key=lambda pair: pair[0] / max(pair[1], 1))


NBest = Sequence[Sequence[Symbols]]

_NOWHERE = int(np.iinfo(np.int64).max)


def nbest_accuracy(
    outputs: NBest, references: Sequence[Sequence[Symbols]], *, ks: Sequence[int] = (1, 5, 10)
) -> dict[int, float]:
    """N-best accuracy: for each k, the share of words with one of their references among their first k outputs.

    >>> nbest_accuracy([["cat", "cut"], ["dig", "dog"]], [["cat"], ["dog", "hound"]], ks=(1, 2))
    {1: 0.5, 2: 1.0}
    """
    check_words(outputs, references)
    if min(ks, default=0) < 1:
        raise ArgumentError("ks", got=list(ks), expected="at least one number, all from 1")
    places = np.array([_place(given, accepted) for given, accepted in zip(outputs, references, strict=True)])
    return {k: float((places < k).mean()) for k in ks}


def oracle_score(outputs: NBest, references: Sequence[Sequence[Symbols]]) -> TransductionScore:
    """Oracle error rates: if the best of each word's outputs were always chosen; without outputs, nothing is.

    >>> oracle_score([["cat", "cut"], ["dig", "dug"]], [["cut"], ["dog"]])
    TransductionScore(cer=0.166..., corpus_cer=0.166..., wer=0.5, words=2)
    """
    return nearest_errors([given or [()] for given in outputs], references).score()


def _place(outputs: Sequence[Symbols], references: Sequence[Symbols]) -> int:
    """Rank of the first right output, from 0; beyond any k if there is none."""
    accepted = {tuple(reference) for reference in references}
    return next((place for place, output in enumerate(outputs) if tuple(output) in accepted), _NOWHERE)
