"""Layers of networks in NumPy: linear, layer normalisation, gated recurrent unit, attention; and two functions."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nsed_lite.folder import Weights
from nsed_lite.packed import Packed

EPSILON = 1e-5
"""What layer normalisation adds to the variance."""


class Linear:
    """Linear layer, with or without bias."""

    def __init__(self, weight: np.ndarray, bias: np.ndarray | None = None) -> None:
        self.weight, self.bias = np.ascontiguousarray(weight.T), bias

    @classmethod
    def of(cls, weights: Weights, name: str) -> "Linear":
        """Layer whose weights have this name."""
        bias = f"{name}.bias"
        return cls(weights(f"{name}.weight"), weights(bias) if bias in weights else None)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Projected vectors."""
        y: np.ndarray = x @ self.weight
        if self.bias is not None:
            y += self.bias
        return y


class LayerNorm:
    """Layer normalisation."""

    def __init__(self, weights: Weights, name: str) -> None:
        self.gain, self.bias = weights(f"{name}.weight"), weights(f"{name}.bias")

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Normalised vectors."""
        return self.over(x.copy())

    def over(self, x: np.ndarray) -> np.ndarray:
        """The same, in the place of the vectors."""
        x -= x.mean(-1, keepdims=True)
        variance = np.einsum("...d,...d->...", x, x) / x.shape[-1]
        x *= (1 / np.sqrt(variance + EPSILON))[..., None]
        x *= self.gain
        x += self.bias
        return x


class Gru:
    """Gated recurrent unit (GRU), one direction of one layer."""

    def __init__(self, weights: Weights, name: str) -> None:
        of_input, of_hidden = weights(f"{name}.weight_ih_l0"), weights(f"{name}.weight_hh_l0")
        bias, hidden_bias = weights(f"{name}.bias_ih_l0"), weights(f"{name}.bias_hh_l0").copy()
        self.dim = of_hidden.shape[1]
        # sigmoid(x) = (tanh(x / 2) + 1) / 2: half of x is taken once, in the weights of both gates.
        scale = np.repeat(np.array([0.5, 0.5, 1], dtype=np.float32), self.dim)
        self.new_bias = hidden_bias[2 * self.dim :] * np.float32(0.5)
        hidden_bias[2 * self.dim :] = 0
        self.input = Linear(of_input * scale[:, None], (bias + hidden_bias) * scale)
        self.recurrent = Linear(of_hidden * np.float32(0.5))  # that of the new state, too: `gates` are doubled

    def step(self, projected: np.ndarray, hidden: np.ndarray) -> np.ndarray:
        """Next hidden states, of inputs that went through `input` already."""
        half, dim, sums = np.float32(0.5), self.dim, self.recurrent(hidden)
        gates, new = sums[:, : 2 * dim], sums[:, 2 * dim :]
        gates += projected[:, : 2 * dim]
        gates = np.tanh(gates)
        gates += 1
        new += self.new_bias
        new *= gates[:, :dim]
        new += projected[:, 2 * dim :]
        new = np.tanh(new)
        kept = hidden - new
        kept *= gates[:, dim:]
        kept *= half
        kept += new
        return kept

    def read(self, projected: np.ndarray, strings: Packed, found: np.ndarray, *, backwards: bool = False) -> None:
        """Write the hidden states of all symbols into `found`, each string read from its first or last symbol."""
        hidden = np.zeros((len(strings.lengths), self.dim), dtype=found.dtype)
        steps = list(strings.steps())
        for part, count in reversed(steps) if backwards else steps:
            found[part] = hidden[:count] = self.step(projected[part], hidden[:count])

    def read_shared(
        self, table: np.ndarray, strings: Packed, after: np.ndarray, found: np.ndarray, *, backwards: bool = False
    ) -> None:
        """Add the hidden states of all symbols, times `after`, to `found`; inputs are a table of symbols.

        What strings have in common at their beginning (or end) is read once: the strings are a tree (trie), whose root
        is state 0, and `nodes` says where each string is in it.
        """
        nodes, hidden = np.zeros(len(strings.lengths), dtype=np.int64), np.zeros((1, self.dim), dtype=found.dtype)
        steps, root = list(strings.steps()), hidden
        for part, count in reversed(steps) if backwards else steps:
            keys, places = np.unique(nodes[:count] * len(table) + strings.symbols[part], return_inverse=True)
            before, symbols = np.divmod(keys, len(table))
            hidden = np.concatenate([root, self.step(table[symbols], hidden[before])])
            nodes[:count] = places + 1
            found[part] += (hidden[1:] @ after)[places]


class Seen(NamedTuple):
    """Keys and values of other strings, ready for attention, and which of them are real."""

    keys: np.ndarray
    """Strings by heads by size by places."""
    values: np.ndarray
    """Strings by heads by places by size."""
    real: np.ndarray
    """Strings by places."""


class Attention:
    """Multi-head scaled dot-product attention: queries of some vectors, keys and values of others."""

    def __init__(self, projections: Sequence[Linear], heads: int) -> None:
        self.query, self.key, self.value, self.merge = projections
        self.heads = heads

    def see(self, vectors: np.ndarray, real: np.ndarray) -> Seen:
        """Keys and values of strings, whose vectors are padded."""
        keys, values = self._split(self.key(vectors)), self._split(self.value(vectors))
        return Seen(keys.swapaxes(-1, -2), values, real)

    def __call__(self, asking: np.ndarray, seen: Seen, mask: np.ndarray | None = None) -> np.ndarray:
        """What each of some padded vectors finds in its own string, all heads merged."""
        query = self._split(self.query(asking))
        scores = query @ seen.keys * np.float32(query.shape[-1] ** -0.5)
        allowed = seen.real[:, None, None] if mask is None else mask
        shares = softmax(np.where(allowed, scores, np.float32(-1e30)))
        mixed = (shares @ seen.values).swapaxes(1, 2)
        return self.merge(mixed.reshape(*asking.shape))

    def _split(self, vectors: np.ndarray) -> np.ndarray:
        batch, length, dim = vectors.shape
        return vectors.reshape(batch, length, self.heads, dim // self.heads).swapaxes(1, 2)


def softmax(x: np.ndarray) -> np.ndarray:
    """Softmax over the last axis."""
    shares: np.ndarray = np.exp(x - x.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    return shares


def gelu(x: np.ndarray) -> np.ndarray:
    """Gaussian error linear unit, x * Phi(x); erf by Abramowitz and Stegun 7.1.26, right to 1.5e-7."""
    scaled = np.abs(x) * np.float32(0.5**0.5)
    t = 1 / (1 + np.float32(0.3275911) * scaled)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    erf = 1 - series * np.exp(-scaled * scaled)
    half: np.ndarray = 0.5 * x * (1 + np.copysign(erf, x))
    return half.astype(x.dtype, copy=False)
