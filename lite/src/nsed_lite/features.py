"""Pair features of symbols, and the scores of operations in the cells of a lattice from them.

A cell (i, j) has the features ReLU(W_s h_s[i] + W_t h_t[j]); both halves are computed once per symbol and added per
cell. Layer normalisation is folded into the projection after it: z = (W~ x) / deviation + constant.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from nsed_lite.folder import Weights
from nsed_lite.layers import EPSILON, Attention, Linear, Seen

SIMILARITY_DIM = 32
"""Size of the vectors whose dot products are the similarities."""
BLOCK = 512
"""Cells that are worked on at once, so that they stay in the cache."""


class Half(NamedTuple):
    """Half of the features, of the symbols of one side: projections, and vectors of the similarity heads if any."""

    projected: np.ndarray
    similar: np.ndarray | None
    attended: np.ndarray | None = None
    """What target symbols found in the source, where cells have attention."""


class PairFeatures:
    """Pair features and their projection to classes."""

    def __init__(self, weights: Weights, config: Mapping[str, Any]) -> None:
        self.source, self.target = Linear.of(weights, "features.source"), Linear.of(weights, "features.target")
        self.heads = config.get("interaction", 0)
        self.similar = Linear.of(weights, "features.similar") if self.heads else None
        self.spread = weights("features.spread.weight").T * SIMILARITY_DIM**-0.5 if self.heads else None
        self.attention = _attention(weights, config["encoder"]["heads"]) if config.get("attention", False) else None
        matrix, gain = weights("projection.linear.weight"), weights("projection.norm.weight")
        centred = matrix * gain
        centred = centred - centred.mean(1, keepdims=True)
        self.size, self.classes, width = matrix.shape[1], len(matrix), self.source.weight.shape[1]
        self.constant = matrix @ weights("projection.norm.bias") + weights("projection.linear.bias")
        with_total = np.concatenate([centred[:, :width], np.ones((1, width), dtype=np.float32)])
        self.projection, self.of_attended = np.ascontiguousarray(with_total.T), centred[:, width:].T

    def of_source(self, vectors: np.ndarray) -> Half:
        """Half of source symbols."""
        return Half(self.source(vectors), self._similar(vectors))

    def of_target(self, vectors: np.ndarray, seen: Seen | None = None) -> Half:
        """Half of target symbols; with attention each is of a row of its own, and looks at its source."""
        attended = None
        if self.attention is not None and seen is not None:
            attended = self.attention(vectors[:, None], seen)[:, 0]
        return Half(self.target(vectors), self._similar(vectors), attended)

    def scores(self, source: Half, target: Half, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Class scores in cells, of source symbols `i` and target symbols `j`, both by their place in the halves."""
        found = np.empty((len(i), self.classes), dtype=np.float32)
        for start in range(0, len(i), BLOCK):
            part = slice(start, start + BLOCK)
            found[part] = self._block(source, target, i[part], j[part])
        return found

    def _block(self, source: Half, target: Half, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        x: np.ndarray = source.projected.take(i, axis=0)
        x += target.projected.take(j, axis=0)
        if source.similar is not None and target.similar is not None:
            x += np.einsum("chp,chp->ch", source.similar[i], target.similar[j]) @ self.spread
        np.maximum(x, 0, out=x)
        projected, squares = x @ self.projection, np.einsum("cd,cd->c", x, x)
        z, total = projected[:, :-1], projected[:, -1]
        if target.attended is not None:
            attended = target.attended[j]
            z, total = z + attended @ self.of_attended, total + attended.sum(1)
            squares = squares + np.einsum("cd,cd->c", attended, attended)
        variance = np.maximum(squares / self.size - (total / self.size) ** 2, 0)
        z *= (1 / np.sqrt(variance + EPSILON))[:, None]
        z += self.constant
        return z

    def _similar(self, vectors: np.ndarray) -> np.ndarray | None:
        return None if self.similar is None else self.similar(vectors).reshape(len(vectors), -1, SIMILARITY_DIM)


def _attention(weights: Weights, heads: int) -> Attention:
    """Attention of cells, whose three projections are stacked."""
    name = "features.attention"
    matrices = np.split(weights(f"{name}.in_proj_weight"), 3)
    biases = np.split(weights(f"{name}.in_proj_bias"), 3)
    projections = [Linear(matrix, bias) for matrix, bias in zip(matrices, biases, strict=True)]
    return Attention([*projections, Linear.of(weights, f"{name}.out_proj")], heads)
