"""Decoding algorithms: greedy search, beam search and sampling, batched over words and hypotheses."""

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from nsed.types import END, NEG, PAD, REACHABLE, START, UNKNOWN, Lengths

Rows = Int[Tensor, " rows"]


@runtime_checkable
class Source(Protocol):
    """Encoded sources: contextual vectors, as a network encodes them."""

    @property
    def lengths(self) -> Lengths:
        """Lengths: symbols of each source."""


@runtime_checkable
class Hypotheses(Protocol):
    """Hypotheses of a search: prefixes under way, a row each."""

    @property
    def vector(self) -> Float[Tensor, "rows dim"]:
        """Contextual vector of each prefix's last symbol."""

    @property
    def symbols(self) -> Int[Tensor, "rows length"]:
        """Prefix symbols: what is written so far."""


@runtime_checkable
class Expanded(Protocol):
    """Expanded hypotheses, ready to be continued with a symbol."""

    @property
    def written(self) -> Float[Tensor, "rows symbols"]:
        """Log-probability of each prefix and next symbol, `writable` ones only; with `</s>`, of a whole target."""


S = TypeVar("S", bound=Source)
H = TypeVar("H", bound=Hypotheses)
E = TypeVar("E", bound=Expanded)


@runtime_checkable
class IncrementalDecoder(Protocol[S, H, E]):
    """Incremental decoder interface: writes targets symbol by symbol; all that a search needs to know of a model."""

    @property
    def device(self) -> torch.device:
        """Device of the network."""

    @property
    def longest(self) -> int | None:
        """Maximum output length: target symbols at most; None for any number."""

    def encode(self, source: Int[Tensor, "batch n"], lengths: Lengths) -> S:
        """Encoded sources, once for all their targets."""

    def begin(self, source: S) -> H:
        """Initial hypotheses: one empty prefix per source."""

    def expand(self, hypotheses: H) -> E:
        """Expansion: the log-probabilities of what may follow each prefix."""

    def continued(self, expanded: E, rows: Rows, symbols: Rows, *, same_sources: bool = False) -> H:
        """Continued hypotheses: the chosen ones, any of them any number of times, each with one symbol more.

        `same_sources` says that each comes from a row with its own source: then the sources, which are large, stay.
        """


def writable(log_prob: Float[Tensor, "rows symbols"]) -> Float[Tensor, "rows symbols"]:
    """Output mask: the same, NEG for what is never written: only the vocabulary's own symbols and the end are."""
    blocked = log_prob.new_zeros(log_prob.shape[1])
    blocked[[PAD, START, UNKNOWN]] = NEG
    return (log_prob + blocked).clamp(min=NEG)


WORTH_MOVING = 0.85
"""Compaction threshold: share of hypotheses that must be left, at most, for the complete ones to be left behind."""


class SearchResult(NamedTuple):
    """N-best lists, best first: symbols without `</s>`, how many, and log-probabilities (NEG: no target)."""

    symbols: Int[Tensor, "batch nbest m"]
    lengths: Int[Tensor, "batch nbest"]
    log_prob: Float[Tensor, "batch nbest"]


class FinishedHypotheses:
    """Finished hypotheses: the best complete targets of each word so far."""

    def __init__(self, batch: int, nbest: int, longest: int, like: Tensor) -> None:
        self.log_prob = like.new_full((batch, nbest), NEG)
        self.ranking = self.log_prob.clone()
        self.symbols = torch.zeros((batch, nbest, longest), dtype=torch.long, device=like.device)
        self.lengths = torch.zeros((batch, nbest), dtype=torch.long, device=like.device)

    def add(
        self,
        words: Int[Tensor, " words"],
        symbols: Int[Tensor, "words beam length"],
        log_prob: Float[Tensor, "words beam"],
        ranking: Float[Tensor, "words beam"],
    ) -> None:
        """Add complete targets of some words; the best ones stay."""
        wider = torch.nn.functional.pad(symbols, (0, self.symbols.shape[2] - symbols.shape[2]))
        length = torch.full_like(log_prob, symbols.shape[2], dtype=torch.long)
        best, order = torch.cat([self.ranking[words], ranking], dim=1).topk(self.ranking.shape[1], dim=1)
        self.ranking[words] = best
        self.log_prob[words] = torch.cat([self.log_prob[words], log_prob], dim=1).gather(1, order)
        self.lengths[words] = torch.cat([self.lengths[words], length], dim=1).gather(1, order)
        places = order[:, :, None].expand(-1, -1, self.symbols.shape[2])
        self.symbols[words] = torch.cat([self.symbols[words], wider], dim=1).gather(1, places)

    def worst(self, words: Int[Tensor, " words"]) -> Float[Tensor, " words"]:
        """Pruning bound: the ranking that a newcomer must beat."""
        return self.ranking[words, -1]

    def found(self) -> SearchResult:
        """N-best list of what was found, best first."""
        return SearchResult(self.symbols, self.lengths, self.log_prob)


