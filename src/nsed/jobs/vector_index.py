"""Vector indexes: strings as vectors, and those with the highest cosine for a query.

Vectors are sparse, TF-IDF of character n-grams in an inverted index, or dense, means of what a network's encoder makes
of the symbols; of many, the nearest dense ones are found by a graph (`usearch`, extra `link`), nearly all of them.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tokenize import TokenError
from typing import Any, NamedTuple

import numpy as np
import torch

from nsed.encoders.base import inside
from nsed.encoders.string_encoder import with_end
from nsed.errors import ArgumentError, DataError, abbreviate
from nsed.kernels.contracts import Best, InvertedIndex, SparseQueries
from nsed.kernels.dispatch import CANDIDATES, ON_CPU
from nsed.networks.matcher import MatcherNetwork
from nsed.networks.transducer import TransducerNetwork

LONGEST, BITS = 3, 21
"""Longest n-grams, after bigrams, and bits of a code point: a number of 64 bits holds three of them."""
BUDGET = 2**20
"""Entries of the index that a query looks at, rarest n-grams first: of small indexes all. Then the best rows so far,
`POOL` times as many as are wanted, are compared by all n-grams."""
POOL, LEAST_POOL = 16, 128
EXACT = 2**17
"""Dense vectors up to which all are compared, since that is quick; of more only where `usearch` is not installed."""
ENCODED_AT_ONCE, COMPARED_AT_ONCE = 1024, 256
"""Strings that an encoder reads at once, and queries that are compared with all vectors at once."""
START, END = "\x02", "\x03"
"""Before and after each string: n-grams know its beginning and its end."""


class Ranked(NamedTuple):
    """Best references of queries, those of a query together, best first: row of the query, of the reference, score."""

    queries: np.ndarray
    references: np.ndarray
    scores: np.ndarray


def ranked(best: Best) -> Ranked:
    """Ranked rows of the best ones of queries."""
    queries = np.repeat(np.arange(len(best.rows)), best.counts)
    here = np.arange(best.rows.shape[1]) < best.counts[:, None]
    rows, values = best.rows[here], best.scores[here]
    order = np.lexsort((rows, -values, queries))
    return Ranked(queries, rows[order].astype(np.int64), values[order])


def plain_text(text: str) -> str:
    """String without case, accents and differences of spaces and punctuation.

    >>> plain_text("  São-Paulo"), plain_text("Ёлка")
    ('sao paulo', 'елка')
    """
    apart = unicodedata.normalize("NFKD", text.casefold())
    kept = "".join(one if one.isalnum() else "" if unicodedata.combining(one) else " " for one in apart)
    return " ".join(kept.split())


class NgramCounts(NamedTuple):
    """N-grams of strings: for each different one of a string its row, its key and how often it is there; by rows."""

    rows: np.ndarray
    keys: np.ndarray
    counts: np.ndarray


def count_ngrams(texts: Sequence[str], longest: int = LONGEST) -> NgramCounts:
    """Count the n-grams from bigrams to the longest.

    >>> count_ngrams(["abab"]).counts.tolist()  # ^a, ab, ba, b$, ^ab, aba, bab, ab$
    [1, 2, 1, 1, 1, 1, 1, 1]
    """
    flat = "".join(f"{START}{plain_text(text)}{END}" for text in texts)
    codes = np.frombuffer(flat.encode("utf-32-le", errors="surrogatepass"), dtype=np.uint32).astype(np.uint64)
    rows = np.cumsum(codes == ord(START)) - 1
    keys, places = codes, []
    for size in range(1, longest):
        keys = (keys[:-1] << np.uint64(BITS)) | codes[size:]
        same = rows[: len(keys)] == rows[size:]
        places.append((keys[same], rows[: len(keys)][same]))
    all_keys, all_rows = (np.concatenate(parts) for parts in zip(*places, strict=True))
    order = np.lexsort((all_keys, all_rows))
    all_keys, all_rows = all_keys[order], all_rows[order]
    new = np.r_[True, (all_keys[1:] != all_keys[:-1]) | (all_rows[1:] != all_rows[:-1])][: len(all_keys)]
    first = np.flatnonzero(new)
    return NgramCounts(all_rows[first], all_keys[first], np.diff(np.r_[first, len(all_keys)]))


@dataclass(frozen=True)
class NgramIndex:
    """Inverted index of character n-grams with TF-IDF weights; similarity is the cosine.

    >>> index = NgramIndex.of(["Vienna", "Venice", "Verona"])
    >>> index.query(["wien", "venezia"], 1).references.tolist()
    [0, 1]
    """

    size: int
    """Number of strings."""
    keys: np.ndarray
    """Different n-grams, sorted."""
    idf: np.ndarray
    offsets: np.ndarray
    """Where the strings of each n-gram begin in `rows` and `weights`."""
    rows: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, texts: Sequence[str]) -> "NgramIndex":
        """Index of strings."""
        counted = count_ngrams(texts)
        keys, numbers = np.unique(counted.keys, return_inverse=True)
        idf = np.log((len(texts) + 1) / (np.bincount(numbers, minlength=len(keys)) + 1)) + 1
        weights = _unit(counted.rows, np.sqrt(counted.counts) * idf[numbers], len(texts))
        order = np.argsort(numbers, kind="stable")
        offsets = np.r_[0, np.cumsum(np.bincount(numbers, minlength=len(keys)))]
        rows = counted.rows[order].astype(np.int32)
        return cls(len(texts), keys, idf, offsets, rows, weights[order].astype(np.float32))

    def query(self, texts: Sequence[str], k: int) -> Ranked:
        """The k most similar strings of each query, fewer where not as many share an n-gram with it."""
        index, kernel = InvertedIndex(self.offsets, self.rows, self.weights, self.size), CANDIDATES.choose(ON_CPU).code
        pool = max(POOL * k, LEAST_POOL)
        return ranked(kernel.best_by_ngrams(self._vectors(texts), index, min(k, self.size), budget=BUDGET, pool=pool))

    def save(self, folder: Path) -> None:
        """Write the arrays to a folder, one file each."""
        for name in ARRAYS:
            np.save(folder / f"ngrams-{name}.npy", getattr(self, name))

    @classmethod
    def load(cls, folder: Path, size: int) -> "NgramIndex":
        """Index of a folder, mapped into memory: what no query needs is not read.

        Raises `DataError` for damaged arrays; the numbers of rows and weights, by far the largest, are not looked at.
        Mapped copy on write, although nobody writes: kernels are compiled once for arrays that can be written to.
        """
        try:
            arrays = {name: np.load(folder / f"ngrams-{name}.npy", mmap_mode="c") for name in ARRAYS}
        except (EOFError, OSError, OverflowError, RecursionError, TokenError, TypeError, ValueError) as error:
            raise DataError(folder, f"no index of n-grams: {abbreviate(error)}") from None
        made = cls(size, **arrays)
        if not made._fits():
            raise DataError(folder, "the index of n-grams is damaged: make it again")
        return made

    def _fits(self) -> bool:
        """Whether the arrays are of sizes and types that fit together."""
        grams, entries = len(np.atleast_1d(self.keys)), len(np.atleast_1d(self.rows))
        shapes = [(grams,), (grams,), (grams + 1,), (entries,), (entries,)]
        kinds = ["u", "f", "i", "i", "f"]
        arrays = (self.keys, self.idf, self.offsets, self.rows, self.weights)
        if [one.shape for one in arrays] != shapes or [one.dtype.kind for one in arrays] != kinds:
            return False
        steps = np.diff(self.offsets)
        return bool(self.offsets[0] == 0 and self.offsets[-1] == entries and (steps >= 0).all())

    def _vectors(self, texts: Sequence[str]) -> SparseQueries:
        """TF-IDF vectors of queries; in their lengths unknown n-grams count, too."""
        counted = count_ngrams(texts)
        places = np.searchsorted(self.keys, counted.keys)
        places[places == len(self.keys)] = 0
        known = self.keys[places] == counted.keys if len(self.keys) else np.zeros(len(places), bool)
        rarest = np.log(self.size + 1) + 1
        idf = np.where(known, self.idf[places] if len(self.keys) else 0, rarest)
        weights = _unit(counted.rows, np.sqrt(counted.counts) * idf, len(texts))[known]
        starts = np.r_[0, np.cumsum(np.bincount(counted.rows[known], minlength=len(texts)))]
        grams = places[known]
        order = np.lexsort((grams, self.offsets[grams + 1] - self.offsets[grams], counted.rows[known]))
        return SparseQueries(starts, grams[order], weights[order])


ARRAYS = ("keys", "idf", "offsets", "rows", "weights")


def _unit(rows: np.ndarray, weights: np.ndarray, size: int) -> np.ndarray:
    """Weights of vectors of length one."""
    norms = np.sqrt(np.bincount(rows, weights=weights**2, minlength=size))
    return np.asarray(weights / np.maximum(norms, 1e-12)[rows])


@torch.no_grad()
def encoder_vectors(model: Any, texts: Sequence[str]) -> np.ndarray:
    """Mean vectors of the symbols of each string by the encoder of a model's sources, of length one, [texts, dim].

    Raises `ArgumentError` for a model whose sources and targets are not read alike, see `check_encoder`.
    """
    check_encoder(model)
    strings, network = model.tokenizers.source.encode(list(texts)), model.network
    order = np.argsort(strings.lengths, kind="stable")
    found = [torch.zeros((0, model.config.encoder.dim))]
    for start in range(0, len(order), ENCODED_AT_ONCE):
        rows = order[start : start + ENCODED_AT_ONCE]
        lengths = torch.from_numpy(strings.lengths[rows]).to(model.device)
        language = None if model.languages is None else torch.full_like(lengths, model.languages.encode([""])[0])
        vectors = network.source_encoder(
            with_end(strings.padded(rows).to(model.device), lengths), lengths + 1, language
        )
        real = inside(lengths + 1, vectors.shape[1])
        found.append(torch.nn.functional.normalize((vectors * real[..., None]).sum(dim=1), dim=1).float().cpu())
    return np.asarray(torch.cat(found).numpy()[np.argsort(order, kind="stable")])


def check_encoder(model: Any) -> None:
    """Check that a model has an encoder that reads queries and references alike. Raises `ArgumentError`."""
    network = getattr(model, "network", None)
    if isinstance(network, TransducerNetwork) or (isinstance(network, MatcherNetwork) and network.reads_alike):
        return
    got = f"a {type(model).__name__}" + (" of two alphabets" if isinstance(network, MatcherNetwork) else "")
    expected = "a Matcher of one alphabet (--set shared_alphabet=true), or a Transducer, for vectors"
    raise ArgumentError("model", got=got, expected=expected)


@dataclass(frozen=True)
class VectorIndex:
    """Dense vectors of length one, and those with the highest inner products with a query's: of many by a graph.

    >>> index = VectorIndex.of(np.eye(3, dtype=np.float32))
    >>> index.query(np.array([[0.6, 0.8, 0.0]], np.float32), 2).references.tolist()
    [1, 0]
    """

    vectors: np.ndarray
    graph: Any = None

    @classmethod
    def of(cls, vectors: np.ndarray) -> "VectorIndex":
        """Index of vectors; the same of the same ones, since one thread makes the graph."""
        if len(vectors) <= EXACT or find_spec("usearch") is None:
            return cls(vectors)
        graph = import_module("usearch.index").Index(ndim=vectors.shape[1], metric="ip", dtype="f32")
        graph.add(np.arange(len(vectors)), vectors, threads=1)
        return cls(vectors, graph)

    def query(self, vectors: np.ndarray, k: int) -> Ranked:
        """The k vectors with the highest inner products with each query's."""
        shape = len(vectors), min(k, len(self.vectors))
        if not (shape[0] and shape[1]):
            return ranked(Best.empty(shape[0], 0))
        if self.graph is not None:
            near = self.graph.search(vectors, shape[1], threads=1)
            keys, found = near.keys.reshape(shape).astype(np.int64), 1 - near.distances.reshape(shape).astype(float)
            return ranked(Best(keys, found, np.full(shape[0], shape[1])))
        rows, scores = np.zeros(shape, np.int64), np.zeros(shape)
        for start in range(0, len(vectors), COMPARED_AT_ONCE):
            part = slice(start, start + COMPARED_AT_ONCE)
            products = vectors[part] @ self.vectors.T
            rows[part] = np.argpartition(-products, shape[1] - 1, axis=1)[:, : shape[1]]
            scores[part] = np.take_along_axis(products, rows[part], axis=1)
        return ranked(Best(rows, scores, np.full(shape[0], shape[1])))

    def save(self, folder: Path) -> None:
        """Write vectors, and the graph if there is one, to a folder."""
        np.save(folder / VECTORS, self.vectors)
        if self.graph is not None:
            self.graph.save(str(folder / GRAPH))

    @classmethod
    def load(cls, folder: Path) -> "VectorIndex":
        """Index of a folder, mapped into memory; without `usearch`, all vectors are compared."""
        vectors = np.load(folder / VECTORS, mmap_mode="r")
        if not (folder / GRAPH).exists() or find_spec("usearch") is None:
            return cls(vectors)
        return cls(vectors, import_module("usearch.index").Index.restore(str(folder / GRAPH), view=True))


VECTORS, GRAPH = "vectors.npy", "vectors.usearch"
