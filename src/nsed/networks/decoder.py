"""A Transducer that writes: its lattice grows by a column with every symbol."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nsed.encoders import Prefix
from nsed.networks.columns import Memory, Normalisation, Opened
from nsed.networks.transducer import EncodedSource, TransducerNetwork
from nsed.networks.writer import Rows, writable
from nsed.types import Lengths


class LatticeHypotheses(NamedTuple):
    """Prefixes under way: encoder states, what the lattice remembers, and the symbols so far; a row each."""

    source: EncodedSource
    vector: Float[Tensor, "rows dim"]
    prefix: Prefix
    memory: Memory
    symbols: Int[Tensor, "rows length"]


class LatticeExpanded(NamedTuple):
    """Hypotheses with their newest column open: ready to be continued with a symbol."""

    hypotheses: LatticeHypotheses
    opened: Opened

    @property
    def written(self) -> Float[Tensor, "rows symbols"]:
        """See `Expanded.written`."""
        return writable(self.opened.written)


class Decoder:
    """A network and its normalisation, one symbol at a time; a `Writer`."""

    def __init__(self, network: TransducerNetwork, normalisation: Normalisation) -> None:
        self.network, self.normalisation = network, normalisation

    @property
    def device(self) -> torch.device:
        """See `Writer.device`."""
        return next(self.network.parameters()).device

    @property
    def longest(self) -> int | None:
        """See `Writer.longest`."""
        return self.network.target_encoder.longest

    def encode(self, source: Int[Tensor, "batch n"], lengths: Lengths) -> EncodedSource:
        """See `Writer.encode`."""
        return self.network.encode(source, lengths)

    def begin(self, source: EncodedSource) -> LatticeHypotheses:
        """See `Writer.begin`."""
        vector, prefix = self.network.begin(source)
        symbols = torch.zeros((len(source.lengths), 0), dtype=torch.long, device=vector.device)
        memory = self.normalisation.begin(source.factors.projected[:, :, 0])
        return LatticeHypotheses(source, vector, prefix, memory, symbols)

    def expand(self, hypotheses: LatticeHypotheses) -> LatticeExpanded:
        """See `Writer.expand`: the one new column of each hypothesis."""
        column = self.network.scores(hypotheses.source, hypotheses.vector[:, None])
        opened = self.normalisation.open(column, hypotheses.memory, hypotheses.source.lengths)
        return LatticeExpanded(hypotheses, opened)

    def continued(
        self, expanded: LatticeExpanded, rows: Rows, symbols: Rows, *, same_sources: bool = False
    ) -> LatticeHypotheses:
        """See `Writer.continued`."""
        before = expanded.hypotheses
        source = before.source if same_sources else before.source.reordered(rows)
        memory = self.normalisation.close(expanded.opened, rows, symbols)
        vector, prefix = self.network.target_encoder.step(symbols, before.prefix.reordered(rows), source.attended)
        longer = torch.cat([before.symbols[rows], symbols[:, None]], dim=1)
        return LatticeHypotheses(source, vector, prefix, memory, longer)
