"""Candidate pairs: of all references the few that are worth a model's time for each query, and what that loses."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pyarrow as pa

from nsed.capabilities import Capability, can
from nsed.config import is_whole
from nsed.errors import ArgumentError, DataError, DoubtfulLinksWarning, TooLongError, abbreviate, warn
from nsed.evaluate.significance import Interval, wilson_interval
from nsed.jobs.operation_search import OperationSearch, known_shares, side_of
from nsed.jobs.vector_index import NgramIndex, Ranked, VectorIndex, check_encoder, encoder_vectors, plain_text
from nsed.models.persistence import load as load_model
from nsed.progress import OnBatch, ignore
from nsed.text import Pairs
from nsed.text.readers.parquet import checked_table, sound
from nsed.train.saved_model import remove_orphans, replace_file, replacing_folder

Generator = Literal["ngrams", "operations", "nbest", "vectors", "exact"]
GENERATORS: tuple[Generator, ...] = get_args(Generator)
PARAMETERS = ("by", "k", "model", "ranker")
FORMAT, SETTINGS, TEXTS, MODEL, RANKER = 1, "candidates.json", "references.arrow", "model", "ranker"
QUERIES_AT_ONCE = 2048
NBEST = 5
"""Targets of a transducer that are looked up for each query."""
POOL, LEAST_POOL = 5, 100
"""Candidates that a ranker reads for each one that it keeps, and how many at least, however few are kept."""
MORE_KNOWN = 0.05
"""How much larger the share of symbols that one side of a ranker knows must be, to say which side is meant."""
SAME_SCRIPT = 0.5
"""Share of a sample's characters that a model's other side has too, from which on both are written in one script."""


class Recall(NamedTuple):
    """Recall of candidates: how many labelled matches are among them, and at which ranks.

    >>> candidates = Candidates(k=2).fit(["Vienna", "Venice", "Verona"])
    >>> candidates.recall(Pairs.of([("wien", "Vienna"), ("rome", "Rome")]))
    Recall(matches=1, missing=1, at={1: 1.0, 2: 1.0}, interval=Interval(low=0.20..., high=1.0), lost=[])
    """

    matches: int
    """Labelled matches whose reference is known."""
    missing: int
    """Labelled matches whose reference is not among those that were indexed: no generator could find them."""
    at: dict[int, float]
    """Share of the matches among the first k candidates, by k."""
    interval: Interval
    """Wilson interval of the last of them, 95 %."""
    lost: list[tuple[str, str]]
    """Matches that are not found, the first hundred."""


class Candidates:
    """Candidate generator: `fit` references, `query` strings for the k most likely references of each.

    `by` names one or several generators, whose candidates are united, k of each: `ngrams`, cosine of TF-IDF vectors of
    character bigrams and trigrams, without case and accents, for strings of one script; `operations`, the log-odds of
    a model's table of edit operations, which relates two scripts (an edit distance, an odds matcher); `nbest`, n-grams
    of what a transducer makes of the query; `vectors`, cosine of the mean vectors of a Matcher's or Transducer's
    encoder; `exact`, the same string but for case, accents and punctuation. Without `by`, it is `operations` across two
    scripts, `nbest` of a transducer, else `ngrams`.

    A `ranker` is a second model, slower and better: it reads five times k candidates, a hundred at least, and the k
    with the largest sum of both scores are kept. Best is a Transducer that makes queries of references, log p(query |
    reference). Which side it reads, alphabets say, those of the references; where both sides have the same, a
    transducer reads references, other models queries.

    >>> candidates = Candidates(k=2).fit(["Vienna", "Venice", "Verona", "Siena"])
    >>> found = candidates.query(["wien", "venezia"])
    >>> [(query, candidates.references[row]) for query, row in zip(found.queries.tolist(), found.references.tolist())]
    [(0, 'Siena'), (0, 'Vienna'), (1, 'Venice'), (1, 'Verona')]
    """

    def __init__(
        self, by: Sequence[Generator] | Generator | None = None, *, k: int = 20, model: Any = None, ranker: Any = None
    ) -> None:
        check_parameters({"by": by, "k": k})
        self.by, self.k, self.model, self.ranker = by, k, model, ranker

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters, as scikit-learn's `clone` wants them."""
        return {name: getattr(self, name) for name in PARAMETERS}

    def set_params(self, **params: Any) -> "Candidates":
        """Set parameters, as scikit-learn's grid search does.

        Raises `ArgumentError` for unknown ones, and for values that none can be; whether a model suits, `fit` says.
        """
        for name, value in params.items():
            if name not in PARAMETERS:
                raise ArgumentError(name, got=repr(value), expected=f"one of {', '.join(PARAMETERS)}")
        check_parameters(params)
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def fit(self, references: Iterable[str], y: object = None) -> "Candidates":
        """Index the references. Equal strings are one candidate, the first of them."""
        self.references = checked_texts(references, "references")
        self.generators_ = self.chosen_generators()
        self._build()
        return self

    def query(self, texts: Iterable[str], k: int | None = None, *, on_batch: OnBatch = ignore) -> Ranked:
        """Candidates of each string, best first: rows of the query and of the reference, score.

        Scores are cosines of `ngrams`, `nbest` and `vectors`, log-odds of `operations`, 1 of `exact`. Of several
        generators each has its k, in their order; what an earlier one found is not found again. With a ranker, its
        scores are added, and of all generators together k are kept.
        """
        given, wanted = checked_texts(texts, "texts"), self.k if k is None else k
        check_k(wanted)
        if not hasattr(self, "references"):
            raise ArgumentError("candidates", got="none that are fitted", expected="Candidates.fit(references) first")
        parts = []
        for start in range(0, len(given), QUERIES_AT_ONCE):
            some = given[start : start + QUERIES_AT_ONCE]
            found = self._query(some, wanted) if self.ranker is None else self._ranked(some, wanted)
            parts.append(found._replace(queries=found.queries + start))
            on_batch(len(some))
        return Ranked(*(np.concatenate(column) for column in zip(*parts, strict=True))) if parts else NOTHING

    def query_by(self, generator: Generator, texts: Sequence[str], k: int) -> Ranked:
        """Candidates of each string that one of the generators finds, as if it were the only one."""
        found = self._by(generator, texts, k)
        return found._replace(references=self._rows[found.references])

    def recall(self, pairs: Pairs, *, ks: Sequence[int] = (1, 5, 10, 20), on_batch: OnBatch = ignore) -> Recall:
        """Recall on the matches among pairs of a query and a reference, in either order; without labels, on all."""
        row_of = {text: row for row, text in reversed(list(enumerate(self.references)))}
        true, _ = self._matches(pairs)
        known = [(query, row_of[reference]) for query, reference in true if reference in row_of]
        if not known:
            got = f"{len(true):,} matches, none of which has a string that is among the references"
            raise ArgumentError("pairs", got=got, expected="pairs of a query and a reference")
        alike = self.ranker is None or POOL * self.k <= LEAST_POOL  # else a ranker reads fewer for a smaller k
        steps = sorted({*(k for k in ks if alike and k <= self.k), self.k})
        ranks = self._ranks(known, on_batch)
        shares = {k: float((ranks < k).mean()) for k in steps}
        lost = [(known[row][0], self.references[known[row][1]]) for row in np.flatnonzero(ranks >= steps[-1])[:100]]
        interval = wilson_interval(shares[steps[-1]], len(known))
        return Recall(len(known), len(true) - len(known), shares, interval, lost)

    def mine(self, pairs: Pairs, *, negatives: int = 4, on_batch: OnBatch = ignore) -> Pairs:
        """Labelled pairs to train with: the matches among some pairs, and the best wrong candidates of their queries.

        What a linkage has to tell apart are candidates: a model that knows negatives by chance only takes many of them
        for matches. Sides are those of the pairs given; known matches, and strings equal to one, are no negatives.
        Raises `ArgumentError` where no pair matches.
        """
        true, turned = self._matches(pairs)
        if not true:
            got = f"{len(pairs):,} pairs, none that matches"
            raise ArgumentError("pairs", got=got, expected="pairs of a query and a reference, matches among them")
        right: dict[str, set[str]] = {}
        for query, reference in true:
            right.setdefault(query, set()).add(plain_text(reference))
        found = self.query(list(right), negatives + max(map(len, right.values())), on_batch=on_batch)
        queries = list(right)
        wrong: dict[str, list[str]] = {}
        for row, reference in zip(found.queries.tolist(), found.references.tolist(), strict=True):
            text, query = self.references[reference], queries[row]
            if plain_text(text) not in right[query] and len(own := wrong.setdefault(query, [])) < negatives:
                own.append(text)
        made = [*true, *((query, text) for query, own in wrong.items() for text in own)]
        labels = [True] * len(true) + [False] * (len(made) - len(true))
        one, other = [pair[0] for pair in made], [pair[1] for pair in made]
        return Pairs(other, one, labels) if turned else Pairs(one, other, labels)

    def _matches(self, pairs: Pairs) -> tuple[list[tuple[str, str]], bool]:
        """Pairs of a query and a reference that match, and whether they were the other way round."""
        labels = pairs.labels if pairs.labels is not None else [True] * len(pairs)
        known = set(self.references)
        true = [(a, b) for a, b, match in zip(pairs.sources, pairs.targets, labels, strict=True) if match]
        turned = sum(a in known for a, _ in true) > sum(b in known for _, b in true)
        return ([(b, a) for a, b in true], True) if turned else (true, False)

    def save(self, folder: str | Path) -> None:
        """Write the index to a folder: settings, references, arrays, the model.

        An older index is there until all of the new one is written. Raises `DataError` where that fails.
        """
        path = Path(folder)
        check_storable(self.references, "references")
        with replacing_folder(path, last=SETTINGS) as beside:
            self._write(beside)
            (path / SETTINGS).unlink(missing_ok=True)  # those of an older index never stand beside newer references
        for name, model in ((MODEL, self.model), (RANKER, self.ranker)):
            if model is not None:
                remove_orphans(path / name)

    def _write(self, path: Path) -> None:
        for name, model in ((MODEL, self.model), (RANKER, self.ranker)):
            if model is not None:
                model.save(path / name)
        write_texts(path / TEXTS, "reference", self.references)
        if self._ngrams is not None:
            self._ngrams.save(path)
        if self._vectors is not None:
            self._vectors.save(path)
        settings = {"format": FORMAT, "by": self.generators_, "k": self.k, "model": self.model is not None}
        settings |= {"different": len(self._different), "ranker": self.ranker is not None}
        replace_file(path / SETTINGS, json.dumps(settings).encode())

    @classmethod
    def load(cls, folder: str | Path) -> "Candidates":
        """Read an index. Raises `DataError` for a folder that has none."""
        path = Path(folder)
        try:
            settings = _checked_settings(json.loads((path / SETTINGS).read_bytes()))
            texts = read_texts(path / TEXTS, "reference")
        except (OSError, RecursionError, ValueError) as error:
            raise DataError(path, f"no index of candidates: {abbreviate(error)}") from None
        different = len(set(texts))
        if settings.get("different", different) != different:  # older ones have no count
            raise DataError(path / TEXTS, "other references than those of the index: damaged, make it again")
        model = load_model(path / MODEL) if settings["model"] else None
        ranker = load_model(path / RANKER) if settings.get("ranker") else None  # older ones have no word of it
        made = cls(settings["by"], k=settings["k"], model=model, ranker=ranker)
        made.chosen_generators()
        made.references, made.generators_ = texts, settings["by"]
        by = set(settings["by"])
        ngrams = NgramIndex.load(path, different) if {"ngrams", "nbest"} & by else None
        made._build(ngrams, VectorIndex.load(path) if "vectors" in by else None)
        return made

    def chosen_generators(self) -> list[Generator]:
        """Generators that are wanted. Raises `ArgumentError` for unknown ones, and for a model that does not suit."""
        by = self.by
        if self.ranker is not None and not can(self.ranker, Capability.SCORE):
            raise ArgumentError("ranker", got=f"a {type(self.ranker).__name__}", expected="a model that scores pairs")
        if by is None:
            return [self._suitable()]
        listed = checked_generators(by)
        if {"operations", "nbest", "vectors"} & set(listed) and self.model is None:
            raise ArgumentError("model", got="none", expected=f"a model, for {' and '.join(listed)}")
        if "nbest" in listed and not can(self.model, Capability.TRANSDUCE):
            raise ArgumentError("model", got=f"a {type(self.model).__name__}", expected="a transducer, for nbest")
        if "vectors" in listed:
            check_encoder(self.model)
        return listed

    def _suitable(self) -> Generator:
        if self.model is None:
            return "ngrams"
        if can(self.model, Capability.TRANSDUCE):
            return "nbest"
        return "operations" if can(self.model, Capability.OPERATIONS) and crosses_scripts(self.model) else "ngrams"

    def _build(self, ngrams: NgramIndex | None = None, vectors: VectorIndex | None = None) -> None:
        first: dict[str, int] = {}
        for row, text in enumerate(self.references):
            first.setdefault(text, row)
        self._different, self._rows = list(first), np.fromiter(first.values(), np.int64, len(first))
        self._ranks_queries = self.ranker is not None and reads_queries(self.ranker, self._different)
        by = set(self.generators_)
        self._ngrams = ngrams or (NgramIndex.of(self._different) if {"ngrams", "nbest"} & by else None)
        self._search = OperationSearch.of(self.model, self._different) if "operations" in by else None
        if "vectors" in by and vectors is None:
            vectors = VectorIndex.of(encoder_vectors(self.model, self._different))
        self._vectors = vectors
        self._keys: dict[str, list[int]] = {}
        for place, text in enumerate(self._different) if "exact" in by else ():
            self._keys.setdefault(plain_text(text), []).append(place)

    def _query(self, texts: Sequence[str], k: int) -> Ranked:
        found = [self.query_by(generator, texts, k) for generator in self.generators_]
        queries, references, scores = (np.concatenate(column) for column in zip(*found, strict=True))
        turn = np.repeat(np.arange(len(found)), [len(one.queries) for one in found])
        order = np.lexsort((np.arange(len(queries)), turn, queries))
        queries, references, scores = queries[order], references[order], scores[order]
        _, first = np.unique(queries * max(len(self.references), 1) + references, return_index=True)
        first.sort()
        return Ranked(queries[first], references[first], scores[first])

    def _ranked(self, texts: Sequence[str], k: int) -> Ranked:
        """The k candidates with the largest sum of scores of search and ranker, best first."""
        found = self._query(texts, max(POOL * k, LEAST_POOL))
        asked, there = [texts[row] for row in found.queries], [self.references[row] for row in found.references]
        sides = (asked, there) if self._ranks_queries else (there, asked)
        scores = found.scores + ranker_scores(self.ranker, Pairs(*sides))
        short = np.flatnonzero(~np.isnan(scores))
        if len(short) < len(scores):
            message = f"candidates that are too long for the ranker, and left out: {len(scores) - len(short):,}"
            warn(DoubtfulLinksWarning(message))
        order = short[np.lexsort((-scores[short], found.queries[short]))]
        order = order[rank_of(found.queries[order]) < k]
        return Ranked(found.queries[order], found.references[order], scores[order])

    def _by(self, generator: Generator, texts: Sequence[str], k: int) -> Ranked:
        if generator == "ngrams" and self._ngrams is not None:
            return self._ngrams.query(texts, k)
        if generator == "nbest" and self._ngrams is not None:
            return self._by_nbest(self._ngrams, texts, k)
        if self._search is not None and generator == "operations":
            return self._search.query(texts, k)
        if self._vectors is not None and generator == "vectors":
            return self._vectors.query(encoder_vectors(self.model, texts), k)
        hits = [(row, place) for row, text in enumerate(texts) for place in self._keys.get(plain_text(text), ())[:k]]
        rows, places = np.array(hits, np.int64).reshape(-1, 2).T
        return Ranked(rows, places, np.ones(len(rows)))

    def _by_nbest(self, ngrams: NgramIndex, texts: Sequence[str], k: int) -> Ranked:
        """Best references of any of the targets that a transducer gives a query; each with its best similarity."""
        answers = self.model.transduce(list(texts), nbest=NBEST)
        rows = np.repeat(np.arange(len(texts)), [len(best) for best in answers])
        found = ngrams.query([one.text for best in answers for one in best], k)
        queries = rows[found.queries]
        order = np.lexsort((found.references, -found.scores, queries))
        queries, references, scores = queries[order], found.references[order], found.scores[order]
        _, first = np.unique(queries * max(ngrams.size, 1) + references, return_index=True)
        first.sort()
        queries, references, scores = queries[first], references[first], scores[first]
        kept = rank_of(queries) < k
        return Ranked(queries[kept], references[kept], scores[kept])

    def _ranks(self, known: Sequence[tuple[str, int]], on_batch: OnBatch) -> np.ndarray:
        """Rank of the right reference of each query; one beyond all where it is not among the candidates."""
        different = list(dict.fromkeys(query for query, _ in known))
        place = {query: row for row, query in enumerate(different)}
        found = self.query(different, on_batch=on_batch)
        pairs = zip(found.queries.tolist(), found.references.tolist(), strict=True)
        ranks = dict(zip(pairs, rank_of(found.queries).tolist(), strict=True))
        return np.array([ranks.get((place[query], row), np.inf) for query, row in known])


