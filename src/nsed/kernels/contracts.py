"""Kernel contracts: what every implementation of the seven kernels must do, the records they share, and their refusals.

A module in `torch/`, `numba/` or `triton/` is an implementation if it has the functions of the protocol of its kernel;
that of the lattice is a class. Wherever cells are impossible, they hold NEG.

A refusal says why an implementation cannot do what it is given, in words; nothing where it can. A kernel's refusals all
take the same arguments, those of `Kernel.choose`. They are asked in every step of training and decoding, and only where
the device is right (`switch.devices_of`), so they only look at types and sizes, and at whether a gradient is asked for:
that of something that requires one. Whether autograd is on says nothing.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from nsed.kernels.semiring import Semiring, incoming
from nsed.types import Cells, Lengths, PerPair, Stack, Table

SourceVectors = Float[Tensor, "batch src dim"]
TargetVectors = Float[Tensor, "batch tgt dim"]
Weight = Float[Tensor, "classes dim"]
Constant = Float[Tensor, " classes"]
ClassScores = Float[Tensor, "batch src tgt classes"]


class Features(NamedTuple):
    """Pair features `x = dropout(relu(source[i] + target[j]))`, with sum and sum of squares."""

    x: Float[Tensor, "batch src tgt dim"]
    total: Table
    squares: Table


@runtime_checkable
class PairScoresKernel(Protocol):
    """Pair-score kernel: scores of the classes of operations in every cell, from what the two symbols contribute."""

    def pair_scores(
        self,
        source: SourceVectors,
        target: TargetVectors,
        weight: Weight,
        constant: Constant,
        *,
        eps: float,
        dropout: float = 0.0,
    ) -> ClassScores:
        """`weight @ x` over the deviation of x, plus constant, where `x = dropout(relu(source[i] + target[j]))`.

        The rows of `weight` must have mean 0: so x needs no centring, and this is layer normalisation and a projection.
        """

    def features(self, source: SourceVectors, target: TargetVectors, *, dropout: float = 0.0) -> Features:
        """Pair features: the table of x itself, for whoever reads it more than once."""


@runtime_checkable
class ArcsKernel(Protocol):
    """Arc kernel: log-probabilities of the arcs that enter cells, from scores in the cells that they leave."""

    def outgoing_arcs(
        self, scores: ClassScores, target: Int[Tensor, "batch m"], lengths: tuple[Lengths, Lengths]
    ) -> tuple[Table, Table, Table, PerPair]:
        """Outgoing (exact) normalisation, over all that can happen in a cell: delete, each insert, each substitute.

        Delete, insert and substitute arcs of the target's own symbols, and the log-probability of the target's end.
        What stands beyond a pair's own cells means nothing.
        """

    def match_arcs(self, scores: Float[Tensor, "batch src tgt 4"]) -> tuple[Table, Table, Table, Table]:
        """Incoming normalisation, the Matcher's, over what enters a cell: delete, insert, substitute and non-match.

        The non-match class of a cell is scored where its substitution starts, on the borders where its only arc starts.
        """


class Backend(ABC):
    """Lattice kernel: two recursions over the cells of a batch of lattices, unknown to autograd, and their products.

    Callers pass arcs whose impossible places hold NEG (in `forward`) or 0 (in `sweep`), so a backend needs to know
    neither lengths nor masks.
    """

    @abstractmethod
    def forward(self, weights: Stack, semiring: Semiring) -> Cells:
        """Forward recursion: `x[0,0] = 0`; `x[c]` = semiring sum over arcs a into c of `x[start of a] + weights[a]`."""

    @abstractmethod
    def sweep(self, injection: Cells, ratios: Stack, reverse: bool) -> Cells:
        """`x[c] = injection[c]` + sum over arcs a into c (`reverse`: out of c) of `ratios[a] * x[other end of a]`."""

    def gradient(self, injection: Cells, weights: Stack, alpha: Cells, semiring: Semiring) -> Stack:
        """Gradient by the weights, where `injection` is that by `alpha = forward(weights)`.

        A backend may do it in one go; this is what it must give.
        """
        ratios = semiring.ratios(incoming(alpha, weights))
        return self.sweep(injection, ratios, reverse=True) * ratios


Vectors = Float[Tensor, "batch length dim"]
Order = Int[Tensor, "batch length"]
"""Reading order: at which place of its string the first, second, ... symbol to be read stands."""


class Kinds(NamedTuple):
    """Deduplicated vectors: the few different ones there are, and which one stands where."""

    table: Float[Tensor, "kinds dim"]
    symbols: Int[Tensor, "batch length"]


@runtime_checkable
class GruKernel(Protocol):
    """GRU kernel: gated recurrent units over strings. `kinds` may save work: one product per kind of symbol."""

    def read_onward(self, unit: nn.GRU, strings: Vectors, kinds: Kinds | None = None) -> Vectors:
        """Unidirectional GRU: what a unit makes of strings, from left to right."""

    def read_both_ways(
        self, units: tuple[nn.GRU, nn.GRU], strings: Vectors, back: Order, kinds: Kinds | None = None
    ) -> Float[Tensor, "batch length both"]:
        """Bidirectional GRU, two units side by side: the second reads in the order `back`, its own inverse."""

    def read_next(
        self,
        unit: nn.GRU,
        vector: Float[Tensor, "batch dim"],
        hidden: Float[Tensor, "batch dim"],
        kinds: Kinds | None = None,
    ) -> Float[Tensor, "batch dim"]:
        """GRU step: the hidden state after one symbol more, which is also what the unit makes of it."""


class StringVectors(NamedTuple):
    """Ragged array of symbol vectors of many strings: `flat[starts[s] : starts[s + 1]]` are the rows of string s.

    The last row of each string is that of `</s>`.
    """

    vectors: Float[Tensor, "kinds dim"]
    flat: Int[Tensor, " symbols"]
    starts: Int[Tensor, " bounds"]
    similar: Float[Tensor, "kinds heads part"] | None = None
    """Vectors of the similarity heads, whose dot products are the similarities of two symbols; None without heads."""

    @property
    def lengths(self) -> Int[Tensor, " strings"]:
        """Lengths: symbols of each string, `</s>` not counted."""
        return self.starts.diff() - 1

    def rows_of(self, strings: Int[Tensor, " pairs"], length: int) -> Int[Tensor, "pairs symbols"]:
        """Row index: which vectors are those of strings of one length, `</s>` included."""
        places = torch.arange(length + 1, device=strings.device)
        return self.flat[self.starts[strings][:, None] + places]


class TableStrings(NamedTuple):
    """Ragged array of the kinds of symbols of many strings, and what an operation table says of each kind.

    A kind is what tells weights apart: a symbol, or a symbol in a class of places. `flat[starts[s] : starts[s + 1]]`
    are the kinds of string s.
    """

    flat: Int[Tensor, " symbols"]
    starts: Int[Tensor, " bounds"]
    gap: Float[Tensor, " kinds"]
    """Log-weight of its deletion, or insertion."""
    row: Int[Tensor, " kinds"]
    """Its row (of targets: its column) in the substitution table."""
    factor: Float[Tensor, " kinds"]
    """Factor on the entries of that row or column."""
    shift: Float[Tensor, " kinds"]
    """What is added to them then."""

    @property
    def lengths(self) -> Int[Tensor, " strings"]:
        """Lengths: symbols of each string."""
        return self.starts.diff()

    def rows_of(self, strings: Int[Tensor, " pairs"], length: int) -> Int[Tensor, "pairs symbols"]:
        """Kinds of the symbols of strings up to a length, the shorter ones filled up with any."""
        places = self.starts[strings][:, None] + torch.arange(length, device=strings.device)
        return self.flat[places.clamp(max=max(0, len(self.flat) - 1))].long()


HeadWeights = Float[Tensor, "heads dim"]
SubstitutionTable = Float[Tensor, "sources targets"]
Rows = Int[Tensor, " pairs"]
Score = Callable[[Rows, Rows], PerPair]
"""Scoring function: log alpha[n, m] of pairs (row of source, row of target)."""


@runtime_checkable
class MatchScoresKernel(Protocol):
    """Match-score kernel: the Matcher's log alpha of many pairs, pair scores, arcs and lattice of each in one."""

    def scorer(
        self,
        source: StringVectors,
        target: StringVectors,
        weight: Weight,
        constant: Constant,
        *,
        eps: float,
        pairs: int,
        heads: HeadWeights | None = None,
    ) -> Score:
        """Scorer for these strings and so many pairs, the faster way; below -660 it may give minus infinity.

        `heads` is what a similarity adds to the features, one row per head, where strings have `similar` vectors.
        """


