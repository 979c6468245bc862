"""Match scores of many pairs on a CPU: every string is encoded once, a pair costs its cells (extra `cpu`).

A network without context has few different vectors, one per symbol and position: the scores of all pairs of them are a
table, and a pair costs a look into it per cell.
"""

from typing import Any, NamedTuple

import numpy as np
import torch

from nsed.lattice.backends.compiled import array, run_kernel
from nsed.models.fused_scores import can_fuse, fused_products
from nsed.models.matcher import MatcherNetwork, Side
from nsed.text import EncodedStrings
from nsed.text.progress import OnBatch, ignore
from nsed.text.vocabulary import END

ENCODED_TOGETHER, PAIRS_AT_ONCE = 2**15, 2**16
LARGEST_TABLE = 2**22
"""Pairs of symbols and positions at most, four numbers each."""


class Strings(NamedTuple):
    """Different strings of one side, with the languages' numbers where the model knows any."""

    encoded: EncodedStrings
    languages: np.ndarray | None = None


class Vectors(NamedTuple):
    """The projected vectors of strings: `flat[starts[s] : starts[s + 1]]` are the rows of string s, `</s>` included."""

    rows: np.ndarray
    flat: np.ndarray
    starts: np.ndarray


def can_score_in_bulk(network: MatcherNetwork) -> bool:
    """Whether there is a kernel for this network."""
    weight = network.projection.linear.weight
    return network.features.interaction == 0 and can_fuse(weight[None], weight)


@torch.no_grad()
def bulk_scores(
    network: MatcherNetwork,
    source: Strings,
    target: Strings,
    pairs: tuple[np.ndarray, np.ndarray],
    *,
    on_batch: OnBatch = ignore,
) -> np.ndarray:
    """Log alpha_{n,m} of pairs (row of source, row of target); minus infinity below -660."""
    weight, constant = network.projection.folded()
    sides = _vectors(network, source, is_source=True), _vectors(network, target, is_source=False)
    symbols = [part for side in sides for part in (side.flat, side.starts)]
    folded = array(weight), array(constant), np.float32(network.projection.norm.eps)
    kernel, given = "by_vectors", [*(side.rows for side in sides), *folded, *symbols]
    if len(sides[0].rows) * len(sides[1].rows) <= min(LARGEST_TABLE, len(pairs[0]) * 64):
        kernel, given = "by_table", [_table(network, *sides), *symbols]
    result = np.empty(len(pairs[0]))
    for start in range(0, len(result), PAIRS_AT_ONCE):
        part = slice(start, start + PAIRS_AT_ONCE)
        _run(kernel, *(rows[part] for rows in pairs), *given, result[part])
        on_batch(len(result[part]))
    return result


def _vectors(network: MatcherNetwork, strings: Strings, *, is_source: bool) -> Vectors:
    encoder = network.source_encoder if is_source else network.target_encoder
    if not encoder.encoder.sees_context and strings.languages is None:
        return _by_position(network, strings, is_source=is_source)
    return _in_context(network, strings, is_source=is_source)


def _in_context(network: MatcherNetwork, strings: Strings, *, is_source: bool) -> Vectors:
    """Every symbol of every string has a row of its own."""
    encoded, lengths = strings.encoded, strings.encoded.lengths + 1
    starts = np.concatenate([[0], np.cumsum(lengths)])
    rows = np.empty((starts[-1], network.features.source.out_features), np.float32)
    order = np.argsort(lengths, kind="stable")
    at_once = max(1, ENCODED_TOGETHER // max(int(lengths.max(initial=1)), 1))
    for some in np.array_split(order, range(at_once, len(order), at_once)) if len(order) else ():
        languages = None if strings.languages is None else torch.from_numpy(strings.languages[some])
        side = Side(encoded.padded(some), torch.from_numpy(encoded.lengths[some]), languages)
        projected = array(network.projected(side, is_source=is_source))
        inside = np.arange(projected.shape[1]) < lengths[some][:, None]
        rows[(starts[some][:, None] + np.arange(projected.shape[1]))[inside]] = projected[inside]
    return Vectors(rows, np.arange(starts[-1]), starts)


def _by_position(network: MatcherNetwork, strings: Strings, *, is_source: bool) -> Vectors:
    """One row per symbol and position; the rows are those of strings of one symbol repeated."""
    encoded = strings.encoded
    width, starts = encoded.longest + 1, np.concatenate([[0], np.cumsum(encoded.lengths + 1)])
    places = np.arange(starts[-1]) - np.repeat(starts[:-1], encoded.lengths + 1)
    symbols = np.full(starts[-1], END, dtype=np.int64)
    symbols[places < np.repeat(encoded.lengths, encoded.lengths + 1)] = encoded.flat
    kinds, flat = np.unique(symbols * width + places, return_inverse=True)
    vectors = network.projected_symbols(
        torch.from_numpy(kinds // width), torch.from_numpy(kinds % width), is_source=is_source
    )
    return Vectors(array(vectors), flat, starts)


def _table(network: MatcherNetwork, source: Vectors, target: Vectors) -> np.ndarray:
    weight, constant = network.projection.folded()
    rows, columns = (torch.from_numpy(side.rows)[None] for side in (source, target))
    scores = fused_products(rows, columns, weight, eps=network.projection.norm.eps)[0] + constant
    table: np.ndarray = array(scores.clamp(-80, 80).exp())
    return table


def _run(name: str, *arrays: Any) -> None:
    run_kernel("nsed.models.numba_scoring", name, *arrays, pairs=len(arrays[0]))