def check_parameters(params: Mapping[str, Any]) -> None:
    """Check some parameters of `Candidates`, without the models. Raises `ArgumentError` for what none can be."""
    if "k" in params:
        check_k(params["k"])
    if params.get("by") is not None:
        checked_generators(params["by"])


def check_k(k: object) -> None:
    """Check a number of candidates. Raises `ArgumentError` for what is none."""
    if not is_whole(k, low=1):
        raise ArgumentError("k", got=repr(k), expected="a whole number, 1 or more")


def checked_generators(by: object) -> list[Generator]:
    """Generators that are named, as a list. Raises `ArgumentError` for unknown ones, and for none."""
    listed: list[Any] = [by] if isinstance(by, str) or not isinstance(by, Collection) else list(by)
    unknown = [str(one) for one in listed if one not in GENERATORS]
    if unknown or not listed:
        raise ArgumentError("by", got=", ".join(unknown) or "none", expected=f"some of {', '.join(GENERATORS)}")
    return listed


def recall_of(found: Ranked, queries: Sequence[str], references: Sequence[str], pairs: Pairs) -> Recall:
    """Recall of candidates however they were found, at the largest number of them that a query has.

    Raises `ArgumentError` for labelled pairs of which none has a query and a reference that are known.
    """
    there = {
        (queries[a], references[b]) for a, b in zip(found.queries.tolist(), found.references.tolist(), strict=True)
    }
    labels = pairs.labels if pairs.labels is not None else [True] * len(pairs)
    given = list(zip(pairs.sources, pairs.targets, strict=True))
    true = [(a, b) for (a, b), match in zip(given, labels, strict=True) if match]
    sides = set(queries), set(references)
    turned = [(b, a) for a, b in true]
    known = max(([one for one in way if one[0] in sides[0] and one[1] in sides[1]] for way in (true, turned)), key=len)
    if not known:
        got = f"{len(true):,} matches, none of which is of a query and a reference"
        raise ArgumentError("pairs", got=got, expected="pairs of a query and a reference")
    share = sum(one in there for one in known) / len(known)
    lost = [one for one in known if one not in there][:100]
    most = int(np.bincount(found.queries).max(initial=0))
    return Recall(len(known), len(true) - len(known), {most: share}, wilson_interval(share, len(known)), lost)


