"""Encoders: from numbers of symbols to contextual vectors, of whole strings or symbol by symbol."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from nsed_lite.folder import Weights
from nsed_lite.layers import Attention, Gru, LayerNorm, Linear, Seen, gelu
from nsed_lite.packed import Packed

MOST_LAYERS = 256
State = tuple[np.ndarray, ...]
"""What a left-to-right encoder remembers of prefixes, a row each."""


class Embedding:
    """Vectors of symbols, plus one per position and one per language where the model has them."""

    def __init__(self, weights: Weights, name: str) -> None:
        self.symbols = weights(f"{name}.symbols.weight")
        self.positions = weights(f"{name}.positions.weight") if f"{name}.positions.weight" in weights else None
        self.categories = weights(f"{name}.categories.weight") if f"{name}.categories.weight" in weights else None

    @property
    def longest(self) -> int | None:
        """Symbols of a string at most, beside `<s>` or `</s>`; None for any number."""
        return None if self.positions is None else len(self.positions) - 1

    def __call__(self, symbols: np.ndarray, times: Any, category: np.ndarray | None = None) -> np.ndarray:
        """Embeddings of symbols at their places in strings."""
        vectors: np.ndarray = self.symbols[symbols]
        if self.positions is not None:
            if np.max(times, initial=0) >= len(self.positions):
                got = f"got {np.max(times)} symbols, expected at most {self.longest}"
                raise ValueError(f"a string is too long for the model: {got}. Shorten it")
            vectors = vectors + self.positions[times]
        return vectors if category is None or self.categories is None else vectors + self.categories[category]


class Layer(ABC):
    """One layer of an encoder."""

    @abstractmethod
    def read(self, vectors: np.ndarray, strings: Packed) -> np.ndarray:
        """Vectors of whole strings, in context on both sides."""

    @abstractmethod
    def begin(self, dim: int) -> np.ndarray:
        """What a left-to-right layer remembers before the first symbol: one row."""

    @abstractmethod
    def step(self, vectors: np.ndarray, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Vectors of one more symbol of each prefix, and what to remember."""


class TwoWayGru:
    """Bidirectional GRU layer of a source's encoder, residual and normalised."""

    def __init__(self, weights: Weights, name: str) -> None:
        self.onward, self.back = Gru(weights, f"{name}.onward"), Gru(weights, f"{name}.backward_")
        self.merge, self.norm = Linear.of(weights, f"{name}.merge"), LayerNorm(weights, f"{name}.norm")

    def read(self, vectors: np.ndarray, strings: Packed) -> np.ndarray:
        """Vectors of whole strings, in context on both sides."""
        both = np.empty((len(vectors), 2 * self.onward.dim), dtype=vectors.dtype)
        onward, back = both[:, : self.onward.dim], both[:, self.onward.dim :]
        self.onward.read(self.onward.input(vectors), strings, onward)
        self.back.read(self.back.input(vectors), strings, back, backwards=True)
        merged = self.merge(both)
        merged += vectors
        return self.norm.over(merged)

    def read_symbols(self, table: np.ndarray, strings: Packed) -> np.ndarray:
        """The same, of symbols whose vectors are a table: all inputs are known before any string is."""
        found = (table + self.merge.bias)[strings.symbols]
        onward, back = self.merge.weight[: self.onward.dim], self.merge.weight[self.onward.dim :]
        self.onward.read_shared(self.onward.input(table), strings, onward, found)
        self.back.read_shared(self.back.input(table), strings, back, found, backwards=True)
        return self.norm.over(found)


