"""Search by learned operations: strings that a model's log-odds of edit operations relate most to a query.

Every string is scored, so nothing is lost that the table could find, whatever the scripts: log-odds are summed over all
derivations, as the model itself does, but without its factors of place and length. Strings are sorted, and what two
neighbours share at their beginnings is computed once. Words at the ends of either string may be left out, at a cost:
"Vienna, Virginia" finds "Vienna".
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from nsed.errors import ArgumentError
from nsed.jobs.vector_index import Ranked, ranked
from nsed.kernels.contracts import Best, EncodedQueries, OperationOdds, SortedStrings
from nsed.kernels.dispatch import CANDIDATES, ON_CPU
from nsed.models.edit_distance import LearnableEditDistance
from nsed.models.odds import OddsMatcher
from nsed.text import Tokenizer, Tokenizers
from nsed.text.batch import EncodedStrings

Side = Literal["source", "target"]
SKIP_QUERY, SKIP_STRING, SKIP_ADDITION = -3.0, -5.0, 0.0
"""Log-odds of words of the query, and of the string, that are left out at an end, and of what follows a comma in the
query: "Vienna, Virginia". Tuned on place names."""
SEPARATORS, COMMAS = frozenset(" -,،、/()·_"), frozenset(",،、(")
"""Symbols between words, and those before an addition."""
LARGEST = 20.0
"""Largest log-odds of an operation, on either side of 0, that are used."""


def odds_model(model: Any) -> OddsMatcher:
    """Model with a table of log-odds: an odds matcher, or that of an edit distance. Raises `ArgumentError`."""
    if isinstance(model, LearnableEditDistance):
        return OddsMatcher.of_edit_distance(model)
    if isinstance(model, OddsMatcher):
        return model
    expected = "an edit distance or a matcher in odds form: they have a table of operations"
    advice = "Train one on the same pairs, it takes seconds: nsed train PAIRS FOLDER --model odds."
    raise ArgumentError("model", got=f"a {type(model).__name__}", expected=expected, advice=advice)


def side_of(tokenizers: Tokenizers, texts: Sequence[str]) -> Side:
    """Side of a model whose alphabet strings are written in, by the share of their symbols; the target where both."""
    source, target = known_shares(tokenizers, texts)
    return "source" if source > target else "target"


def known_shares(tokenizers: Tokenizers, texts: Sequence[str]) -> tuple[float, float]:
    """Shares of the symbols of some strings that the source side of a model knows, and the target side."""
    some = texts[:: max(1, len(texts) // 1000)]

    def share(tokenizer: Tokenizer) -> float:
        known = [symbol in tokenizer.vocabulary for text in some for symbol in tokenizer.split(text)]
        return sum(known) / max(len(known), 1)

    return share(tokenizers.source), share(tokenizers.target)


@dataclass(frozen=True)
class OperationSearch:
    """Strings, sorted, and the model by whose operations they are found.

    >>> pairs = [(word, word.replace("a", "e")) for word in ("gray", "gala", "lay", "ray", "yard", "drag")]
    >>> search = OperationSearch.of(LearnableEditDistance.fit(pairs), ["rey", "gele", "ley", "dreg"])
    >>> search.query(["lay", "drag"], 1).references.tolist()
    [2, 3]
    """

    model: OddsMatcher
    side: Side
    """Side of the model that the strings are on."""
    tokenizers: Tokenizers
    order: np.ndarray
    """Rows of the strings, as they are sorted."""
    strings: EncodedStrings
    shared: np.ndarray
    """Symbols at the beginning that each string shares with the one before it."""

    @classmethod
    def of(cls, model: Any, texts: Sequence[str], *, side: Side | None = None) -> "OperationSearch":
        """Search in strings, which are on one side of the model, by default that whose alphabet they are written in."""
        odds = odds_model(model)
        chosen = side or side_of(odds.tokenizers, texts)
        tokenizers = _extended(odds, odds.tokenizers, texts, chosen)
        tokenizer = getattr(tokenizers, chosen)
        encoded = [tuple(tokenizer.vocabulary.encode(tokenizer.split(text))) for text in texts]
        order = sorted(range(len(texts)), key=encoded.__getitem__)
        strings = [encoded[row] for row in order]
        shared = [0, *(_shared(*pair) for pair in pairwise(strings))][: len(strings)]
        return cls(odds, chosen, tokenizers, np.array(order), EncodedStrings(strings), np.array(shared, np.int64))

    def query(self, texts: Sequence[str], k: int) -> Ranked:
        """The k strings of each query with the highest log-odds; none where all are impossible."""
        tokenizers, encoded = self._encoded(texts)
        names = getattr(tokenizers, self._other).vocabulary.names
        enters = separator_odds(names, SKIP_QUERY, SKIP_QUERY)[encoded.flat]
        leaves = separator_odds(names, SKIP_QUERY, SKIP_ADDITION)[encoded.flat]
        splits = separator_odds(getattr(tokenizers, self.side).vocabulary.names, SKIP_STRING, SKIP_STRING)
        best = CANDIDATES.choose(ON_CPU).code.best_by_operations(
            EncodedQueries(encoded.starts, encoded.flat, enters, leaves),
            SortedStrings(self.strings.starts, self.strings.flat, self.shared, splits),
            odds := self._odds(tokenizers),
            min(k, len(self.strings)),
        )
        return self._ranked(best, encoded, odds)

    @property
    def _other(self) -> Side:
        return "target" if self.side == "source" else "source"

    def _encoded(self, texts: Sequence[str]) -> tuple[Tokenizers, EncodedStrings]:
        """Tokenizers that know all symbols of queries, and these as symbol numbers."""
        tokenizers = _extended(self.model, self.tokenizers, texts, self._other)
        tokenizer = getattr(tokenizers, self._other)
        return tokenizers, EncodedStrings(tokenizer.vocabulary.encode(tokenizer.split(text)) for text in texts)

    def _odds(self, tokenizers: Tokenizers) -> OperationOdds:
        known = self.model.odds_for(tokenizers)
        tables = [getattr(known, name).double().cpu().numpy() for name in ("delete", "insert", "substitute")]
        delete, insert, substitute = (np.exp(table.clip(-LARGEST, LARGEST)) for table in tables)
        if self.side == "target":
            delete, insert, substitute = insert, delete, substitute.T
        scales = np.maximum(substitute.max(axis=0), insert)
        return OperationOdds(delete, insert / scales, np.ascontiguousarray(substitute / scales), scales)

    def _ranked(self, best: Best, encoded: EncodedStrings, odds: OperationOdds) -> Ranked:
        """Rows of strings instead of their places, and log-odds instead of scaled products."""
        found = ranked(best)
        scales = np.r_[0.0, np.cumsum(np.log(odds.scales[encoded.flat]))]
        taken = (scales[encoded.starts[1:]] - scales[encoded.starts[:-1]])[found.queries]
        with np.errstate(divide="ignore"):
            return Ranked(found.queries, self.order[found.references], np.log(found.scores) + taken)


def separator_odds(names: Sequence[str], word: float, addition: float) -> np.ndarray:
    """Odds to leave words out at each symbol: those before a comma or parenthesis, of other separators, else 0."""
    odds = [np.exp(addition) if name in COMMAS else np.exp(word) if name in SEPARATORS else 0.0 for name in names]
    return np.array(odds, dtype=np.float64)


def _extended(model: OddsMatcher, tokenizers: Tokenizers, texts: Sequence[str], side: Side) -> Tokenizers:
    """Tokenizers that know all symbols of strings on a side."""
    longer = getattr(tokenizers, side).extended(texts)
    if not model.config.shared_alphabet:
        return replace(tokenizers, **{side: longer})
    vocabulary = longer.vocabulary
    return Tokenizers(*(replace(one, vocabulary=vocabulary) for one in (tokenizers.source, tokenizers.target)))


def _shared(one: Sequence[int], other: Sequence[int]) -> int:
    for place, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return place
    return min(len(one), len(other))
