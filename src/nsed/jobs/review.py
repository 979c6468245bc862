"""Review (active learning): which of a model's answers a person should look at first, by uncertainty."""

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from nsed.capabilities import by_language
from nsed.errors import ArgumentError
from nsed.models.matcher import Matcher
from nsed.models.transduction import TransducingModel, Transduction
from nsed.progress import OnBatch, ignore
from nsed.text import Pairs
from nsed.text.pairs import PairsLike

ALTERNATIVES = 5
"""N-best size: answers per source, among which its probability is counted."""


class Order(StrEnum):
    """Review order: what comes first."""

    CONFIDENCE = "confidence"
    """The least probable best answer; of a Matcher, the probability nearest to one half."""
    MARGIN = "margin"
    """The best answer that is least ahead of the second."""
    ENTROPY = "entropy"
    """The most open choice among all answers found."""
    DISAGREEMENT = "disagreement"
    """The target or label of the data that the model believes least, against its own answer."""


class ReviewedWord(NamedTuple):
    """Reviewed transduction: a source with its answers, and how sure the model is of them."""

    source: str
    target: str
    """Target of the data, if there is one; else the model's best."""
    probability: float
    """Probability of the model's best answer."""
    margin: float
    """Margin: probability of the best answer less that of the second."""
    entropy: float
    """Entropy in nats, over the answers found and, as one more, all others together: at most the true one."""
    disagreement: float | None
    """Disagreement: log-probability of the best answer less that of the data's target; 0 if the same, None without."""
    answers: tuple[Transduction, ...]
    """N-best list: the model's own answers, best first."""
    language: str | None = None
    """Language of the source, where it is known."""


class ReviewedPair(NamedTuple):
    """Reviewed pair, with the calibrated probability that it matches."""

    source: str
    target: str
    label: bool
    """Label of the data, if there is one; else the model's decision."""
    languages: tuple[str, str] | None
    probability: float
    margin: float
    """Margin: how far the probability of matching is from that of not matching."""
    entropy: float
    """Entropy in nats; 0.69 is a toss-up."""
    disagreement: float | None
    """Disagreement: how far log-odds are beyond those that the model decides at, against the label of the data; 0 where
    the model agrees, None without labels."""


def review_words(
    model: TransducingModel,
    sources: Sequence[str],
    *,
    targets: Sequence[str] | None = None,
    languages: Sequence[str] | None = None,
    by: Order | None = None,
    on_batch: OnBatch = ignore,
) -> list[ReviewedWord]:
    """Rank sources with their answers by uncertainty, what most deserves a look first.

    With the targets that some data gives, likely errors of the data come first; without, the least certain answers.
    With languages, as in `Pairs.languages`, a transducer of several answers each source in its own.
    """
    words = [
        word if languages is None else word._replace(language=languages[row])
        for speaker, rows in by_language(model, languages, len(sources))
        for row, word in zip(rows, _words(speaker, rows, sources, targets, on_batch), strict=True)
    ]
    by = _order(by, has_data=targets is not None)
    return sorted(words, key=lambda word: _urgency(word, by))


def review_pairs(matcher: Matcher, pairs: PairsLike, *, by: Order | None = None) -> list[ReviewedPair]:
    """Rank pairs with their probability of matching by uncertainty, what most deserves a look first.

    With labels, those that the model contradicts come first; without, the pairs nearest to a toss-up.
    """
    pairs = Pairs.of(pairs)
    scores = matcher.score(pairs)
    probabilities, decisions = matcher.calibration.probability(scores), scores >= matcher.threshold
    needed = _log_odds(matcher.threshold_probability)
    reviewed = [_pair(pairs, row, float(probabilities[row]), bool(decisions[row]), needed) for row in range(len(pairs))]
    by = _order(by, has_data=pairs.labels is not None)
    return sorted(reviewed, key=lambda pair: _urgency(pair._replace(probability=abs(pair.probability - 0.5)), by))


def _order(by: Order | None, *, has_data: bool) -> Order:
    if by is Order.DISAGREEMENT and not has_data:
        raise ArgumentError("by", got="disagreement", expected="another order, or data with targets or labels")
    return by or (Order.DISAGREEMENT if has_data else Order.CONFIDENCE)


def _urgency(one: ReviewedWord | ReviewedPair, by: Order) -> tuple[float, float]:
    """Sort key: smaller comes first; of equals, the less certain one."""
    keys = {
        Order.CONFIDENCE: one.probability,
        Order.MARGIN: one.margin,
        Order.ENTROPY: -one.entropy,
        Order.DISAGREEMENT: -(one.disagreement or 0.0),
    }
    return keys[by], one.margin


def _words(
    model: TransducingModel,
    rows: Sequence[int],
    sources: Sequence[str],
    targets: Sequence[str] | None,
    on_batch: OnBatch,
) -> list[ReviewedWord]:
    """Sources of one language, with their answers."""
    asked = [sources[row] for row in rows]
    found = model.transduce(asked, nbest=ALTERNATIVES, on_batch=on_batch)
    if targets is None:
        return [_word(source, answers, None) for source, answers in zip(asked, found, strict=True)]
    wanted = [targets[row] for row in rows]
    scores = model.score(Pairs(asked, wanted)).tolist()
    return [_word(*one) for one in zip(asked, found, zip(wanted, scores, strict=True), strict=True)]


def _word(source: str, answers: Sequence[Transduction], given: tuple[str, float] | None) -> ReviewedWord:
    log_probs = [one.log_prob for one in answers] or [-math.inf]
    probabilities = [math.exp(log_prob) for log_prob in log_probs]
    second = probabilities[1] if len(probabilities) > 1 else 0.0
    target = given[0] if given else answers[0].text if answers else ""
    disagreement = max(log_probs[0] - given[1], 0.0) if given else None
    margin, entropy = probabilities[0] - second, _entropy([*probabilities, 1 - sum(probabilities)])
    return ReviewedWord(source, target, probabilities[0], margin, entropy, disagreement, tuple(answers))


def _pair(pairs: Pairs, row: int, probability: float, decision: bool, needed: float) -> ReviewedPair:
    """Reviewed pair; `needed` are the log-odds from which on the model decides for a match."""
    label = decision if pairs.labels is None else bool(pairs.labels[row])
    languages = None
    if pairs.source_languages is not None and pairs.target_languages is not None:
        languages = pairs.source_languages[row], pairs.target_languages[row]
    beyond = abs(_log_odds(probability) - needed) if label != decision else 0.0
    disagreement = None if pairs.labels is None else beyond
    margin, entropy = abs(2 * probability - 1), _entropy([probability, 1 - probability])
    return ReviewedPair(
        pairs.sources[row], pairs.targets[row], label, languages, probability, margin, entropy, disagreement
    )


def _entropy(probabilities: Sequence[float]) -> float:
    return -sum(p * math.log(p) for p in probabilities if p > 0) + 0.0


def _log_odds(probability: float) -> float:
    tiny = np.finfo(float).tiny
    return math.log(max(probability, tiny)) - math.log(max(1 - probability, tiny))