@runtime_checkable
class TableScoresKernel(Protocol):
    """Table-score kernel: log alpha of many pairs whose arc weights come from a table, arcs and lattice in one."""

    def scorer(self, source: TableStrings, target: TableStrings, table: SubstitutionTable, *, pairs: int) -> Score:
        """Scorer for these strings and so many pairs; NEG, or below, for a pair that has no derivation.

        A deletion or insertion weighs the `gap` of its kind, a substitution `factor * factor * table[row, column]` with
        both shifts added. Weights may have any sign and size; at or below NEG they are impossible operations.
        """


class SparseQueries(NamedTuple):
    """Sparse vectors of queries: where each begins, the numbers of its n-grams, rarest first, and their weights."""

    starts: np.ndarray
    grams: np.ndarray
    weights: np.ndarray


class InvertedIndex(NamedTuple):
    """Inverted index: where the rows of each n-gram begin, these, sorted, and their weights; of so many rows in all."""

    offsets: np.ndarray
    rows: np.ndarray
    weights: np.ndarray
    size: int


class EncodedQueries(NamedTuple):
    """Queries as symbol numbers, where each begins, and the odds to enter one after, and to leave it before, a symbol.

    Words at the ends may be left out so; the odds are 0 where a symbol separates no words.
    """

    starts: np.ndarray
    flat: np.ndarray
    enters: np.ndarray
    leaves: np.ndarray