NOTHING = Ranked(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))


def rank_of(queries: np.ndarray) -> np.ndarray:
    """Place of each candidate among those of its query, which stand together."""
    first = np.r_[True, queries[1:] != queries[:-1]][: len(queries)]
    starts = np.flatnonzero(first)
    return np.arange(len(queries)) - np.repeat(starts, np.diff(np.r_[starts, len(queries)]))


def crosses_scripts(model: Any) -> bool:
    """Whether the two sides of a model are written in different alphabets."""
    sides = [set(side.symbols) for side in model.tokenizers.vocabularies.values()]
    return len(sides[0] & sides[1]) < SAME_SCRIPT * min(map(len, sides))


def is_reversed(model: Any, texts: Sequence[str]) -> bool:
    """Whether strings that should be the sources of a model are written as its targets are."""
    return hasattr(model, "tokenizers") and crosses_scripts(model) and side_of(model.tokenizers, texts) == "target"


def reads_queries(ranker: Any, references: Sequence[str]) -> bool:
    """Whether queries, not references, are the sources of a ranker.

    Alphabets say it, where one side knows more symbols of the references; else a transducer reads references, other
    models queries. It never depends on the queries, so that none depends on those around it.
    """
    if hasattr(ranker, "tokenizers"):
        source, target = known_shares(ranker.tokenizers, references)
        if abs(source - target) > MORE_KNOWN:
            return target > source
    return not can(ranker, Capability.TRANSDUCE)


