"""What no model is needed for: scores that labelled pairs give away. Report them beside every score of a model."""

from collections.abc import Iterator, Sequence
from itertools import repeat

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from nsed.errors import ArgumentError
from nsed.evaluate import MatchingScore, best_threshold, matching_score
from nsed.text import Pairs, Symboliser, SymbolKind

Word = tuple[str, str]
"""A language and a string."""
FIRST_CODE = 0xE000  # where no surrogate follows


def lookup_score(training: Pairs, test: Pairs) -> MatchingScore:
    """Of a table that calls a match whatever is, either way round, a positive pair of the training data.

    >>> training = Pairs(["hand", "foot"], ["Hand", "Hand"], [True, False])
    >>> lookup_score(training, Pairs(["Hand", "foot"], ["hand", "Fuß"], [True, True])).recall
    0.5
    """
    _labels(training)
    table = set(training.positives())
    found = [(source, target) in table or (target, source) in table for source, target in test]
    return matching_score(np.array(found), _labels(test), 0.5)


def chain_score(training: Pairs, test: Pairs) -> MatchingScore:
    """Of a table that calls a match whatever two words a chain of positive training pairs connects.

    A word is a string of a language where there are languages, else a string; each is connected with itself. So much
    can be had by remembering classes of words, without a look at what they are made of.

    >>> training = Pairs(["hand", "Hand"], ["Hand", "hånd"], [True, True])
    >>> chain_score(training, Pairs(["hånd", "hand"], ["hand", "foot"], [True, False])).f1
    1.0
    """
    _labels(training)
    above: dict[Word, Word] = {}
    for one, other in _words(training.positives()):
        above[_top(one, above)] = _top(other, above)
    found = [_top(one, above) == _top(other, above) for one, other in _words(test)]
    return matching_score(np.array(found), _labels(test), 0.5)


def _words(pairs: Pairs) -> Iterator[tuple[Word, Word]]:
    languages = (column or repeat("") for column in (pairs.source_languages, pairs.target_languages))
    sources, targets = map(zip, languages, (pairs.sources, pairs.targets))
    return zip(sources, targets, strict=True)


def _top(word: Word, above: dict[Word, Word]) -> Word:
    """The word that stands for all those connected with this one; the way there is halved for the next time."""
    while (higher := above.setdefault(word, word)) != word:
        above[word] = word = above[higher]
    return word


def levenshtein_score(tuning: Pairs, test: Pairs, *, symbols: SymbolKind = "graphemes") -> MatchingScore:
    """Of 1 - edits / symbols of the longer string, with the threshold that gives the best F1 on the tuning pairs."""
    threshold = best_threshold(similarities(tuning, symbols=symbols), _labels(tuning)).threshold
    return matching_score(similarities(test, symbols=symbols), _labels(test), threshold)


def similarities(pairs: Pairs, *, symbols: SymbolKind = "graphemes") -> np.ndarray:
    """Normalised Levenshtein similarities, between 0 and 1.

    >>> similarities(Pairs(["h a n d"], ["h o n d"]), symbols="tokens")
    array([0.75])
    """
    split, codes = Symboliser(symbols).split, dict[str, str]()
    coded = {text: _coded(split(text), codes) for text in {*pairs.sources, *pairs.targets}}
    columns = ([coded[text] for text in column] for column in (pairs.sources, pairs.targets))
    return process.cpdist(*columns, scorer=Levenshtein.normalized_similarity, dtype=np.float64)


def _coded(symbols: Sequence[str], codes: dict[str, str]) -> str:
    """A character for each symbol, as rapidfuzz is fastest with strings."""
    return "".join(codes.setdefault(symbol, chr(FIRST_CODE + len(codes))) for symbol in symbols)


def _labels(pairs: Pairs) -> np.ndarray:
    if pairs.labels is None:
        raise ArgumentError("pairs", got="pairs without labels", expected="labelled ones")
    return np.array(pairs.labels, dtype=bool)
