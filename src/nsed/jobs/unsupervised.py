"""Learning with no labels, or with few: Matchers of word lists without gold, and of pairs of which few have a label.

Without gold: words of two concepts are cognate by accident at most. So their scores show what pairs that are not
cognate score, and the scores of pairs within a concept are a mixture of that and of something else: what exceeds it is
the probability of being cognate (Efron's local false discovery rate). Learning begins with Levenshtein similarities,
goes on with a table of log-odds of the pairs that are probably cognate against all others, and repeats that with what
the table says.

With few labels (semi-supervised): these say from which score on pairs match (Platt scaling); that labels the other
pairs (self-training), and all of them together teach the table. Where candidates of one string compete, at most one of
them matches, and a pair is labelled against its rivals. Before the first label, symbols are expected to match
themselves and their kin.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from nsed.datasets.protocols import numbers
from nsed.datasets.splits import pairs_of
from nsed.datasets.word_list import Word
from nsed.errors import ArgumentError
from nsed.evaluate.calibration import fit_calibration
from nsed.jobs.word_clusters import PROBABLE, LevenshteinControl, by_concept, cluster_compared, compared_pairs
from nsed.models.edit_distance import quiet_about_symbols
from nsed.models.odds import OddsMatcher
from nsed.models.odds_training import FORM
from nsed.models.pair_model import Criterion, quiet_about_labels
from nsed.text import Pairs
from nsed.text.batch import check_cells

ROUNDS, MOST_PAIRS = 2, 20_000
"""How often the table is learned, and from how many pairs of each kind at most."""
BINS, OF_A_BIN = 200, 50
"""Bins of a density of scores at most, and pairs across concepts in one, about."""
FEWEST = 50
"""Pairs across concepts at least: fewer show no distribution."""
SHORT_LIST = "A model of other lists has nothing to learn from this one: nsed cluster cognates, nsed.load('cognates')."
"""What to do where a list says too little."""

SETTINGS = {"source_symbols": "letters", "target_symbols": "letters", "shared_alphabet": True, "coherence": False}
"""Settings of the table: a long vowel has its vowel in common with a short one, no language comes first, and labels
that are guesses teach no coherence."""

OnRound = Callable[[int, OddsMatcher], None]


def learn_without_gold(
    words: list[Word],
    *,
    rounds: int = ROUNDS,
    seed: int = 0,
    on_round: OnRound = lambda number, model: None,
    **settings: Any,
) -> OddsMatcher:
    """Matcher of the words of a list, whose cognate classes are not looked at; settings are those of `OddsMatcher.fit`.

    Its probabilities are those of the mixture; `cluster_words(model, words, threshold=0.5)` makes cognate sets of them.
    Raises `ArgumentError` where the list has too few concepts or languages to tell cognates from chance, or where
    hardly any words of one concept are more alike than chance makes them.

    >>> words = [Word("Dutch", "hand", "h ɑ n t", ""), Word("German", "hand", "h a n t", "")]
    >>> learn_without_gold(words)
    Traceback (most recent call last):
    nsed.errors.ArgumentError: words: got 0 pairs of words of two concepts and two languages, expected at least 50, ...
    """
    random = np.random.default_rng(seed)
    within, across = compared_pairs(words), across_concepts(words, most=5 * MOST_PAIRS, random=random)
    similarity = LevenshteinControl().probability
    probable = posterior(*(similarity(_pairs(words, rows)) for rows in (within, across)))
    for number in range(1, rounds + 1):
        chosen = _labelled(words, within, across, _together(words, within, probable), random)
        with quiet_about_labels():
            model = OddsMatcher.fit(chosen, **{**SETTINGS, **settings})
        scores = [model.score(_pairs(words, rows)) for rows in (within, across)]
        probable = posterior(*scores)
        on_round(number, model)
    model.criterion = Criterion.tuned(scores[0], random.random(len(probable)) < probable, form=FORM)
    return model


def _together(words: list[Word], rows: np.ndarray, probable: np.ndarray) -> np.ndarray:
    """Whether two words are in one cluster: what others of their concept say corrects what the pair says."""
    clusters = cluster_compared(by_concept(words, rows, probable), threshold=PROBABLE, method="average")
    same: np.ndarray = clusters[rows[:, 0]] == clusters[rows[:, 1]]
    return same


def _labelled(
    words: list[Word], within: np.ndarray, across: np.ndarray, together: np.ndarray, random: np.random.Generator
) -> Pairs:
    """Pairs that are together against the others of their concepts, and against chance, in a random order."""
    if together.sum() < 2:
        got = f"{len(within):,} pairs of words of one concept, of which {together.sum()} are more alike than chance"
        raise ArgumentError("words", got=got, expected="at least two that are: to learn from", advice=SHORT_LIST)
    kinds = [random.permutation(rows)[:MOST_PAIRS] for rows in (within[together], within[~together], across)]
    labels = np.repeat([1, 0, 0], [len(kind) for kind in kinds])
    order = random.permutation(len(labels))
    return _pairs(words, np.concatenate(kinds)[order], labels[order])


def _pairs(words: list[Word], rows: np.ndarray, labels: np.ndarray | None = None) -> Pairs:
    """Pairs of words by their places, without languages: a list has too few pairs of each two."""
    return replace(pairs_of(words, rows, labels), source_languages=None, target_languages=None)


def across_concepts(words: list[Word], *, most: int, random: np.random.Generator) -> np.ndarray:
    """Places of two words of two concepts and two languages, drawn at random, each pair once.

    >>> words = [Word(language, concept, "a", "") for language in "AB" for concept in "xyz"]
    >>> across_concepts(words, most=9, random=np.random.default_rng(0)).shape[1]
    2
    """
    concepts, languages = (numbers([getattr(word, name) for word in words]) for name in ("concept", "language"))
    drawn = np.sort(random.integers(len(words), size=(3 * most, 2)), axis=1)
    one, other = drawn.T
    apart = drawn[(concepts[one] != concepts[other]) & (languages[one] != languages[other])]
    unique = np.unique(apart, axis=0)
    chosen: np.ndarray = random.permutation(unique)[:most]
    return chosen


def posterior(within: np.ndarray, across: np.ndarray) -> np.ndarray:
    """Probability of each score within concepts of being more than chance, by the scores across concepts.

    p = 1 - share * f_across / f_within, with densities by bins, made to rise with the score; `share`, that of pairs
    within concepts that are chance, is read off the lower half of the scores across, where there is little else.
    """
    if len(across) < FEWEST:
        got = f"{len(across)} pairs of words of two concepts and two languages"
        expected = f"at least {FEWEST}, to see what chance looks like"
        raise ArgumentError("words", got=got, expected=expected, advice=SHORT_LIST)
    bins = min(BINS, max(len(across) // OF_A_BIN, 2))
    edges = np.unique(np.quantile(np.concatenate([within, across]), np.linspace(0, 1, bins + 1)))
    edges = np.array([-np.inf, *edges[1:-1], np.inf])
    here, chance = (np.histogram(scores, edges)[0] + 0.5 for scores in (within, across))
    middle = np.quantile(across, 0.5)
    share = min(1.0, float(np.mean(within <= middle) / np.mean(across <= middle)))
    rising = isotonic(1 - share * (chance / chance.sum()) / (here / here.sum()), here)
    return np.asarray(np.clip(rising[np.searchsorted(edges, within, side="right") - 1], 0.0, 1.0))


def isotonic(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Isotonic regression: the rising sequence nearest to some values, by pooling adjacent violators.

    >>> isotonic(np.array([0.0, 0.6, 0.2, 1.0]), np.ones(4)).tolist()
    [0.0, 0.4, 0.4, 1.0]
    """
    blocks: list[tuple[float, float, int]] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        block = (value, weight, 1)
        while blocks and blocks[-1][0] > block[0]:
            block = _pooled(blocks.pop(), block)
        blocks.append(block)
    means, _, counts = zip(*blocks, strict=True)
    return np.repeat(means, counts)


