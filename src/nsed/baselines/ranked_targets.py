"""Targets with how often they were seen, as transductions."""

import heapq
import math
from collections.abc import Mapping

from nsed.models.transduction import Transduction
from nsed.text import StringCoder


def ranked(counts: Mapping[str, int], coder: StringCoder, nbest: int) -> list[Transduction]:
    """The most frequent targets, best first, each with the logarithm of its share; the first seen of equal ones first.

    >>> from nsed.text import Symboliser, Vocabulary
    >>> ranked({"a": 1, "b": 3}, StringCoder("target", Symboliser(), Vocabulary(())), 1)
    [Transduction(text='b', symbols=('b',), log_prob=-0.28...)]
    """
    total = sum(counts.values())
    best = heapq.nsmallest(nbest, counts.items(), key=lambda item: -item[1])
    return [Transduction(text, coder.split(text), math.log(count / total)) for text, count in best]
