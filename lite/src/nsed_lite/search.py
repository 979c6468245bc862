"""Search for targets, batched over words and hypotheses: greedy, and with a beam."""

from typing import Any, Protocol

import numpy as np

from nsed_lite.lattice import NEG, REACHABLE
from nsed_lite.symbols import END, PAD, START, UNKNOWN

Targets = list[tuple[list[int], float]]
"""Targets of one word, best first: numbers of symbols, and log-probabilities."""


class Decoder(Protocol):
    """What a search needs to know of a model: it writes targets symbol by symbol."""

    def begin(self, source: Any) -> Any:
        """Hypotheses with one empty prefix per word; their `symbols` are what they have written so far."""

    def expand(self, hypotheses: Any) -> tuple[np.ndarray, Any]:
        """Log-probability of each prefix with each next symbol, and what `continued` needs."""

    def continued(self, expanded: Any, rows: np.ndarray, symbols: np.ndarray) -> Any:
        """Hypotheses that go on: chosen rows, in the order of their words, each with one symbol more."""


def writable(log_probs: np.ndarray) -> np.ndarray:
    """Log-probabilities in which what is never written has none."""
    log_probs[:, [PAD, UNKNOWN, START]] = NEG
    return np.maximum(log_probs, NEG)


def greedy_search(decoder: Decoder, source: Any, count: int, *, longest: int) -> list[Targets]:
    """Always the most probable next symbol, until that is `</s>` or the target has `longest` symbols."""
    found: list[Targets] = [[] for _ in range(count)]
    words, hypotheses = np.arange(count), decoder.begin(source)
    for length in range(longest + 1):
        written, expanded = decoder.expand(hypotheses)
        chosen = written.argmax(1)
        ended = np.full(len(words), True) if length == longest else chosen == END
        for row in np.flatnonzero(ended).tolist():
            found[words[row]].append((hypotheses.symbols[row].tolist(), float(written[row, END])))
        rows = np.flatnonzero(~ended)
        if not len(rows):
            break
        hypotheses, words = decoder.continued(expanded, rows, chosen[rows]), words[rows]
    return found


def beam_search(
    decoder: Decoder,
    source: Any,
    count: int,
    *,
    beam: int,
    nbest: int,
    longest: int,
    penalty: float = 0.0,
) -> list[Targets]:
    """The `nbest` most probable targets among those that a beam of `beam` prefixes meets.

    Targets are ranked by `log p / length ** penalty`, the length counting `</s>`. Without a penalty a word is done when
    no prefix can still win: a prefix's probability is that of all its continuations together.
    """
    best: list[list[tuple[float, float, list[int]]]] = [[] for _ in range(count)]
    words, hypotheses, alive = np.arange(count), decoder.begin(source), np.full((count, 1), True)
    for length in range(longest + 1):
        written, expanded = decoder.expand(hypotheses)
        written = np.where(alive[..., None], written.reshape(*alive.shape, -1), NEG)
        ends = written[:, :, END].copy()
        symbols = hypotheses.symbols.reshape(*alive.shape, length)
        for row, word in enumerate(words.tolist()):
            new = [(end / (length + 1) ** penalty, end, symbols[row, b].tolist()) for b, end in enumerate(ends[row])]
            best[word] = sorted(best[word] + new, key=lambda one: -one[0])[:nbest]
        written[:, :, END] = NEG
        scores, places = _largest(written.reshape(len(words), -1), beam)
        worst = [best[word][-1][0] if len(best[word]) == nbest else NEG for word in words.tolist()]
        left = np.flatnonzero(scores[:, 0] > (NEG if penalty else np.array(worst)))
        if length == longest or not len(left):
            break
        beams, chosen = np.divmod(places[left], written.shape[2])
        rows = beams + left[:, None] * alive.shape[1]
        hypotheses = decoder.continued(expanded, rows.ravel(), chosen.ravel())
        words, alive = words[left], scores[left] > REACHABLE
    return [[(target, float(log_prob)) for _, log_prob, target in few if log_prob > REACHABLE] for few in best]


def _largest(values: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The largest values of each row, in order, and their places."""
    count = min(count, values.shape[1])
    places = np.argpartition(-values, count - 1, axis=1)[:, :count]
    found = np.take_along_axis(values, places, axis=1)
    order = np.argsort(-found, axis=1, kind="stable")
    return np.take_along_axis(found, order, axis=1), np.take_along_axis(places, order, axis=1)