def ranker_scores(ranker: Any, pairs: Pairs) -> np.ndarray:
    """Scores of pairs by a ranker; NaN of those that are too long for it, which halves of the pairs find."""
    try:
        return np.asarray(ranker.score(pairs), dtype=np.float64)
    except TooLongError:
        if len(pairs) == 1:
            return np.array([np.nan])
    halves = np.array_split(np.arange(len(pairs)), 2)
    return np.concatenate([ranker_scores(ranker, pairs.chosen(rows.tolist())) for rows in halves])


def checked_texts(texts: Iterable[str], name: str) -> list[str]:
    """Strings as a list. Raises `ArgumentError` for what is none."""
    if isinstance(texts, str):
        raise ArgumentError(name, got=repr(texts), expected="several strings: a list, or a column")
    listed = texts.to_pylist() if hasattr(texts, "to_pylist") else list(texts)
    wrong = next((row for row, one in enumerate(listed) if not isinstance(one, str)), None)
    if wrong is not None:
        raise ArgumentError(name, got=f"{listed[wrong]!r} at place {wrong}", expected="strings")
    return listed


def check_storable(texts: Iterable[str], name: str) -> None:
    r"""Check that a file can hold some strings. Raises `ArgumentError` for half a character, which no encoding has.

    >>> check_storable(["Vienna", "\ud83d"], "texts")
    Traceback (most recent call last):
    nsed.errors.ArgumentError: texts: got '\ud83d' at place 1, expected whole characters, no lone surrogate
    """
    for place, text in enumerate(texts):
        if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
            expected = "whole characters, no lone surrogate"
            raise ArgumentError(name, got=f"{abbreviate(repr(text))} at place {place}", expected=expected)