class OneWayGru:
    """GRU layer of a target's encoder, from left to right, residual and normalised."""

    def __init__(self, weights: Weights, name: str) -> None:
        self.gru, self.norm = Gru(weights, f"{name}.gru"), LayerNorm(weights, f"{name}.norm")

    def begin(self, dim: int) -> np.ndarray:
        """See `Layer.begin`: a hidden state of zeros."""
        return np.zeros((1, dim), dtype=np.float32)

    def step(
        self, vectors: np.ndarray, state: np.ndarray, projected: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `Layer.step`; `projected` are the inputs, where these are known already."""
        after = self.gru.step(self.gru.input(vectors) if projected is None else projected, state)
        return self.norm.over(vectors + after), after


class GatedConvolution(Layer):
    """Convolution over neighbouring symbols with a gated linear unit, residual and normalised."""

    def __init__(self, weights: Weights, name: str) -> None:
        kernel = weights(f"{name}.convolution.weight")  # outputs, inputs, places
        self.kernel, flat = kernel.shape[2], kernel.transpose(0, 2, 1).reshape(len(kernel), -1)
        self.window = Linear(flat, weights(f"{name}.convolution.bias"))
        self.norm = LayerNorm(weights, f"{name}.norm")

    def read(self, vectors: np.ndarray, strings: Packed) -> np.ndarray:
        """See `Layer.read`; outside a string stand zeros."""
        left, width = self.kernel // 2, strings.width
        table = np.pad(strings.padded(vectors), ((0, 0), (left, self.kernel - 1 - left), (0, 0)))
        windows = np.concatenate([table[:, place : place + width] for place in range(self.kernel)], axis=2)
        return self._normed(strings.unpadded(windows), vectors)

    def begin(self, dim: int) -> np.ndarray:
        """See `Layer.begin`: the last inputs, zeros."""
        return np.zeros((1, self.kernel - 1, dim), dtype=np.float32)

    def step(self, vectors: np.ndarray, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `Layer.step`."""
        window = np.concatenate([state, vectors[:, None]], axis=1)
        return self._normed(window.reshape(len(window), -1), vectors), window[:, 1:]

    def _normed(self, windows: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        values, gates = np.split(self.window(windows), 2, axis=1)
        return self.norm(values * (np.tanh(gates * np.float32(0.5)) + 1) * np.float32(0.5) + vectors)


class SelfAttention(Layer):
    """Transformer layer: self-attention and feed-forward network, each residual, normalised before or after."""

    def __init__(self, weights: Weights, name: str, *, heads: int, pre: bool) -> None:
        self.pre, self.norms = pre, [LayerNorm(weights, f"{name}.norms.{half}") for half in (0, 1)]
        matrix, bias = weights(f"{name}.key_value.weight"), weights(f"{name}.key_value.bias")
        key, value = (Linear(*parts) for parts in zip(np.split(matrix, 2), np.split(bias, 2), strict=True))
        query, merge = (Linear.of(weights, f"{name}.{part}") for part in ("query", "merge"))
        self.attention = Attention((query, key, value, merge), heads)
        self.wide, self.narrow = Linear.of(weights, f"{name}.wide.0"), Linear.of(weights, f"{name}.wide.2")

    def read(self, vectors: np.ndarray, strings: Packed) -> np.ndarray:
        """See `Layer.read`."""
        table = strings.padded(vectors)
        context = self.context(table)
        mixed = self.mixed(table, self.attention(context, self.attention.see(context, strings.real)))
        return self.widened(strings.unpadded(mixed))

    def begin(self, dim: int) -> np.ndarray:
        """See `Layer.begin`: nothing to attend to."""
        return np.zeros((1, 0, dim), dtype=np.float32)

    def step(self, vectors: np.ndarray, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `Layer.step`."""
        mixed, context = self.mixed_step(vectors, state)
        return self.widened(mixed), context

    def mixed_step(self, vectors: np.ndarray, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """First half of a step, self-attention over what came before, and what to remember."""
        asking = self.context(vectors)[:, None]
        context = np.concatenate([state, asking], axis=1)
        found = self.attention(asking, self.attention.see(context, np.ones(context.shape[:2], dtype=bool)))
        return self.mixed(vectors, found[:, 0]), context

    def context(self, vectors: np.ndarray) -> np.ndarray:
        """What other symbols see of these."""
        return self.norms[0](vectors) if self.pre else vectors

    def mixed(self, vectors: np.ndarray, found: np.ndarray) -> np.ndarray:
        """Self-attention half, after attention."""
        return vectors + found if self.pre else self.norms[0](vectors + found)

    def widened(self, vectors: np.ndarray) -> np.ndarray:
        """Feed-forward half."""
        if self.pre:
            return vectors + self.narrow(gelu(self.wide(self.norms[1](vectors))))
        return self.norms[1](vectors + self.narrow(gelu(self.wide(vectors))))


class CrossAttention:
    """Attention of a target's symbols to the source, residual, layer normalisation after or before."""

    def __init__(self, weights: Weights, name: str, *, heads: int, pre: bool) -> None:
        parts = [Linear.of(weights, f"{name}.{part}") for part in ("query", "key", "value", "merge")]
        self.attention, self.norm, self.pre = Attention(parts, heads), LayerNorm(weights, f"{name}.norm"), pre

    def __call__(self, vectors: np.ndarray, seen: Seen, rows: np.ndarray) -> np.ndarray:
        """Vectors with what each found in its own source, whose number is in `rows`."""
        asking = self.norm(vectors) if self.pre else vectors
        own = Seen(*(part[rows] for part in seen))
        found = vectors + self.attention(asking[:, None], own)[:, 0]
        return found if self.pre else self.norm(found)


class SourceEncoder:
    """Encoder of whole strings, which sees to both sides."""

    def __init__(self, weights: Weights, name: str, config: Mapping[str, Any]) -> None:
        self.embedding, kind = Embedding(weights, f"{name}.embedding"), config["kind"]
        self.layers: list[Any] = [_layer(weights, path, config, TwoWayGru) for path in _paths(weights, name, config)]
        final = kind == "transformer" and config.get("norm", "pre") == "pre"
        self.final = LayerNorm(weights, f"{name}.encoder.final") if final else None

    def __call__(self, strings: Packed, category: np.ndarray | None = None) -> np.ndarray:
        """Contextual vectors of all symbols; `category` is the language of each string."""
        embedding, layers = self.embedding, self.layers
        if isinstance(layers[0] if layers else None, TwoWayGru) and embedding.categories is None:
            vectors, layers = layers[0].read_symbols(embedding.symbols, strings), layers[1:]
        else:
            vectors = embedding(strings.symbols, strings.times, None if category is None else category[strings.rows])
        for layer in layers:
            vectors = layer.read(vectors, strings)
        return self.final(vectors) if self.final else vectors


class TargetEncoder:
    """Encoder from left to right, symbol by symbol; with cross-attention it looks at the source."""

    def __init__(self, weights: Weights, name: str, config: Mapping[str, Any]) -> None:
        self.embedding = Embedding(weights, f"{name}.embedding")
        paths, heads, pre = _paths(weights, name, config), config["heads"], config.get("norm", "pre") == "pre"
        attends = bool(paths) and f"{paths[0]}.looking.query.weight" in weights
        inner = [f"{path}.reading" if attends else path for path in paths]
        self.layers: list[Any] = [_layer(weights, path, config, OneWayGru) for path in inner]
        transformer = config["kind"] == "transformer"
        self.looking = [
            CrossAttention(weights, f"{path}.looking", heads=heads, pre=pre and transformer)
            for path in paths
            if attends
        ]
        self.final = LayerNorm(weights, f"{name}.encoder.final") if transformer and pre else None
        known = isinstance(self.layers[0] if paths else None, OneWayGru)
        self.inputs = self.layers[0].gru.input(self.embedding.symbols) if known else None
        """Inputs of the first recurrent layer, of all symbols."""

    def see(self, vectors: np.ndarray, real: np.ndarray) -> list[Seen]:
        """What each layer may look at: nothing without cross-attention."""
        return [layer.attention.see(vectors, real) for layer in self.looking]

    def begin(self) -> State:
        """State before `<s>`, one row."""
        return tuple(layer.begin(self.embedding.symbols.shape[1]) for layer in self.layers)

    def step(
        self, symbols: np.ndarray, time: int, state: State, seen: list[Seen], rows: np.ndarray
    ) -> tuple[np.ndarray, State]:
        """Vectors of one more symbol of each prefix, and the new state; with cross-attention, `rows` are its source."""
        vectors, remembered = self.embedding(symbols, time), []
        for number, (layer, before) in enumerate(zip(self.layers, state, strict=True)):
            if seen and isinstance(layer, SelfAttention):
                vectors, after = layer.mixed_step(vectors, before)
                vectors = layer.widened(self.looking[number](vectors, seen[number], rows))
            elif number == 0 and self.inputs is not None:
                vectors, after = layer.step(vectors, before, self.inputs[symbols])
            else:
                vectors, after = layer.step(vectors, before)
            if seen and not isinstance(layer, SelfAttention):
                vectors = self.looking[number](vectors, seen[number], rows)
            remembered.append(after)
        return (self.final(vectors) if self.final else vectors), tuple(remembered)


def _paths(weights: Weights, name: str, config: Mapping[str, Any]) -> list[str]:
    """Names of the layers of an encoder. Raises `ValueError` for one that is not known here."""
    if config["kind"] not in ("unigram", "cnn", "rnn", "transformer"):
        raise ValueError(f"the encoder {config['kind']!r} is not known here, expected unigram, cnn, rnn or transformer")
    count = 0 if config["kind"] == "unigram" else config["layers"]
    if not 0 <= count <= MOST_LAYERS:
        raise ValueError(f"layers: got {count}, expected at most {MOST_LAYERS}")
    return [f"{name}.encoder.layers.{number}" for number in range(count)]


def _layer(weights: Weights, path: str, config: Mapping[str, Any], gru: type) -> Any:
    """Layer of the kind that the settings name."""
    if config["kind"] == "rnn":
        return gru(weights, path)
    if config["kind"] == "cnn":
        return GatedConvolution(weights, path)
    return SelfAttention(weights, path, heads=config["heads"], pre=config.get("norm", "pre") == "pre")
