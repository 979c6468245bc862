"""Match scores of many pairs: every string is encoded once, a pair costs its cells.

A network without context has few different vectors, one per symbol and position: the scores of all pairs of them are a
table, and a pair costs a look into it per cell.
"""

import numpy as np
import torch

from nsed.kernels.contracts import StringVectors
from nsed.kernels.dispatch import MATCH_SCORES
from nsed.networks.matcher import MatcherNetwork, Projected
from nsed.progress import OnBatch, ignore
from nsed.text import EncodedStrings
from nsed.text.batch import PaddedStrings, check_cells
from nsed.types import END

Languages = np.ndarray | None
"""Language ids of the strings, where the model knows any."""
ENCODED_TOGETHER, PAIRS_AT_ONCE = {"cuda": 2**20}, {"cuda": 2**22}
FEWER_SYMBOLS, FEWER_PAIRS = 2**15, 2**16
"""Batch sizes: symbols encoded at once, padding included, and pairs scored at once: on a GPU, and elsewhere."""
MAX_CELLS = 2**22
"""Maximum lattice cells of a pair."""


@torch.no_grad()
def bulk_scores(
    network: MatcherNetwork,
    source: EncodedStrings,
    target: EncodedStrings,
    pairs: tuple[np.ndarray, np.ndarray],
    *,
    languages: tuple[Languages, Languages] = (None, None),
    on_batch: OnBatch = ignore,
) -> np.ndarray:
    """Log alpha_{n,m} of many pairs (row of source, row of target); by numba's kernel minus infinity below -660.

    Raises `TooLongError` for a pair whose table would have too many cells; numba's kernel keeps but one table.
    """
    result = np.empty(len(pairs[0]))
    if not len(result):
        return result
    vectors = (
        vectors_of(network, source, languages[0], is_source=True),
        vectors_of(network, target, languages[1], is_source=False),
    )
    kernel, (weight, constant) = MATCH_SCORES.choose(vectors[0].vectors), network.projection.folded()
    if kernel.backend != "numba":
        check_cells(source.lengths[pairs[0]] + 1, target.lengths[pairs[1]] + 1, MAX_CELLS)
    eps, heads = network.projection.norm.eps, network.features.head_weights()
    score = kernel.code.scorer(*vectors, weight, constant, eps=eps, pairs=len(result), heads=heads)
    at_once = PAIRS_AT_ONCE.get(weight.device.type, FEWER_PAIRS)
    for start in range(0, len(result), at_once):
        part = slice(start, start + at_once)
        rows, columns = (torch.from_numpy(side[part]).to(weight.device) for side in pairs)
        result[part] = score(rows, columns).cpu().numpy()
        on_batch(len(result[part]))
    return result


@torch.no_grad()
def vectors_of(
    network: MatcherNetwork, strings: EncodedStrings, languages: Languages = None, *, is_source: bool
) -> StringVectors:
    """Symbol vectors for pair features: what strings contribute, per symbol, without context per kind of symbol."""
    encoder = network.source_encoder if is_source else network.target_encoder
    if not encoder.encoder.sees_context and languages is None:
        return _by_position(network, strings, is_source=is_source)
    lengths, weight = strings.lengths + 1, network.features.source.weight
    starts = np.concatenate([[0], np.cumsum(lengths)])
    order = np.argsort(lengths, kind="stable")
    symbols = ENCODED_TOGETHER.get(weight.device.type, FEWER_SYMBOLS)
    at_once = max(1, symbols // max(int(lengths.max(initial=1)), 1))
    rows, similar = weight.new_empty(int(starts[-1]), len(weight)), None
    for some in np.array_split(order, range(at_once, len(order), at_once)) if len(order) else ():
        projected = network.projected(_side(strings, languages, some, weight.device), is_source=is_source)
        places = np.arange(projected.vectors.shape[1])
        inside = torch.from_numpy(places < lengths[some][:, None]).to(weight.device)
        at = torch.from_numpy(starts[some][:, None] + places).to(weight.device)[inside]
        rows[at] = projected.vectors[inside]
        if projected.similar is not None:
            similar = weight.new_empty(len(rows), *projected.similar.shape[2:]) if similar is None else similar
            similar[at] = projected.similar[inside]
    return _placed(Projected(rows, similar), np.arange(starts[-1]), starts)


def _side(strings: EncodedStrings, languages: Languages, some: np.ndarray, device: torch.device) -> PaddedStrings:
    numbers = None if languages is None else torch.from_numpy(languages[some]).to(device)
    lengths = torch.from_numpy(strings.lengths[some]).to(device)
    return PaddedStrings(strings.padded(some).to(device), lengths, numbers)


def _by_position(network: MatcherNetwork, strings: EncodedStrings, *, is_source: bool) -> StringVectors:
    device = network.features.source.weight.device
    width, starts = strings.longest + 1, np.concatenate([[0], np.cumsum(strings.lengths + 1)])
    places = np.arange(starts[-1]) - np.repeat(starts[:-1], strings.lengths + 1)
    symbols = np.full(starts[-1], END, dtype=np.int64)
    symbols[places < np.repeat(strings.lengths, strings.lengths + 1)] = strings.flat
    kinds, flat = np.unique(symbols * width + places, return_inverse=True)
    parts = (torch.from_numpy(part).to(device) for part in (kinds // width, kinds % width))
    return _placed(network.projected_symbols(*parts, is_source=is_source), flat, starts)


def _placed(projected: Projected, flat: np.ndarray, starts: np.ndarray) -> StringVectors:
    """Tensors moved to the device where the vectors are."""
    vectors, similar = projected
    return StringVectors(vectors, *(torch.from_numpy(part).to(vectors.device) for part in (flat, starts)), similar)
