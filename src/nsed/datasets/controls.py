"""Data leakage controls: scores that need no model. Report them beside every score of a model."""

from collections import Counter

import numpy as np

from nsed.baselines.lookup import Lookup, LookupConfig
from nsed.baselines.pair_scorer import labels_of
from nsed.baselines.similarity import Levenshtein, LevenshteinConfig
from nsed.evaluate import MatchingScore, best_threshold, matching_score
from nsed.text import Pairs, SymbolKind


def lookup_score(training: Pairs, test: Pairs) -> MatchingScore:
    """Lookup control score: a table calls a match whatever is, either way round, a positive training pair.

    >>> training = Pairs(["hand", "foot"], ["Hand", "Hand"], [True, False])
    >>> lookup_score(training, Pairs(["Hand", "foot"], ["hand", "Fuß"], [True, True])).recall
    0.5
    """
    return _score_of_table(training, test, LookupConfig())


def chain_score(training: Pairs, test: Pairs) -> MatchingScore:
    """Transitive lookup control score: it calls a match any two words that a chain of positive training pairs connects.

    So much can be had by remembering classes of words, without a look at what they are made of.

    >>> training = Pairs(["hand", "Hand"], ["Hand", "hånd"], [True, True])
    >>> chain_score(training, Pairs(["hånd", "hand"], ["hand", "foot"], [True, False])).f1
    1.0
    """
    return _score_of_table(training, test, LookupConfig(chains=True))


def levenshtein_score(tuning: Pairs, test: Pairs, *, symbols: SymbolKind = "graphemes") -> MatchingScore:
    """Levenshtein control score: 1 - edits / symbols of the longer string, at the tuning pairs' best F1 threshold."""
    config = LevenshteinConfig(source_symbols=symbols, target_symbols=symbols)
    model = Levenshtein.fit(tuning, config=config)
    return matching_score(model.score(test), labels_of(test), model.threshold)


def frequency_score(training: Pairs, tuning: Pairs, test: Pairs) -> MatchingScore:
    """Of how many training positives have the rarer of the two words; the threshold is that of the tuning pairs.

    The words are never compared: what this scores tells how the pairs were drawn, not what belongs together.

    >>> training = Pairs(["hand", "Hand", "foot"], ["Hand", "hånd", "rare"], [True, True, False])
    >>> tuning = Pairs(["Hand", "foot"], ["hand", "rare"], [True, False])
    >>> frequency_score(training, tuning, Pairs(["hånd", "hand"], ["Hand", "rare"], [True, False]))
    MatchingScore(precision=1.0, recall=1.0, f1=1.0, threshold=0.5)
    """
    positives = training.positives()
    counts = Counter([*positives.sources, *positives.targets])
    threshold = best_threshold(_rarer(counts, tuning), labels_of(tuning)).threshold
    return matching_score(_rarer(counts, test), labels_of(test), threshold)


def _rarer(counts: Counter[str], pairs: Pairs) -> np.ndarray:
    return np.array([min(counts[source], counts[target]) for source, target in pairs], dtype=float)


def _score_of_table(training: Pairs, test: Pairs, config: LookupConfig) -> MatchingScore:
    if not labels_of(training).any():
        return matching_score(np.zeros(len(test)), labels_of(test), 0.5)
    table = Lookup.fit(training.positives(), config=config)  # without negatives: nobody asks for probabilities
    return matching_score(table.score(test), labels_of(test), table.threshold)