class SortedStrings(NamedTuple):
    """Sorted strings as symbol numbers, where each begins, how many symbols it shares with the one before it.

    `splits` are the odds to enter or to leave a string at a symbol, by its number.
    """

    starts: np.ndarray
    flat: np.ndarray
    shared: np.ndarray
    splits: np.ndarray


class OperationOdds(NamedTuple):
    """Odds of operations, from the strings' symbols to those of the queries, without logarithm."""

    delete: np.ndarray
    insert: np.ndarray
    substitute: np.ndarray
    scales: np.ndarray
    """What insertions and substitutions are divided by, for each symbol of queries: then no product overflows."""


class Best(NamedTuple):
    """Best rows for queries, [queries, k], of which each query has so many, and their scores; in any order."""

    rows: np.ndarray
    scores: np.ndarray
    counts: np.ndarray

    @classmethod
    def empty(cls, queries: int, k: int) -> "Best":
        """Room for the best rows of queries."""
        return cls(np.zeros((queries, k), np.int64), np.zeros((queries, k)), np.zeros(queries, np.int64))


@runtime_checkable
class CandidatesKernel(Protocol):
    """Candidate kernel, on CPUs: the k rows with the highest scores for each query; of equal ones the first."""

    def best_by_ngrams(self, queries: SparseQueries, index: InvertedIndex, k: int, *, budget: int, pool: int) -> Best:
        """The best rows by the inner product.

        Beyond a budget of entries of the index, the rarest n-grams first, only the `pool` best rows so far are scored.
        """

    def best_by_operations(self, queries: EncodedQueries, strings: SortedStrings, odds: OperationOdds, k: int) -> Best:
        """The best strings by the sum over all derivations, divided by the query's scales; none that is impossible."""


MOST_NUMBERS = 2**31
"""Maximum table size in numbers: Triton's kernels count places in 32 bits."""
LONGEST, MOST_SCORED, MOST_WEIGHED = 64, 256, 1024
"""What a program of Triton can hold: symbols of a string with its end, classes to be scored, classes to be weighed."""
FLOATS = (torch.float32, torch.float64)


def never(*_: Any) -> str:
    """Refusal of torch's implementations: none, they can always run."""
    return ""


def no_floats(tensor: Tensor, *_: Any) -> str:
    """Refusal of arcs, match scores and table scores by numba."""
    return "" if tensor.dtype in FLOATS else "is compiled for float32 and float64"


def no_triton_pair_scores(source: Tensor, target: Tensor, weight: Tensor, dropout: float) -> str:
    """Refusal of pair scores, and tables of features, by Triton."""
    if source.dtype not in (torch.float32, torch.bfloat16):
        return "is compiled for float32 and bfloat16"
    cells, classes = len(source) * source.shape[1] * target.shape[1], len(weight)
    fits = max(source.shape[1], target.shape[1]) <= LONGEST and classes <= MOST_SCORED and dropout < 1
    fits = fits and 0 < cells * max(classes, source.shape[2]) < MOST_NUMBERS
    return "" if fits else f"does strings below {LONGEST} symbols and {MOST_SCORED} classes at most"


def no_numba_pair_scores(source: Tensor, target: Tensor, weight: Tensor, dropout: float) -> str:
    """Refusal of pair scores by numba."""
    if source.dtype not in FLOATS:
        return "is compiled for float32 and float64"
    return "" if dropout < 1 else "cannot drop everything"


def no_triton_arcs(scores: Tensor) -> str:
    """Refusal of arcs by Triton."""
    fits = scores.shape[-1] <= MOST_WEIGHED and 0 < scores.numel() < MOST_NUMBERS and scores.dtype == torch.float32
    return "" if fits else f"does float32 and {MOST_WEIGHED} classes at most"


def no_triton_gru(vectors: Tensor, unit: nn.GRU) -> str:
    """Refusal of GRUs by Triton: weights in float32, under autocast or not."""
    return "" if vectors.numel() and unit.weight_ih_l0.dtype == torch.float32 else "does weights in float32"


def no_numba_gru(vectors: Tensor, unit: nn.GRU) -> str:
    """Refusal of GRUs by numba, which are for decoding and scoring."""
    if torch.is_autocast_enabled("cpu"):
        return "does not run under autocast"
    validates = not torch.is_grad_enabled()  # weights that are being learned require gradients all the time
    for part in (vectors, *unit.parameters()):
        if part.requires_grad and not validates:
            return "does not learn"
        if part.dtype != torch.float32:
            return "is compiled for float32"
    return ""


def no_triton_match_scores(vectors: Tensor, *_: Any) -> str:
    """Refusal of match scores by Triton."""
    return "" if vectors.dtype == torch.float32 else "is compiled for float32"
