"""The two strings of pairs, as networks read them: one side at a time, or both at once."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from nsed.encoders import StringEncoder
from nsed.networks.delimiters import with_end
from nsed.types import PAD, Lengths

Symbols = Int[Tensor, "batch length"]
Vectors = Float[Tensor, "batch length dim"]
Category = Int[Tensor, " batch"] | None


class Side(NamedTuple):
    """One string of each pair: its symbols, how many, and perhaps its category (a language, a source)."""

    symbols: Symbols
    lengths: Lengths
    category: Category = None


def read_by(encoder: StringEncoder, side: Side) -> Vectors:
    """The vectors of a side's symbols, `</s>` included."""
    vectors: Tensor = encoder(with_end(side.symbols, side.lengths), side.lengths + 1, side.category)
    return vectors


def read_both(
    source_encoder: StringEncoder, target_encoder: StringEncoder, source: Side, target: Side
) -> tuple[Float[Tensor, "batch src dim"], Float[Tensor, "batch tgt dim"]]:
    """The vectors of both sides, `</s>` included; where one encoder reads both, it does so at once."""
    if target_encoder is source_encoder:
        of_source, of_target = read_by(source_encoder, together(source, target)).chunk(2)
        return of_source[:, : source.symbols.shape[1] + 1], of_target[:, : target.symbols.shape[1] + 1]
    return read_by(source_encoder, source), read_by(target_encoder, target)


def together(source: Side, target: Side) -> Side:
    """Both sides as one, the sources first."""
    width = max(source.symbols.shape[1], target.symbols.shape[1])
    symbols = [functional.pad(side.symbols, (0, width - side.symbols.shape[1]), value=PAD) for side in (source, target)]
    category = None
    if source.category is not None and target.category is not None:
        category = torch.cat([source.category, target.category])
    return Side(torch.cat(symbols), torch.cat([source.lengths, target.lengths]), category)
