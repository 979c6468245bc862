"""The vectors of many strings, every string encoded once: what scoring in bulk starts from."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from nsed.encoders.string_encoder import Side
from nsed.networks.matcher import MatcherNetwork
from nsed.text import EncodedStrings
from nsed.types import END

ENCODED_TOGETHER = {"cpu": 2**15, "cuda": 2**20}
"""Symbols that are encoded at once, padding included."""

LARGEST_TABLE = 2**22
"""Pairs of vectors at most whose scores are kept as a table, four numbers each."""


class Strings(NamedTuple):
    """Different strings of one side, with the languages' numbers where the model knows any."""

    encoded: EncodedStrings
    languages: np.ndarray | None = None


class Vectors(NamedTuple):
    """The projected vectors of strings: `flat[starts[s] : starts[s + 1]]` are the rows of string s, `</s>` included."""

    rows: Float[Tensor, "kinds dim"]
    flat: np.ndarray
    starts: np.ndarray


@torch.no_grad()
def vectors_of(network: MatcherNetwork, strings: Strings, *, is_source: bool) -> Vectors:
    """Of a network without context there are few: one per symbol and position."""
    encoder = network.source_encoder if is_source else network.target_encoder
    if not encoder.encoder.sees_context and strings.languages is None:
        return _by_position(network, strings, is_source=is_source)
    return _in_context(network, strings, is_source=is_source)


def _in_context(network: MatcherNetwork, strings: Strings, *, is_source: bool) -> Vectors:
    """Every symbol of every string has a row of its own."""
    lengths, weight = strings.encoded.lengths + 1, network.features.source.weight
    starts = np.concatenate([[0], np.cumsum(lengths)])
    rows = weight.new_empty(int(starts[-1]), len(weight))
    order = np.argsort(lengths, kind="stable")
    at_once = max(1, ENCODED_TOGETHER[weight.device.type] // max(int(lengths.max(initial=1)), 1))
    for some in np.array_split(order, range(at_once, len(order), at_once)) if len(order) else ():
        projected = network.projected(_side(strings, some, weight.device), is_source=is_source)
        places = np.arange(projected.shape[1])
        inside = torch.from_numpy(places < lengths[some][:, None]).to(weight.device)
        rows[torch.from_numpy(starts[some][:, None] + places).to(weight.device)[inside]] = projected[inside]
    return Vectors(rows, np.arange(starts[-1]), starts)


def _side(strings: Strings, some: np.ndarray, device: torch.device) -> Side:
    languages = None if strings.languages is None else torch.from_numpy(strings.languages[some]).to(device)
    lengths = torch.from_numpy(strings.encoded.lengths[some]).to(device)
    return Side(strings.encoded.padded(some).to(device), lengths, languages)


def _by_position(network: MatcherNetwork, strings: Strings, *, is_source: bool) -> Vectors:
    encoded, device = strings.encoded, network.features.source.weight.device
    width, starts = encoded.longest + 1, np.concatenate([[0], np.cumsum(encoded.lengths + 1)])
    places = np.arange(starts[-1]) - np.repeat(starts[:-1], encoded.lengths + 1)
    symbols = np.full(starts[-1], END, dtype=np.int64)
    symbols[places < np.repeat(encoded.lengths, encoded.lengths + 1)] = encoded.flat
    kinds, flat = np.unique(symbols * width + places, return_inverse=True)
    parts = (torch.from_numpy(part).to(device) for part in (kinds // width, kinds % width))
    return Vectors(network.projected_symbols(*parts, is_source=is_source), flat, starts)
