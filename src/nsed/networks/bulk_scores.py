"""Match scores of many pairs: every string is encoded once, a pair costs its cells (extra `cpu`, or a GPU).

A network without context has few different vectors, one per symbol and position: the scores of all pairs of them are a
table, and a pair costs a look into it per cell.
"""

from typing import Any

import numpy as np
import torch

from nsed.kernels.compiled import array, run_kernel
from nsed.kernels.fused_scores import can_fuse, fused_scores
from nsed.networks import gpu_bulk
from nsed.networks.matcher import MatcherNetwork
from nsed.networks.string_vectors import LARGEST_TABLE, Strings, Vectors, vectors_of
from nsed.progress import OnBatch, ignore

PAIRS_AT_ONCE = 2**16


def can_score_in_bulk(network: MatcherNetwork) -> bool:
    """Whether there is a kernel for this network."""
    weight = network.projection.linear.weight
    return gpu_bulk.can_run(network) or (network.features.interaction == 0 and can_fuse(weight[None], weight))


@torch.no_grad()
def bulk_scores(
    network: MatcherNetwork,
    source: Strings,
    target: Strings,
    pairs: tuple[np.ndarray, np.ndarray],
    *,
    on_batch: OnBatch = ignore,
) -> np.ndarray:
    """Log alpha_{n,m} of pairs (row of source, row of target); on a CPU minus infinity below -660."""
    sides = vectors_of(network, source, is_source=True), vectors_of(network, target, is_source=False)
    if gpu_bulk.can_run(network):
        return gpu_bulk.gpu_bulk_scores(network, sides, pairs, on_batch=on_batch)
    weight, constant = network.projection.folded()
    symbols = [part for side in sides for part in (side.flat, side.starts)]
    folded = array(weight), array(constant), np.float32(network.projection.norm.eps)
    kernel, given = "by_vectors", [*(array(side.rows) for side in sides), *folded, *symbols]
    if len(sides[0].rows) * len(sides[1].rows) <= min(LARGEST_TABLE, len(pairs[0]) * 64):
        kernel, given = "by_table", [_table(network, *sides), *symbols]
    result = np.empty(len(pairs[0]))
    for start in range(0, len(result), PAIRS_AT_ONCE):
        part = slice(start, start + PAIRS_AT_ONCE)
        _run(kernel, *(rows[part] for rows in pairs), *given, result[part])
        on_batch(len(result[part]))
    return result


def _table(network: MatcherNetwork, source: Vectors, target: Vectors) -> np.ndarray:
    weight, constant = network.projection.folded()
    scores = fused_scores(source.rows[None], target.rows[None], weight, constant, eps=network.projection.norm.eps)[0]
    table: np.ndarray = array(scores.clamp(-80, 80).exp())
    return table


def _run(name: str, *arrays: Any) -> None:
    run_kernel("nsed.kernels.numba_scoring", name, *arrays, pairs=len(arrays[0]))
