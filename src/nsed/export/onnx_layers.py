"""Encoders and pair features as ONNX operators: of whole strings, and of one more symbol."""

from typing import Any, NamedTuple

import numpy as np
from torch import Tensor, nn

from nsed.encoders import StringEncoder
from nsed.encoders.base import CrossAttention, UnigramEncoder
from nsed.encoders.cnn import CnnEncoder, GatedConvolution
from nsed.encoders.rnn import AttendingGruLayer, OneWayLayer, RnnEncoder, TwoWayLayer
from nsed.encoders.transformer import AttendingTransformerLayer, SelfAttentionLayer, TransformerEncoder
from nsed.errors import ArgumentError
from nsed.export.onnx_graph import Graph
from nsed.networks.pair_features import SIMILARITY_DIM, NormedProjection, PairFeatures
from nsed.types import END, NEG


class Seen(NamedTuple):
    """Source that target symbols may look at: its vectors, and a mask of what is real."""

    vectors: str
    real: str


def with_end(graph: Graph, symbols: str, lengths: str) -> str:
    """Strings with `</s>` after their last symbol."""
    longer = graph.op("Pad", symbols, graph.integers(0, 0, 0, 1))
    places = graph.unsqueezed(graph.range(graph.size(longer, 1)), 0)
    return graph.op("Where", graph.op("Equal", places, graph.unsqueezed(lengths, 1)), END, longer)


def read_strings(graph: Graph, encoder: StringEncoder, symbols: str, lengths: str, category: str | None) -> str:
    """Contextual vectors of whole strings, which have `</s>` and count it."""
    embedding, inner = encoder.embedding, encoder.encoder
    vectors = graph.op("Gather", embedding.symbols.weight, symbols)
    if embedding.positions is not None:
        places = graph.range(graph.size(symbols, 1))
        vectors = graph.op("Add", vectors, graph.op("Gather", embedding.positions.weight, places))
    if embedding.categories is not None and category is not None:
        of_each = graph.op("Gather", embedding.categories.weight, category)
        vectors = graph.op("Add", vectors, graph.unsqueezed(of_each, 1))
    if isinstance(inner, UnigramEncoder):
        return vectors
    real = graph.inside(lengths, graph.size(symbols, 1))
    if isinstance(inner, RnnEncoder):
        for layer in inner.layers:
            vectors = _two_way(graph, layer, vectors, lengths)
    elif isinstance(inner, CnnEncoder):
        for layer in inner.layers:
            vectors = _convolved(graph, layer, vectors, real)
    elif isinstance(inner, TransformerEncoder):
        for layer in inner.layers:
            vectors = _transformed(graph, layer, vectors, real)
        vectors = graph.norm(inner.final, vectors)
    else:
        raise _no_way(inner)
    return vectors


def _no_way(encoder: nn.Module) -> ArgumentError:
    expected = "unigram, cnn, rnn or transformer: an encoder of your own needs its operators in onnx_layers.py"
    return ArgumentError("model", got=f"the encoder {type(encoder).__name__}", expected=expected)