def _pooled(one: tuple[float, float, int], other: tuple[float, float, int]) -> tuple[float, float, int]:
    weight = one[1] + other[1]
    return (one[0] * one[1] + other[0] * other[1]) / weight, weight, one[2] + other[2]


Assign = Literal["one-to-one", "best", "all"]
"""Matches of a string: one on either side, one target of each source, or any number."""
LIKELY, TYPICAL = 0.99, 0.5
"""Quantiles of the scores of all pairs that count as one match, and as one pair that is none, before any label."""
QUICK_PAIRS = 5000
"""Pairs of a training between questions, at most."""
QUICK: Mapping[str, Any] = {"train__steps": 80}
FINAL: Mapping[str, Any] = {}
"""Settings of a training between questions, and of the last one."""
FEW_ROUNDS = 2
"""Trainings on all pairs in the end: the last with the labels of those before, which are shorter."""
LEAST_ODDS, MOST_ODDS = -30.0, 30.0
"""Log-odds of one pair, and of no match at all: least and most."""


class Pool:
    """Pairs without labels, each once, with the places of their strings on either side."""

    def __init__(self, pairs: Pairs, assign: Assign = "best") -> None:
        rows = {pair: row for row, pair in reversed(list(enumerate(pairs)))}
        self.pairs = replace(pairs.chosen(sorted(rows.values())), labels=None)
        self.rows = {pair: row for row, pair in enumerate(self.pairs)}
        """Row of each pair."""
        sides = (self.pairs.sources, self.pairs.targets)
        self.strings = [np.unique(np.array(side, dtype=object), return_inverse=True)[1] for side in sides]
        """Numbers of the sources, and of the targets: the same for the same string."""
        self.rivals = {"all": [], "best": self.strings[:1], "one-to-one": self.strings}[assign]

    def __len__(self) -> int:
        return len(self.pairs)

    def labelled(self, labels: np.ndarray, rows: np.ndarray | None = None) -> Pairs:
        """Pairs with labels, all or some of them."""
        made = replace(self.pairs, labels=labels.tolist())
        return made if rows is None else made.chosen(rows.tolist())