def beam_search(
    decoder: IncrementalDecoder[S, H, E], source: S, *, beam: int, nbest: int, longest: int, length_penalty: float = 0.0
) -> SearchResult:
    """Beam search: the `nbest` most probable targets among those that a beam of `beam` prefixes meets.

    Targets are ranked by `log p / length ** length_penalty`, the length counting `</s>`. Without a penalty the search
    ends when no prefix can still win: a prefix's probability is that of all its continuations together.
    """
    words = torch.arange(len(source.lengths), device=source.lengths.device)
    hypotheses = decoder.begin(source)
    finished = FinishedHypotheses(len(words), nbest, longest, hypotheses.vector)
    alive = torch.ones((len(words), 1), dtype=torch.bool, device=words.device)
    for length in range(longest + 1):
        expanded = decoder.expand(hypotheses)
        written = expanded.written.view(*alive.shape, -1).masked_fill(~alive[:, :, None], NEG)
        ends, symbols = written[:, :, END], hypotheses.symbols.view(*alive.shape, length)
        finished.add(words, symbols, ends, _ranked(ends, length + 1, length_penalty))
        scores, places = _best_continuations(written, beam)
        hopeful = scores[:, 0] > (NEG if length_penalty else finished.worst(words))
        if length == longest or not bool(hopeful.any()):
            break
        left, (width, classes) = _remaining(hopeful), written.shape[1:]
        rows = places[left] // classes + left[:, None] * width
        stay = rows.shape == alive.shape  # as many prefixes of as many words as before
        hypotheses = decoder.continued(expanded, rows.flatten(), (places[left] % classes).flatten(), same_sources=stay)
        words, alive = words[left], scores[left] > REACHABLE  # a beam wider than the space holds dead prefixes
    return finished.found()


def _best_continuations(
    written: Float[Tensor, "words width classes"], beam: int
) -> tuple[Float[Tensor, "words beam"], Int[Tensor, "words beam"]]:
    """Top-k continuations: log-probabilities and places of the best prefixes to go on, over all those of a word."""
    ongoing = written.clone()
    ongoing[:, :, END] = NEG
    best = ongoing.flatten(1).topk(min(beam, written[0].numel()), dim=1)
    return best.values, best.indices


def _ranked(log_prob: Float[Tensor, "batch beam"], length: int, penalty: float) -> Float[Tensor, "batch beam"]:
    ranked: Tensor = (log_prob / length**penalty).clamp(min=NEG)
    return ranked


Choose = Callable[[Float[Tensor, "rows symbols"]], Rows]


def most_probable(written: Float[Tensor, "rows symbols"]) -> Rows:
    """Argmax: the most probable next symbol of each hypothesis."""
    return written.argmax(1)


def draw(
    decoder: IncrementalDecoder[S, H, E], source: S, *, longest: int, generator: torch.Generator | None = None
) -> SearchResult:
    """Ancestral sampling: one target per source, drawn symbol by symbol with its probability."""

    def choose(written: Float[Tensor, "rows symbols"]) -> Rows:
        drawn: Tensor = torch.multinomial(written.softmax(1), 1, generator=generator)
        return drawn[:, 0]

    return greedy_search(decoder, source, longest=longest, choose=choose)


def greedy_search(
    decoder: IncrementalDecoder[S, H, E], source: S, *, longest: int, choose: Choose = most_probable
) -> SearchResult:
    """Greedy search: always the most probable next symbol (or another choice), until that is `</s>`.

    One hypothesis per source. What is complete is carried along for a while, then left behind with others.

    What is not complete after `longest` symbols ends there.
    """
    batch, like = len(source.lengths), source.lengths
    symbols, lengths = like.new_zeros((batch, 1, longest)), like.new_full((batch, 1), longest)
    hypotheses, places = decoder.begin(source), torch.arange(batch, device=like.device)
    vector = hypotheses.vector
    log_prob = vector.new_full((batch, 1), NEG, dtype=torch.promote_types(vector.dtype, torch.float32))
    going: Bool[Tensor, " rows"] = torch.ones_like(places, dtype=torch.bool)
    for length in range(longest + 1):
        expanded = decoder.expand(hypotheses)
        written = expanded.written
        chosen = choose(written)
        ended = going if length == longest else (chosen == END) & going
        lengths[places[ended], 0], log_prob[places[ended], 0] = length, written[ended, END]
        symbols[places[going], 0, :length] = hypotheses.symbols[going]
        going = going & ~ended
        if not bool(going.any()):
            break
        rows = _remaining(going)
        hypotheses = decoder.continued(expanded, rows, chosen[rows], same_sources=len(rows) == len(going))
        places, going = places[rows], going[rows]
    return SearchResult(symbols, lengths, log_prob)


def _remaining(going: Bool[Tensor, " all"]) -> Rows:
    """Batch compaction: all rows, until so many are complete that it is worth moving the others."""
    left = going.nonzero()[:, 0]
    return left if len(left) <= WORTH_MOVING * len(going) else torch.arange(len(going), device=going.device)
