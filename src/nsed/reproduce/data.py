"""The pairs of a run: data sets as the paper split them, and toy pairs for rehearsals."""

from dataclasses import replace
from typing import Any

from nsed.datasets import Splits, load
from nsed.datasets.catalogue import DATASETS
from nsed.datasets.loading import load_words
from nsed.datasets.protocols import PROTOCOLS, SplitOptions
from nsed.datasets.published import published_cognates
from nsed.datasets.rule_language import matching_pairs, transduction_pairs
from nsed.datasets.splits import split_by_source
from nsed.reproduce.grid import Run
from nsed.text import Pairs
from nsed.train.checkpoint import hash_of

MOST_TRAINING = 1_600_000
"""Training pairs of word lists: all of Indo-European, a sample of the 80 million of Austro-Asiatic."""
TOY_PAIRS = 200


def splits_of(run: Run) -> Splits:
    """Training, validation and test pairs; the split has one seed, whatever that of the training."""
    if run.protocol is None:
        return load(run.dataset)
    if run.protocol not in ("published", "published-fixed"):
        return _without_languages(load(run.dataset, protocol=run.protocol, options=SplitOptions()))
    words = load_words(run.dataset, class_column=PROTOCOLS[run.protocol].own_column)
    return _without_languages(published_cognates(words, most_training=MOST_TRAINING))


def toy_splits(run: Run) -> Splits:
    """A few pairs of the rule language, for rehearsals."""
    is_list = DATASETS[run.dataset].parts is None
    pairs = matching_pairs(TOY_PAIRS) if is_list else transduction_pairs(TOY_PAIRS)
    return split_by_source(pairs, validation=0.2, test=0.2)


def describe(splits: Splits) -> dict[str, Any]:
    """How many pairs each part has, and their SHA-256."""
    return {part: {"pairs": len(pairs), "sha256": hash_of(pairs)} for part, pairs in splits._asdict().items()}


def _without_languages(splits: Splits) -> Splits:
    return Splits(*(_plain(pairs) for pairs in splits))


def _plain(pairs: Pairs) -> Pairs:
    return replace(pairs, source_languages=None, target_languages=None)
