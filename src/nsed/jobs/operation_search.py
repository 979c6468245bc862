"""Search by learned operations: strings that a model's log-odds of edit operations relate most to a query.

Every string is scored, so nothing is lost that the table could find, whatever the scripts: log-odds are summed over all
derivations, as the model itself does, but without its factors of place and length. Strings are sorted, and what two
neighbours share at their beginnings is computed once. Words at the ends of either string may be left out, at a cost:
"Vienna, Virginia" finds "Vienna".
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np

from nsed.errors import ArgumentError
from nsed.jobs.vector_index import Ranked, ranked
from nsed.kernels.switch import AUTO, installed, wanted
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


class OperationOdds(NamedTuple):
    """Odds of operations, from the strings' symbols to those of the queries, without logarithm."""

    delete: np.ndarray
    insert: np.ndarray
    substitute: np.ndarray
    scales: np.ndarray
    """What insertions and substitutions are divided by, for each symbol of queries."""


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
        queries = self._read(texts)
        shape = len(texts), min(k, len(self.strings))
        found, scores, counts = np.zeros(shape, np.int64), np.zeros(shape), np.zeros(len(texts), np.int64)
        if wanted() in (AUTO, "numba") and installed("numba"):
            from nsed.kernels.numba import candidates as kernel  # noqa: PLC0415  # numba takes seconds to import

            encoded = queries.encoded
            strings = (self.strings.starts, self.strings.flat, self.shared, queries.splits)
            given = (
                encoded.starts,
                encoded.flat,
                queries.enters,
                queries.leaves,
                *strings,
                *queries.odds,
                found,
                scores,
                counts,
            )
            kernel.run_queries(kernel.best_by_operations, *given, queries=len(texts))
        else:
            for query in range(len(texts)):
                values = self._scores(queries, query)
                best = np.lexsort((np.arange(len(values)), -values))[: shape[1]]
                best = best[values[best] > 0]
                counts[query] = len(best)
                found[query, : len(best)], scores[query, : len(best)] = best, values[best]
        return self._ranked(found, scores, counts, queries)

    def _read(self, texts: Sequence[str]) -> "Queries":
        other: Side = "target" if self.side == "source" else "source"
        tokenizers = _extended(self.model, self.tokenizers, texts, other)
        tokenizer = getattr(tokenizers, other)
        encoded = EncodedStrings(tokenizer.vocabulary.encode(tokenizer.split(text)) for text in texts)
        names = tokenizer.vocabulary.names
        enters = separator_odds(names, SKIP_QUERY, SKIP_QUERY)[encoded.flat]
        leaves = separator_odds(names, SKIP_QUERY, SKIP_ADDITION)[encoded.flat]
        splits = separator_odds(getattr(tokenizers, self.side).vocabulary.names, SKIP_STRING, SKIP_STRING)
        return Queries(encoded, enters, leaves, splits, self._odds(tokenizers))

    def _odds(self, tokenizers: Tokenizers) -> OperationOdds:
        known = self.model.odds_for(tokenizers)
        tables = [getattr(known, name).double().cpu().numpy() for name in ("delete", "insert", "substitute")]
        delete, insert, substitute = (np.exp(table.clip(-LARGEST, LARGEST)) for table in tables)
        if self.side == "target":
            delete, insert, substitute = insert, delete, substitute.T
        scales = np.maximum(substitute.max(axis=0), insert)
        return OperationOdds(delete, insert / scales, np.ascontiguousarray(substitute / scales), scales)

    def _scores(self, queries: "Queries", query: int) -> np.ndarray:
        """Scores of all strings for a query: the readable twin of the compiled search, all strings at once."""
        part = slice(queries.encoded.starts[query], queries.encoded.starts[query + 1])
        symbols, odds, size = queries.encoded.flat[part], queries.odds, part.stop - part.start
        enter, leave = _entrances(queries.enters[part], queries.leaves[part], odds.scales[symbols])
        lengths, longest = self.strings.lengths, self.strings.longest
        table, ended, result = np.zeros((len(lengths), size + 1)), np.zeros(len(lengths)), np.zeros(len(lengths))
        table[:, 0] = 1
        for j in range(size):
            table[:, j + 1] = table[:, j] * odds.insert[symbols[j]] + enter[j + 1]
        for i in range(longest + 1):
            done = lengths == i
            result[done] = ended[done] + table[done, 1:] @ leave[1:]
            if i == longest:
                break
            here = self.strings.flat[np.minimum(self.strings.starts[:-1] + i, len(self.strings.flat) - 1)]
            gap, skipped = odds.delete[here], queries.splits[here]
            ended = ended + skipped * (table[:, 1:] @ leave[1:])
            before, table = table, np.empty_like(table)
            table[:, 0] = before[:, 0] * gap + skipped
            for j in range(size):
                kept = before[:, j + 1] * gap + before[:, j] * odds.substitute[here, symbols[j]]
                table[:, j + 1] = kept + table[:, j] * odds.insert[symbols[j]]
        return result

    def _ranked(self, found: np.ndarray, scores: np.ndarray, counts: np.ndarray, queries: "Queries") -> Ranked:
        """Rows of strings instead of their places, and log-odds instead of scaled products."""
        best, encoded = ranked(found, scores, counts), queries.encoded
        scales = np.r_[0.0, np.cumsum(np.log(queries.odds.scales[encoded.flat]))]
        taken = (scales[encoded.starts[1:]] - scales[encoded.starts[:-1]])[best.queries]
        with np.errstate(divide="ignore"):
            return Ranked(best.queries, self.order[best.references], np.log(best.scores) + taken)


class Queries(NamedTuple):
    """Queries as symbol numbers, odds to begin after each and to end before it, of strings both, odds of operations."""

    encoded: EncodedStrings
    enters: np.ndarray
    leaves: np.ndarray
    splits: np.ndarray
    odds: OperationOdds


def _entrances(enters: np.ndarray, leaves: np.ndarray, scales: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights to enter a query at the beginning of a word, and to leave it at the end of one."""
    size = len(enters)
    enter, leave = np.zeros(size + 1), np.zeros(size + 1)
    before, after = np.r_[1, np.cumprod(1 / scales)], np.r_[np.cumprod(1 / scales[::-1])[::-1], 1]
    inner = np.arange(1, size)
    enter[inner] = before[inner] * enters[inner - 1]
    leave[inner] = after[inner] * leaves[inner]
    leave[size] = 1
    return enter, leave


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