def write_texts(path: Path, name: str, texts: Sequence[str]) -> None:
    """Write strings as a column of an Arrow file, for `read_texts`."""
    table = pa.table({name: pa.array(texts, pa.string())})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def read_texts(path: Path, name: str) -> list[str]:
    """Strings of a column of an Arrow file that this package wrote. Raises `DataError` where it is damaged."""
    if not path.is_file():
        raise DataError(path, "cannot be read: No such file")
    with sound(path), pa.memory_map(str(path)) as file:
        table = checked_table(pa.ipc.open_file(file).read_all())
        if table.column_names != [name] or table.schema.types != [pa.string()] or table.column(name).null_count:
            raise DataError(path, f"expected one column of text, {name!r}: damaged")
        texts: list[str] = table.column(name).to_pylist()
        return texts


def _checked_settings(settings: Any) -> dict[str, Any]:
    """The same settings. Raises `ValueError` where they are not what `Candidates` writes."""
    types = {"format": int, "by": list, "k": int, "model": bool}
    wrong = [
        one for one, kind in types.items() if not isinstance(settings, dict) or type(settings.get(one)) is not kind
    ]
    if wrong or settings["k"] < 1 or not all(isinstance(one, str) for one in settings["by"]):
        raise ValueError(f"{SETTINGS} is incomplete or altered: {', '.join(wrong) or 'by, k'}")
    checked: dict[str, Any] = settings
    return checked
