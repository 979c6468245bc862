"""What every search needs to know of a model that writes targets one symbol at a time, and no more."""

from typing import Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nsed.types import NEG, PAD, START, UNKNOWN, Lengths

Rows = Int[Tensor, " rows"]


@runtime_checkable
class Source(Protocol):
    """Sources in context, as a network encodes them."""

    @property
    def lengths(self) -> Lengths:
        """Symbols of each."""


@runtime_checkable
class Hypotheses(Protocol):
    """Prefixes under way, a row each."""

    @property
    def vector(self) -> Float[Tensor, "rows dim"]:
        """The last symbol of each in context."""

    @property
    def symbols(self) -> Int[Tensor, "rows length"]:
        """What is written so far."""


@runtime_checkable
class Expanded(Protocol):
    """Hypotheses that are ready to be continued with a symbol."""

    @property
    def written(self) -> Float[Tensor, "rows symbols"]:
        """Log-probability of each prefix and next symbol, `writable` ones only; with `</s>`, of a whole target."""


S = TypeVar("S", bound=Source)
H = TypeVar("H", bound=Hypotheses)
E = TypeVar("E", bound=Expanded)


@runtime_checkable
class Writer(Protocol[S, H, E]):
    """What writes targets, one symbol at a time: all that a search needs to know of a model."""

    @property
    def device(self) -> torch.device:
        """Where the network lives."""

    @property
    def longest(self) -> int | None:
        """Target symbols at most; None for any number."""

    def encode(self, source: Int[Tensor, "batch n"], lengths: Lengths) -> S:
        """Sources, once for all their targets."""

    def begin(self, source: S) -> H:
        """One empty prefix per source."""

    def expand(self, hypotheses: H) -> E:
        """See what may follow."""

    def continued(self, expanded: E, rows: Rows, symbols: Rows, *, same_sources: bool = False) -> H:
        """The chosen hypotheses, any of them any number of times, each with one symbol more.

        `same_sources` says that each comes from a row with its own source: then the sources, which are large, stay.
        """


def writable(log_prob: Float[Tensor, "rows symbols"]) -> Float[Tensor, "rows symbols"]:
    """The same, NEG for what is never written: only the vocabulary's own symbols and the end are."""
    blocked = log_prob.new_zeros(log_prob.shape[1])
    blocked[[PAD, START, UNKNOWN]] = NEG
    return (log_prob + blocked).clamp(min=NEG)
