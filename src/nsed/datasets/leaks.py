"""Data leakage between the parts of a data set, and what a test score is worth without a model.

A pair of the training data that stands in the test data too, perhaps the other way round, is a leak: a table finds it.
So is, where there are no labels, a source of the training data, even where it has another target. Strings that both
parts have are counted, but are no leak: a new pair of known words is still a new pair.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from nsed.baselines.lookup import Lookup, LookupConfig
from nsed.baselines.similarity import Levenshtein, LevenshteinConfig
from nsed.datasets.splits import NumberedPairs, among, number_together
from nsed.errors import ArgumentError
from nsed.evaluate import MatchingScore, best_threshold, matching_score
from nsed.models.pair_model import labels_of
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


@dataclass(frozen=True)
class PartFacts:
    """Split statistics of a part by itself; what needs labels is None without."""

    part: str
    pairs: int
    positives: int | None
    negatives: int | None
    duplicates: int
    """Duplicate pairs that stood earlier in the part, the same way round."""
    both_labels: int | None
    """Contradictory labels: different pairs, whichever way round, that are called a match and also none."""
    identical: int
    """Identical pairs, of a string with itself: positives (without labels: pairs)."""


@dataclass(frozen=True)
class Overlap:
    """Overlap (leakage) of a later part with an earlier one."""

    earlier: str
    later: str
    same_pairs: int
    """Leaked pairs of the later part that the earlier one has too."""
    reversed_pairs: int
    """Reversed leaked pairs of the later part, which the earlier one has the other way round only."""
    other_label: int | None
    """Conflicting pairs, which the earlier part has, whichever way round, with the other label; None without labels."""
    strings: int
    """Shared strings: different ones of the later part that the earlier one has too."""
    share_of_strings: float
    same_source: int | None
    """Different sources of the later part that the earlier one has too, at least once with the same target; None with
    labels, as a string of a matcher may well have several partners."""
    source_only: int | None
    """Different sources of the later part that the earlier one has too, but with other targets only; None with labels.
    """

    @property
    def leaks(self) -> int:
        """Leak count: how many pairs, or without labels how many pairs and sources, are known from the earlier part."""
        return self.same_pairs + self.reversed_pairs + (self.source_only or 0)


@dataclass(frozen=True)
class Controls:
    """Control scores: what labelled pairs score without a model."""

    part: str
    lookup: MatchingScore
    """Lookup control: a table of the training positives, either way round."""
    chains: MatchingScore
    """Transitive lookup control: a table of the words that chains of training positives connect."""
    levenshtein: MatchingScore
    frequency: MatchingScore
    """How many training positives have the rarer of the two words."""
    tuned_on: str
    """The part whose best F1 gave the thresholds of the Levenshtein similarity and of the frequency."""


@dataclass(frozen=True)
class LeakReport:
    """Leak report; no controls where there are no labels."""

    parts: list[PartFacts]
    overlaps: list[Overlap]
    controls: list[Controls]

    @property
    def leaks(self) -> int:
        """Leak count: how many pairs and sources an earlier part gives away."""
        return sum(overlap.leaks for overlap in self.overlaps)


def check_leaks(parts: Mapping[str, Pairs], *, symbols: SymbolKind = "graphemes") -> LeakReport:
    """Check the splits for leaks: the first part is for training, the last for testing, one between for validation.

    The threshold of the Levenshtein similarity is tuned on the validation part, without one on the training part.
    `symbols` says what that similarity counts.

    >>> report = check_leaks({"train": Pairs(["a", "a"], ["b", "c"]), "test": Pairs(["b", "a"], ["a", "d"])})
    >>> report.overlaps[0].reversed_pairs, report.overlaps[0].source_only, report.leaks
    (1, 1, 2)
    """
    if len(parts) < 2:
        raise ArgumentError("parts", got=len(parts), expected="at least two: training and test")
    if empty := [name for name, pairs in parts.items() if not len(pairs)]:
        raise ArgumentError("parts", got=f"no pairs in {', '.join(empty)}", expected="at least one pair in each")
    labelled = {name for name, pairs in parts.items() if pairs.labels is not None}
    if labelled and len(labelled) < len(parts):
        raise ArgumentError("parts", got=f"labels in {', '.join(sorted(labelled))} only", expected="in all or in none")
    numbered = dict(zip(parts, number_together(list(parts.values())), strict=True))
    return LeakReport(
        [_facts(name, pairs) for name, pairs in numbered.items()],
        [_overlap(one, numbered[one], other, numbered[other]) for one, other in combinations(numbered, 2)],
        _controls(parts, symbols) if labelled else [],
    )


def _facts(name: str, pairs: NumberedPairs) -> PartFacts:
    count, same = len(pairs.keys), pairs.sources == pairs.targets
    duplicates = int((np.diff(pairs.sorted_keys) == 0).sum())
    if pairs.labels is None:
        return PartFacts(name, count, None, None, duplicates, None, int(same.sum()))
    positives, negatives = pairs.sorted_with(True), pairs.sorted_with(False)
    both = np.unique(positives[among(positives, negatives)])
    identical = int((same & pairs.labels).sum())
    return PartFacts(name, count, len(positives), len(negatives), duplicates, len(both), identical)


def _overlap(earlier_name: str, earlier: NumberedPairs, later_name: str, later: NumberedPairs) -> Overlap:
    same = among(later.keys, earlier.sorted_keys)
    turned = ~same & among(later.reversed_keys, earlier.sorted_keys)
    strings = int((later.has_string & earlier.has_string).sum())
    same_source = len(np.unique(later.sources[same]))
    other_source = int((later.has_source & earlier.has_source).sum()) - same_source
    labelled = later.labels is not None
    return Overlap(
        earlier_name,
        later_name,
        same_pairs=int(same.sum()),
        reversed_pairs=int(turned.sum()),
        other_label=_other_label(earlier, later),
        strings=strings,
        share_of_strings=strings / int(later.has_string.sum()),
        same_source=None if labelled else same_source,
        source_only=None if labelled else other_source,
    )


def _other_label(earlier: NumberedPairs, later: NumberedPairs) -> int | None:
    if later.labels is None:
        return None
    was_positive, was_negative = (among(later.unordered_keys, earlier.sorted_with(label)) for label in (True, False))
    return int(np.where(later.labels, was_negative, was_positive).sum())


def _controls(parts: Mapping[str, Pairs], symbols: SymbolKind) -> list[Controls]:
    names = list(parts)
    training, tuned_on = parts[names[0]], names[1] if len(names) > 2 else names[0]
    return [
        Controls(
            name,
            lookup_score(training, parts[name]),
            chain_score(training, parts[name]),
            levenshtein_score(parts[tuned_on], parts[name], symbols=symbols),
            frequency_score(training, parts[tuned_on], parts[name]),
            tuned_on,
        )
        for name in names[1:]
    ]
