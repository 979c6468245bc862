"""What a list of answers is good for: the right one among the first k, and how near the best of them is."""

from collections.abc import Sequence

import numpy as np

from nsed.errors import ArgumentError
from nsed.evaluate.transduction import Symbols, TransductionScore, check_words, nearest_errors

NBest = Sequence[Sequence[Symbols]]

_NOWHERE = int(np.iinfo(np.int64).max)


def nbest_accuracy(
    outputs: NBest, references: Sequence[Sequence[Symbols]], *, ks: Sequence[int] = (1, 5, 10)
) -> dict[int, float]:
    """For each k, the share of words with one of their references among their first k outputs, best first.

    >>> nbest_accuracy([["cat", "cut"], ["dig", "dog"]], [["cat"], ["dog", "hound"]], ks=(1, 2))
    {1: 0.5, 2: 1.0}
    """
    check_words(outputs, references)
    if min(ks, default=0) < 1:
        raise ArgumentError("ks", got=list(ks), expected="at least one number, all from 1")
    places = np.array([_place(given, accepted) for given, accepted in zip(outputs, references, strict=True)])
    return {k: float((places < k).mean()) for k in ks}


def oracle_score(outputs: NBest, references: Sequence[Sequence[Symbols]]) -> TransductionScore:
    """Error rates if the best of each word's outputs were always chosen; a word without outputs answers nothing.

    >>> oracle_score([["cat", "cut"], ["dig", "dug"]], [["cut"], ["dog"]])
    TransductionScore(cer=0.166..., corpus_cer=0.166..., wer=0.5, words=2)
    """
    return nearest_errors([given or [()] for given in outputs], references).score()


def _place(outputs: Sequence[Symbols], references: Sequence[Symbols]) -> int:
    """The place of the first right output, from 0; beyond any k if there is none."""
    accepted = {tuple(reference) for reference in references}
    return next((place for place, output in enumerate(outputs) if tuple(output) in accepted), _NOWHERE)