def untrained(pool: Pool) -> OddsMatcher:
    """Matcher before any label, which expects symbols to match themselves and their kin."""
    return OddsMatcher.untrained(pool.pairs)


def calibrated(scores: np.ndarray, labels: Mapping[int, bool]) -> np.ndarray:
    """Probabilities of all pairs by the scores of those with a label; a match and a non-match are taken for granted."""
    rows = np.fromiter(labels, np.int64, len(labels))
    known = np.r_[scores[rows], np.quantile(scores, [LIKELY, TYPICAL])]
    truth = np.r_[np.fromiter(labels.values(), bool, len(labels)), True, False]
    return fit_calibration(known, truth).probability(scores)


def competing(probabilities: np.ndarray, pool: Pool, labels: Mapping[int, bool]) -> np.ndarray:
    """Probabilities where strings have at most one match: each pair's odds against those of its rivals, and of none.

    The odds of no match are such that as many matches are expected as before. Labels are certain.
    """
    odds = np.exp(np.clip(np.log(probabilities + 1e-300) - np.log1p(-probabilities + 1e-16), LEAST_ODDS, MOST_ODDS))
    for row, label in labels.items():
        odds[row] = np.exp(MOST_ODDS if label else LEAST_ODDS)
    if not pool.rivals:
        return np.asarray(odds / (1 + odds))
    against = sum(np.bincount(side, odds)[side] for side in pool.rivals) - odds * (len(pool.rivals) - 1)
    low, high = LEAST_ODDS, MOST_ODDS
    for _ in range(50):
        middle = (low + high) / 2
        more = (odds / (np.exp(middle) + against)).sum() > probabilities.sum()
        low, high = (middle, high) if more else (low, middle)
    return np.asarray(odds / (np.exp(low) + against))


def pseudo_labels(scores: np.ndarray, pool: Pool, labels: Mapping[int, bool]) -> np.ndarray:
    """Labels of all pairs: those given, and what the others probably are."""
    return competing(calibrated(scores, labels), pool, labels) >= 0.5


def check_lengths(pool: Pool, given: Pairs) -> None:
    """Check that all pairs can be learned from. Raises `TooLongError` with the row of the largest, as it was given."""
    model = untrained(pool)
    with quiet_about_symbols():
        encoded = model.encoded(pool.pairs)
    check_cells(
        encoded.source.lengths + 1,
        encoded.target.lengths + 1,
        model.config.train.max_cells,
        place=lambda row: given.row_of((pool.pairs.sources[row], pool.pairs.targets[row])),
        advice="Shorten or leave out pairs of this size: nothing could be learned from them.",
    )


def learn_quickly(scores: np.ndarray, pool: Pool, labels: Mapping[int, bool], *, seed: int) -> OddsMatcher | None:
    """Matcher for the next questions, of all labels and some pairs: in seconds.

    None where these are probably all of one kind but for one: to learn and to validate takes two.
    """
    some = np.random.default_rng([seed, len(labels)]).permutation(len(pool))[:QUICK_PAIRS]
    rows = np.union1d(some, np.fromiter(labels, np.int64, len(labels)))
    guessed = pseudo_labels(scores, pool, labels)
    return _fitted(pool.labelled(guessed, rows), **QUICK) if _two_of_each(guessed[rows]) else None


def _two_of_each(labels: np.ndarray) -> bool:
    """Whether there are two labels of each kind at least: one to learn from and one to validate with."""
    return bool(np.bincount(labels, minlength=2).min() > 1)


def learn_from_few(
    scores: np.ndarray, pool: Pool, labels: Mapping[int, bool], *, rounds: int = FEW_ROUNDS
) -> OddsMatcher | None:
    """Matcher of all labels and all pairs, from scores that the labels are to be read by; in a minute or more.

    None where these are probably all of one kind but for one: to learn and to validate takes two.
    """
    model = None
    for left in reversed(range(rounds)):
        guessed = pseudo_labels(scores, pool, labels)
        if not _two_of_each(guessed):
            return model
        model = _fitted(pool.labelled(guessed), **(QUICK if left else FINAL))
        with quiet_about_symbols():
            scores = model.score(pool.pairs)
    return model


def _fitted(pairs: Pairs, **settings: Any) -> OddsMatcher:
    with quiet_about_symbols(), quiet_about_labels():
        return OddsMatcher.fit(pairs, train__threads=1, **settings)  # someone answers questions meanwhile