def _gru_weights(gru: nn.GRU) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights of a GRU in ONNX's order of gates: update, reset, new."""
    rows = np.concatenate([np.split(np.arange(3 * gru.hidden_size), 3)[gate] for gate in (1, 0, 2)])
    of_input, hidden, bias, hidden_bias = (
        getattr(gru, f"{name}_l0").detach().float().cpu().numpy()[rows]
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    return of_input, hidden, np.concatenate([bias, hidden_bias])


def _two_way(graph: Graph, layer: Any, vectors: str, lengths: str) -> str:
    """Bidirectional GRU layer: ONNX's own, which turns each string round by its length."""
    assert isinstance(layer, TwoWayLayer)
    weights = [np.stack(parts) for parts in zip(*map(_gru_weights, (layer.onward, layer.backward_)), strict=True)]
    size = layer.onward.hidden_size
    in_time = graph.op("Transpose", vectors, perm=[1, 0, 2])
    counted = graph.op("Cast", lengths, to=6)  # int32
    states, _ = graph.ops(
        "GRU",
        in_time,
        *weights,
        counted,
        outputs=2,
        direction="bidirectional",
        hidden_size=size,
        linear_before_reset=1,
    )
    both = graph.op("Reshape", graph.op("Transpose", states, perm=[2, 0, 1, 3]), graph.integers(0, 0, 2 * size))
    return graph.norm(layer.norm, graph.op("Add", vectors, graph.linear(layer.merge, both)))


def _convolved(graph: Graph, layer: Any, vectors: str, real: str) -> str:
    """Gated convolution over whole strings."""
    assert isinstance(layer, GatedConvolution)
    masked = graph.op("Where", graph.unsqueezed(real, 2), vectors, 0.0)
    bordered = graph.op("Pad", masked, graph.integers(0, layer.left, 0, 0, layer.kernel - 1 - layer.left, 0))
    convolution = layer.convolution
    assert convolution.bias is not None
    turned = graph.op("Transpose", bordered, perm=[0, 2, 1])
    wide = graph.op("Conv", turned, convolution.weight, convolution.bias)
    return _gated(graph, layer, graph.op("Transpose", wide, perm=[0, 2, 1]), masked)


def _gated(graph: Graph, layer: GatedConvolution, wide: str, vectors: str) -> str:
    values, gates = graph.ops("Split", wide, outputs=2, axis=-1, num_outputs=2)
    gated = graph.op("Mul", values, graph.op("Sigmoid", gates))
    return graph.norm(layer.norm, graph.op("Add", gated, vectors))


def _transformed(graph: Graph, layer: Any, vectors: str, real: str) -> str:
    """Transformer layer over whole strings."""
    assert isinstance(layer, SelfAttentionLayer)
    context = graph.norm(layer.norms[0], vectors) if layer.pre else vectors
    mixed = _self_attended(graph, layer, vectors, context, context, graph.unsqueezed(real, 1, 2))
    return _widened(graph, layer, mixed)


def _self_attended(
    graph: Graph, layer: SelfAttentionLayer, vectors: str, asking: str, context: str, allowed: str | None
) -> str:
    key, value = graph.ops("Split", graph.linear(layer.key_value, context), outputs=2, axis=-1, num_outputs=2)
    query = graph.linear(layer.query, asking)
    found = graph.attention(query, key, value, allowed, layer.heads, layer.query.in_features)
    mixed = graph.op("Add", vectors, graph.linear(layer.merge, found))
    return mixed if layer.pre else graph.norm(layer.norms[0], mixed)


def _widened(graph: Graph, layer: SelfAttentionLayer, vectors: str) -> str:
    first, second = layer.wide[0], layer.wide[2]
    assert isinstance(first, nn.Linear)
    assert isinstance(second, nn.Linear)
    wide = graph.linear(first, graph.norm(layer.norms[1], vectors) if layer.pre else vectors)
    half = graph.op("Mul", wide, 0.5)
    gelu = graph.op("Mul", half, graph.op("Add", graph.op("Erf", graph.op("Mul", wide, 0.5**0.5)), 1.0))
    summed = graph.op("Add", vectors, graph.linear(second, gelu))
    return summed if layer.pre else graph.norm(layer.norms[1], summed)


class Stepped(NamedTuple):
    """One more symbol of each prefix: its vectors, and the states after it, by name."""

    vectors: str
    states: list[tuple[str, str, tuple[int | str, ...]]]


def read_symbol(graph: Graph, encoder: StringEncoder, symbol: str, seen: Seen | None) -> Stepped:
    """Contextual vectors of one more symbol, from left to right; the states before it become inputs of the graph."""
    embedding, inner = encoder.embedding, encoder.encoder
    vectors = graph.op("Gather", embedding.symbols.weight, symbol)
    if embedding.positions is not None:
        position = graph.input("position", (1,), "int")
        vectors = graph.op("Add", vectors, graph.op("Gather", embedding.positions.weight, position))
    if isinstance(inner, UnigramEncoder):
        return Stepped(vectors, [])
    if not isinstance(inner, RnnEncoder | CnnEncoder | TransformerEncoder):
        raise _no_way(inner)
    states: list[tuple[str, str, tuple[int | str, ...]]] = []
    for number, layer in enumerate(inner.layers):
        name, shape = f"state_{number}", _state_shape(layer, embedding.symbols.embedding_dim)
        vectors, after = _stepped(graph, layer, vectors, graph.input(name, shape), seen)
        longer = ("hypotheses", "read_after", shape[2]) if shape[1] == "read" else shape
        states.append((name, after, longer))
    final = inner.final if isinstance(inner, TransformerEncoder) else nn.Identity()
    return Stepped(graph.norm(final, vectors), states)


def _state_shape(layer: nn.Module, dim: int) -> tuple[int | str, ...]:
    if isinstance(layer, GatedConvolution):
        return "hypotheses", layer.kernel - 1, dim
    if isinstance(layer, SelfAttentionLayer | AttendingTransformerLayer):
        return "hypotheses", "read", dim
    return "hypotheses", dim


def _stepped(graph: Graph, layer: nn.Module, vectors: str, state: str, seen: Seen | None) -> tuple[str, str]:
    """One layer's vectors of one more symbol, and its state after it."""
    if isinstance(layer, AttendingGruLayer):
        assert seen is not None
        read, after = _gru_step(graph, layer.reading, vectors, state)
        return _looked(graph, layer.looking, read, seen), after
    if isinstance(layer, OneWayLayer):
        return _gru_step(graph, layer, vectors, state)
    if isinstance(layer, GatedConvolution):
        window = graph.op("Concat", state, graph.unsqueezed(vectors, 1), axis=1)
        kernel: Tensor = layer.convolution.weight.permute(2, 1, 0).flatten(0, 1)  # places and inputs, outputs
        flat = graph.op("Reshape", window, graph.integers(0, kernel.shape[0]))
        assert layer.convolution.bias is not None
        wide = graph.op("Add", graph.op("MatMul", flat, kernel), layer.convolution.bias)
        return _gated(graph, layer, wide, vectors), graph.sliced(window, 1, 1, layer.kernel)
    attends = isinstance(layer, AttendingTransformerLayer)
    reading = layer.reading if isinstance(layer, AttendingTransformerLayer) else layer
    assert isinstance(reading, SelfAttentionLayer)
    asking = graph.unsqueezed(graph.norm(reading.norms[0], vectors) if reading.pre else vectors, 1)
    context = graph.op("Concat", state, asking, axis=1)
    mixed = _self_attended(graph, reading, graph.unsqueezed(vectors, 1), asking, context, None)
    found = graph.op("Squeeze", mixed, graph.integers(1))
    if attends:
        assert isinstance(layer, AttendingTransformerLayer)
        assert seen is not None
        found = _looked(graph, layer.looking, found, seen)
    return _widened(graph, reading, found), context


def _gru_step(graph: Graph, layer: OneWayLayer, vectors: str, state: str) -> tuple[str, str]:
    weights = {name: value.detach() for name, value in layer.gru.named_parameters()}
    of_input, of_state = (
        graph.op("Add", graph.op("MatMul", given, weights[f"weight_{side}_l0"].T), weights[f"bias_{side}_l0"])
        for given, side in ((vectors, "ih"), (state, "hh"))
    )
    given = graph.ops("Split", of_input, outputs=3, axis=-1, num_outputs=3)
    kept = graph.ops("Split", of_state, outputs=3, axis=-1, num_outputs=3)
    reset, update = (graph.op("Sigmoid", graph.op("Add", a, b)) for a, b in zip(given[:2], kept[:2], strict=True))
    new = graph.op("Tanh", graph.op("Add", given[2], graph.op("Mul", reset, kept[2])))
    after = graph.op("Add", new, graph.op("Mul", update, graph.op("Sub", state, new)))
    return graph.norm(layer.norm, graph.op("Add", vectors, after)), after


def _looked(graph: Graph, layer: CrossAttention, vectors: str, seen: Seen) -> str:
    """Cross-attention of one symbol per prefix to its source."""
    asking = graph.norm(layer.norm, vectors) if layer.pre else vectors
    query = graph.unsqueezed(graph.linear(layer.query, asking), 1)
    key, value = graph.linear(layer.key, seen.vectors), graph.linear(layer.value, seen.vectors)
    dim = layer.query.in_features
    found = graph.attention(query, key, value, graph.unsqueezed(seen.real, 1, 2), layer.heads, dim)
    merged = graph.op("Squeeze", graph.linear(layer.merge, found), graph.integers(1))
    summed = graph.op("Add", vectors, merged)
    return summed if layer.pre else graph.norm(layer.norm, summed)


class SourceHalf(NamedTuple):
    """Half of the pair features, of source symbols: their projections, and vectors of the similarity heads."""

    projected: str
    similar: str | None


def source_half(graph: Graph, features: PairFeatures, vectors: str) -> SourceHalf:
    """Half of the features of source symbols, batch by places."""
    return SourceHalf(graph.linear(features.source, vectors), _similar(graph, features, vectors))


def _similar(graph: Graph, features: PairFeatures, vectors: str) -> str | None:
    if not features.interaction:
        return None
    split = graph.integers(0, 0, features.interaction, SIMILARITY_DIM)
    return graph.op("Transpose", graph.op("Reshape", graph.linear(features.similar, vectors), split), perm=[0, 2, 1, 3])


def class_scores(
    graph: Graph,
    features: PairFeatures,
    projection: NormedProjection,
    source: SourceHalf,
    target: str,
    seen: Seen | None = None,
) -> str:
    """Class scores in all cells: batch by source places by target places by classes."""
    summed = graph.op(
        "Add", graph.unsqueezed(source.projected, 2), graph.unsqueezed(graph.linear(features.target, target), 1)
    )
    of_target = _similar(graph, features, target)
    if source.similar is not None and of_target is not None:
        products = graph.op("MatMul", source.similar, graph.op("Transpose", of_target, perm=[0, 1, 3, 2]))
        heads = graph.op("Mul", graph.op("Transpose", products, perm=[0, 2, 3, 1]), SIMILARITY_DIM**-0.5)
        summed = graph.op("Add", summed, graph.linear(features.spread, heads))
    x = graph.op("Relu", summed)
    if features.attention is not None:
        assert seen is not None
        found = graph.unsqueezed(_cell_attention(graph, features.attention, target, seen), 1)
        nothing = graph.op("Mul", graph.op("ReduceSum", x, graph.integers(-1), keepdims=1), 0.0)
        x = graph.op("Concat", x, graph.op("Add", found, nothing), axis=-1)
    return graph.linear(projection.linear, graph.norm(projection.norm, x))


def _cell_attention(graph: Graph, layer: nn.MultiheadAttention, target: str, seen: Seen) -> str:
    weights, biases = layer.in_proj_weight.chunk(3), layer.in_proj_bias.chunk(3)
    query, key, value = (
        graph.op("Add", graph.op("MatMul", given, weight.T.contiguous()), bias)
        for given, weight, bias in zip((target, seen.vectors, seen.vectors), weights, biases, strict=True)
    )
    allowed = graph.unsqueezed(seen.real, 1, 2)
    found = graph.attention(query, key, value, allowed, layer.num_heads, layer.embed_dim)
    return graph.linear(layer.out_proj, found)


def log_prob(graph: Graph, arcs: tuple[str, str, str], lengths: tuple[str, str]) -> str:
    """Log-sum over all derivations of each pair, of arcs by the cells that they enter: a `Scan` over anti-diagonals.

    Row d of a skewed table has the cells (i, d - i); their arcs come from the rows d - 1 and d - 2.
    """
    height, width = graph.size(arcs[0], 1), graph.size(arcs[0], 2)
    i = graph.unsqueezed(graph.range(height), 0)
    count = graph.op("Sub", graph.op("Add", height, width), 1)
    j = graph.op("Sub", graph.unsqueezed(graph.range(count), 1), i)
    end = graph.op("Sub", width, 1)
    known = graph.op("And", graph.op("GreaterOrEqual", j, 0), graph.op("LessOrEqual", j, end))
    place = graph.op("Add", graph.op("Mul", i, width), graph.op("Min", graph.op("Max", j, 0), end))
    skewed = [_skewed(graph, table, place, known) for table in arcs]
    shape = ("pairs", "rows")
    zero = graph.op("Mul", graph.op("Cast", graph.unsqueezed(lengths[0], 1), to=1), 0.0)  # pairs by 1
    start = graph.op("Where", graph.op("Equal", i, 0), zero, NEG)
    nothing = graph.op("Add", graph.op("Mul", start, 0.0), NEG)
    rest = [(graph.sliced(table, 0, 1, 2**31 - 1), shape) for table in skewed]
    told = graph.scan([(start, shape), (nothing, shape)], rest, _diagonal)
    alpha = graph.op("Concat", graph.unsqueezed(start, 0), told, axis=0)
    pairs = graph.range(graph.size(lengths[0], 0))
    last = [graph.unsqueezed(one, 1) for one in (graph.op("Add", *lengths), pairs, lengths[0])]
    return graph.op("GatherND", alpha, graph.op("Concat", *last, axis=1))


def _skewed(graph: Graph, table: str, place: str, known: str) -> str:
    """Table of cells, batch by rows by columns, as anti-diagonals by batch by rows."""
    flat = graph.op("Reshape", table, graph.integers(0, -1))
    chosen = graph.op("Where", graph.unsqueezed(known, 0), graph.op("Gather", flat, place, axis=1), NEG)
    return graph.op("Transpose", chosen, perm=[1, 0, 2])


def _diagonal(graph: Graph, states: list[str], rows: list[str]) -> tuple[list[str], str]:
    """One anti-diagonal of the forward table, of the two before it."""
    (before, earlier), (delete, insert, substitute) = states, rows
    here = graph.log_add(
        graph.op("Add", graph.shifted(before, 1), delete),
        graph.op("Add", before, insert),
        graph.op("Add", graph.shifted(earlier, 1), substitute),
    )
    return [here, before], here
