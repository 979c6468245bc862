"""Models as ONNX graphs: the Transducer as encoder and step, the Matcher with a network and in odds form as one."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from nsed.errors import ArgumentError
from nsed.export.onnx_graph import Graph
from nsed.export.onnx_layers import (
    Seen,
    SourceHalf,
    class_scores,
    log_prob,
    read_strings,
    read_symbol,
    source_half,
    with_end,
)
from nsed.kernels.torch.arcs import possible_classes
from nsed.models.base import Model
from nsed.models.matcher import Matcher
from nsed.models.matcher_mixture import MatcherMixture
from nsed.models.mixture import Mixture
from nsed.models.odds import OddsMatcher
from nsed.models.transducer import Transducer
from nsed.networks.odds import IDENTITY, SWAPPED, UNIT, Odds
from nsed.types import NEG, PAD, START, UNKNOWN

ENCODER, STEP, PAIR = "encoder.onnx", "step.onnx", "pair.onnx"
HYPOTHESES = "hypotheses"


def write_onnx(model: Model, folder: Path) -> list[Path]:
    """Write a model's graphs into a folder; the paths of the files.

    Raises `ArgumentError` for a model that has no graphs.
    """
    if isinstance(model, Mixture):
        return [path for k, one in enumerate(model.members) for path in write_onnx(one, folder / f"member-{k}")]
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(model, Transducer):
        return [_write_encoder(model, folder / ENCODER), _write_step(model, folder / STEP)]
    if isinstance(model, Matcher):
        return [_write_matcher(model, folder / PAIR)]
    if isinstance(model, OddsMatcher):
        return [_write_odds(model, folder / PAIR)]
    advice = "For an edit distance: --format json, rapidfuzz or duckdb."
    if isinstance(model, MatcherMixture):
        advice = "A mixture of matchers elsewhere: nsed-lite reads its folder, without torch; or export its members."
    expected = "a transducer, a mixture of them, or a matcher (network or odds)"
    raise ArgumentError("model", got=f"a model of kind {model.kind!r}", expected=expected, advice=advice)


def _write_encoder(model: Transducer, path: Path) -> Path:
    """Encoder of sources: once for all targets."""
    network, graph = model.network, Graph("encoder")
    source, lengths = graph.input("source", ("batch", "n"), "int"), graph.input("source_lengths", ("batch",), "int")
    category = graph.input("language", ("batch",), "int") if model.languages else None
    counted = graph.op("Add", lengths, 1)
    vectors = read_strings(graph, network.source_encoder, with_end(graph, source, lengths), counted, category)
    half = source_half(graph, network.features, vectors)
    width, dim = network.features.source.out_features, network.features.source.in_features
    graph.output("projected", half.projected, ("batch", "rows", width))
    if half.similar is not None:
        graph.output("similar", half.similar, ("batch", network.features.interaction, "rows", 32))
    if network.features.attends or network.target_encoder.attends:
        graph.output("attended", vectors, ("batch", "rows", dim))
    graph.write(path, "Sources, as numbers of symbols padded with 0, to what the step needs of them.")
    return path


def _write_step(model: Transducer, path: Path) -> Path:
    """Step of decoding: one more symbol of each hypothesis, and one more lattice column."""
    network, graph = model.network, Graph("step")
    features, symbols = network.features, (network.projection.linear.out_features - 1) // 2
    projected = graph.input("projected", (HYPOTHESES, "rows", features.source.out_features))
    heads = (HYPOTHESES, features.interaction, "rows", 32)
    similar = graph.input("similar", heads) if features.interaction else None
    lengths, symbol = (graph.input(name, (HYPOTHESES,), "int") for name in ("source_lengths", "symbol"))
    real = graph.inside(graph.op("Add", lengths, 1), graph.size(projected, 1))
    attends = features.attends or network.target_encoder.attends
    attended = graph.input("attended", (HYPOTHESES, "rows", features.source.in_features)) if attends else None
    seen = None if attended is None else Seen(attended, real)
    stepped = read_symbol(graph, network.target_encoder, symbol, seen)
    vectors = graph.unsqueezed(stepped.vectors, 1)
    scores = class_scores(graph, features, network.projection, SourceHalf(projected, similar), vectors, seen)
    column = graph.op("Squeeze", scores, graph.integers(2))  # hypotheses, rows, classes
    exact = model.config.normalisation == "outgoing"
    (_outgoing if exact else _incoming)(graph, column, lengths, real, symbols)
    for name, after, shape in stepped.states:
        graph.output(f"{name}_after", after, shape)
    graph.write(
        path, "One more symbol of each hypothesis: log-probabilities of what may follow, and all memories then."
    )
    return path


def _outgoing(graph: Graph, column: str, lengths: str, real: str, symbols: int) -> None:
    """Exact mode: inputs and outputs of a lattice column."""
    entering = graph.input("memory", (HYPOTHESES, 1, "rows"))
    rows = graph.unsqueezed(graph.range(graph.size(column, 1)), 0)
    last = graph.unsqueezed(graph.op("Equal", rows, graph.unsqueezed(lengths, 1)), 2)
    possible = possible_classes(1 + 2 * symbols, torch.device("cpu")).numpy()
    before, after = np.where(possible, 0.0, NEG).astype(np.float32)
    masked = graph.op("Add", graph.op("Where", last, after, before), column)
    leaving = graph.op("LogSoftmax", masked, axis=-1)
    delete, insert, substitute = _parts(graph, leaving, symbols)
    arrived = graph.op("Squeeze", entering, graph.integers(1))
    alpha = graph.op("Where", real, _with_deletes(graph, arrived, graph.shifted(delete, 1)), NEG)
    here = graph.unsqueezed(alpha, 2)
    writing = graph.op("Add", here, graph.log_add(insert, substitute))
    _output_written(graph, graph.log_sum(writing, 1), symbols)
    next_column = graph.log_add(graph.op("Add", here, insert), graph.shifted(graph.op("Add", here, substitute), 1))
    by_symbol = graph.op("Max", graph.op("Transpose", next_column, perm=[0, 2, 1]), NEG)
    graph.output("memory_after", graph.unsqueezed(by_symbol, 2), (HYPOTHESES, symbols, 1, "rows"))


def _incoming(graph: Graph, column: str, lengths: str, real: str, symbols: int) -> None:
    """Paper mode: inputs and outputs of a lattice column."""
    memory = graph.input("memory", (HYPOTHESES, 5, "rows"))
    history = graph.input("history", (HYPOTHESES,))
    parts = graph.ops("Split", memory, outputs=5, axis=1, num_outputs=5)
    before, insert, substitute, any_insert, any_substitute = (
        graph.op("Squeeze", part, graph.integers(1)) for part in parts
    )
    scored = _parts(graph, column, symbols)
    delete, substitute, any_substitute = (graph.shifted(one, 1) for one in (scored[0], substitute, any_substitute))
    total = graph.log_add(delete, any_insert, any_substitute)
    entering = graph.log_add(
        graph.op("Sub", graph.op("Add", before, insert), total),
        graph.op("Sub", graph.op("Add", graph.shifted(before, 1), substitute), total),
    )
    most = graph.op("ReduceMax", any_insert, graph.integers(1), keepdims=1)
    entering = graph.op("Max", graph.op("Where", graph.op("LessOrEqual", most, NEG), before, entering), NEG)
    alpha = _with_deletes(graph, entering, graph.op("Max", graph.op("Sub", delete, total), NEG))
    alpha = graph.op("Where", real, alpha, NEG)
    totals = [graph.log_sum(part, 2) for part in scored[1:]]
    written = _next_symbol(graph, scored, totals, alpha, real)
    _output_written(graph, graph.op("Add", graph.unsqueezed(history, 1), written), symbols)
    nothing = graph.op("Mul", scored[1], 0.0)
    kept = [graph.op("Add", graph.unsqueezed(one, 2), nothing) for one in (alpha, *totals)]
    after = [graph.unsqueezed(one, 1) for one in (kept[0], scored[1], scored[2], kept[1], kept[2])]
    by_symbol = graph.op("Transpose", graph.op("Concat", *after, axis=1), perm=[0, 3, 1, 2])
    graph.output("memory_after", by_symbol, (HYPOTHESES, symbols, 5, "rows"))


def _next_symbol(graph: Graph, scored: list[str], totals: list[str], alpha: str, real: str) -> str:
    """Log-probabilities of the next symbol, in paper mode."""
    above, any_above = graph.shifted(scored[2], 1), graph.shifted(totals[1], 1)
    total = graph.unsqueezed(graph.log_add(totals[0], any_above), 2)
    inserted = graph.op("Add", graph.op("Sub", scored[1], total), graph.unsqueezed(alpha, 2))
    relative = graph.op("Max", graph.op("Sub", above, total), NEG)
    alpha_above = graph.op("Where", real, graph.shifted(alpha, 1), NEG)  # no row beyond a source's own has any
    substituted = graph.op("Add", relative, graph.unsqueezed(alpha_above, 2))
    written = graph.log_sum(graph.log_add(inserted, substituted), 1)
    return graph.op("Sub", written, graph.log_sum(written, 1, keep=True))


def _parts(graph: Graph, column: str, symbols: int) -> list[str]:
    """Scores to delete, hypotheses by rows, and to insert and substitute each symbol."""
    delete = graph.op("Squeeze", graph.sliced(column, 2, 0, 1), graph.integers(2))
    return [
        delete,
        graph.sliced(column, 2, 1, 1 + symbols),
        graph.sliced(column, 2, 1 + symbols, 1 + 2 * symbols),
    ]


def _with_deletes(graph: Graph, entering: str, delete: str) -> str:
    """Forward column: a `Scan` over rows; `delete` is the arc that enters a row."""
    columns = [graph.op("Transpose", one, perm=[1, 0]) for one in (entering, delete)]
    top = graph.op("Add", graph.op("Mul", graph.op("Gather", entering, 0, axis=1), 0.0), NEG)

    def row(inner: Graph, states: list[str], rows: list[str]) -> tuple[list[str], str]:
        here = inner.log_add(rows[0], inner.op("Add", states[0], rows[1]))
        return [here], here

    shape = (HYPOTHESES,)
    return graph.op("Transpose", graph.scan([(top, shape)], [(one, shape) for one in columns], row), perm=[1, 0])


def _output_written(graph: Graph, written: str, symbols: int) -> None:
    """Output of the log-probabilities of what may follow: NEG for what is never written."""
    blocked = np.zeros((1, symbols), dtype=np.float32)
    blocked[:, [PAD, START, UNKNOWN]] = NEG
    graph.output("log_prob", graph.op("Max", graph.op("Add", written, blocked), NEG), (HYPOTHESES, symbols))


def _pair_inputs(graph: Graph) -> tuple[tuple[str, str], tuple[str, str]]:
    """Inputs of a graph for pairs: numbers of symbols padded with 0, and lengths, of both sides.

    They are padded once more: a `Scan` of onnxruntime needs a step, which a batch of empty strings would not have.
    """
    sides = [
        (graph.input(side, ("batch", size), "int"), graph.input(f"{side}_lengths", ("batch",), "int"))
        for side, size in (("source", "n"), ("target", "m"))
    ]
    source, target = ((graph.op("Pad", one, graph.integers(0, 0, 0, 1)), lengths) for one, lengths in sides)
    return source, target


def _write_matcher(model: Matcher, path: Path) -> Path:
    """Matcher with a network: log alpha of pairs."""
    network, graph = model.network, Graph("matcher")
    sides = _pair_inputs(graph)
    categories = [
        graph.input(f"{side}_language", ("batch",), "int") if model.languages else None for side in ("source", "target")
    ]
    source, target = (
        read_strings(graph, encoder, with_end(graph, *side), graph.op("Add", side[1], 1), category)
        for encoder, side, category in zip(
            (network.source_encoder, network.target_encoder), sides, categories, strict=True
        )
    )
    scores = class_scores(
        graph, network.features, network.projection, source_half(graph, network.features, source), target
    )
    delete, insert, substitute, non_match = (
        graph.op("Squeeze", one, graph.integers(3))
        for one in graph.ops("Split", scores, outputs=4, axis=3, num_outputs=4)
    )
    arcs = graph.shifted(delete, 1), graph.shifted(insert, 2), graph.shifted(substitute, 1, 2)
    for axis in (1, 2):  # a cell's non-match class is scored where its substitution starts
        places = graph.op("Max", graph.op("Sub", graph.range(graph.size(non_match, axis)), 1), 0)
        non_match = graph.op("Gather", non_match, places, axis=axis)
    total = graph.log_add(*arcs, non_match)
    first, second, third = (graph.op("Max", graph.op("Sub", one, total), NEG) for one in arcs)
    graph.output("score", log_prob(graph, (first, second, third), (sides[0][1], sides[1][1])), ("batch",))
    graph.write(path, "Pairs, as numbers of symbols padded with 0, to log alpha: at most 0, which is certain to match.")
    return path


def _write_odds(model: OddsMatcher, path: Path) -> Path:
    """Matcher in odds form: log-odds of pairs, of symbols that the model knows."""
    network, graph = model.network, Graph("odds")
    (source, n), (target, m) = sides = _pair_inputs(graph)
    with torch.no_grad():
        odds = network.odds()
    substitute = graph.op(
        "GatherND",
        odds.substitute,
        _pairs_of(graph, source, target),
    )
    delete, insert = graph.op("Gather", odds.delete, source), graph.op("Gather", odds.insert, target)
    if network.place is not None:
        delete, insert, substitute = _placed(graph, network.place, sides, (delete, insert, substitute))
    substitute = graph.op("Pad", substitute, graph.integers(0, 1, 1, 0, 0, 0))
    nothing = graph.op("Mul", substitute, 0.0)
    delete = graph.op("Add", graph.unsqueezed(graph.op("Pad", delete, graph.integers(0, 1, 0, 0)), 2), nothing)
    insert = graph.op("Add", graph.unsqueezed(graph.op("Pad", insert, graph.integers(0, 1, 0, 0)), 1), nothing)
    arcs = (delete, insert, substitute)
    if network.coherence is not None:
        arcs = _coherent(graph, network.coherence, arcs, (n, m))
    total = log_prob(graph, _inner(graph, arcs), (n, m))
    scaled = graph.op("Mul", total, float(network.scale.exp()))
    graph.output("score", graph.op("Add", scaled, _bias(graph, model, odds, sides)), ("batch",))
    graph.write(path, "Pairs, as numbers of symbols padded with 0, to log-odds: above 0 where they belong together.")
    return path


def _inner(graph: Graph, arcs: tuple[str, str, str]) -> tuple[str, str, str]:
    """Arcs without those that would enter row 0 or column 0 from outside."""
    height, width = graph.size(arcs[0], 1), graph.size(arcs[0], 2)
    first_row = graph.unsqueezed(graph.op("Equal", graph.range(height), 0), 0, 2)
    first_column = graph.unsqueezed(graph.op("Equal", graph.range(width), 0), 0, 1)
    return (
        graph.op("Where", first_row, NEG, arcs[0]),
        graph.op("Where", first_column, NEG, arcs[1]),
        graph.op("Where", graph.op("Or", first_row, first_column), NEG, arcs[2]),
    )


def _pairs_of(graph: Graph, source: str, target: str) -> str:
    """Numbers of both symbols of each cell: batch by n by m by 2."""
    rows, columns = graph.unsqueezed(source, 2, 3), graph.unsqueezed(target, 1, 3)
    size = graph.op("Max", graph.op("Shape", rows), graph.op("Shape", columns))
    return graph.op("Concat", *(graph.op("Expand", one, size) for one in (rows, columns)), axis=3)


def _places(graph: Graph, symbols: str, lengths: str) -> str:
    """Classes of places, see `nsed.networks.odds.places_of`: batch by places."""
    place = graph.unsqueezed(graph.range(graph.size(symbols, 1)), 0)
    left = graph.op("Sub", graph.op("Sub", graph.unsqueezed(lengths, 1), 1), place)
    classes = graph.op("Add", graph.op("Mul", left, 0), 2)
    for number, found in ((3, (left, 1)), (1, (place, 1)), (4, (left, 0)), (0, (place, 0))):
        classes = graph.op("Where", graph.op("Equal", *found), number, classes)
    return graph.op("Where", graph.op("Less", left, 0), 2, classes)


def _placed(graph: Graph, place: Any, sides: Any, weights: tuple[str, str, str]) -> tuple[str, str, str]:
    """Log-odds by the places of symbols."""
    values = [part.detach().expand(2, -1) for part in (place.factor.exp(), place.gap, place.substitute)]
    factors, gaps, pairs = zip(
        *([graph.op("Gather", part[side], _places(graph, *sides[side])) for part in values] for side in (0, 1)),
        strict=True,
    )
    delete, insert = (graph.op("Add", graph.op("Mul", factors[side], weights[side]), gaps[side]) for side in (0, 1))
    both = graph.op("Mul", graph.unsqueezed(factors[0], 2), graph.unsqueezed(factors[1], 1))
    added = graph.op("Add", graph.unsqueezed(pairs[0], 2), graph.unsqueezed(pairs[1], 1))
    return delete, insert, graph.op("Add", graph.op("Mul", both, weights[2]), added)


def _coherent(
    graph: Graph, coherence: Any, arcs: tuple[str, str, str], lengths: tuple[str, str]
) -> tuple[str, str, str]:
    """Log-odds in their context, by a small convolution."""
    delete, insert, substitute = arcs
    rows, columns = (graph.range(graph.size(delete, axis)) for axis in (1, 2))
    inside = [
        graph.unsqueezed(graph.op("LessOrEqual", graph.unsqueezed(one, 0), graph.unsqueezed(length, 1)), axis)
        for one, length, axis in ((rows, lengths[0], 2), (columns, lengths[1], 1))
    ]
    real = graph.op("And", *inside)
    below = graph.op("And", real, graph.unsqueezed(graph.op("Greater", rows, 0), 0, 2))
    beside = graph.op("And", real, graph.unsqueezed(graph.op("Greater", columns, 0), 0, 1))
    masks = ((substitute, graph.op("And", below, beside)), (delete, below), (insert, beside))
    seen = [graph.op("Where", mask, graph.op("Div", one, UNIT), 0.0) for one, mask in masks]
    channels = [graph.unsqueezed(one, 1) for one in (*seen, graph.op("Cast", real, to=1))]
    cells = graph.op("Concat", *channels, axis=1)
    found = _residual(graph, coherence, cells)
    if coherence.symmetric:
        turned = graph.op("Transpose", graph.op("Gather", cells, graph.integers(*SWAPPED), axis=1), perm=[0, 1, 3, 2])
        other = graph.op("Transpose", _residual(graph, coherence, turned), perm=[0, 1, 3, 2])
        other = graph.op("Gather", other, graph.integers(*SWAPPED[:-1]), axis=1)
        found = graph.op("Div", graph.op("Add", found, other), 2.0)
    of_substitute, of_delete, of_insert = (graph.op("Gather", found, number, axis=1) for number in range(3))
    pairs = ((delete, of_delete), (insert, of_insert), (substitute, of_substitute))
    first, second, third = (graph.op("Add", *pair) for pair in pairs)
    return first, second, third


def _residual(graph: Graph, coherence: Any, cells: str) -> str:
    window, residual = coherence.window, coherence.residual
    hidden = graph.op("Relu", graph.op("Conv", cells, window.weight, window.bias, pads=[1, 1, 1, 1]))
    return graph.op("Conv", hidden, residual.weight, residual.bias)


def _bias(graph: Graph, model: OddsMatcher, odds: Odds, sides: Any) -> str:
    """Log-odds of each pair that are of no operation: by lengths, identity and languages."""
    network, ((source, n), (target, m)) = model.network, sides
    bias = graph.op("Add", graph.op("Mul", graph.op("Cast", n, to=1), 0.0), float(odds.bias))
    if network.length is not None:
        both, apart = graph.op("Cast", graph.op("Add", n, m), to=1), graph.op("Abs", graph.op("Sub", n, m))
        logs = graph.op("Log", graph.op("Max", both, 1.0))
        parts = (graph.op("Div", both, 10.0), graph.op("Cast", apart, to=1), logs)
        for part, weight in zip(parts, network.length.tolist(), strict=True):
            bias = graph.op("Add", bias, graph.op("Mul", part, weight))
    if network.identity is not None:
        width = graph.op("Min", graph.size(source, 1), graph.size(target, 1))
        end = graph.unsqueezed(width, 0)
        cut = [graph.op("Slice", one, graph.integers(0), end, graph.integers(1)) for one in (source, target)]
        other = graph.op("Cast", graph.op("Not", graph.op("Equal", *cut)), to=7)
        same = graph.op("Equal", graph.op("ReduceSum", other, graph.integers(1), keepdims=0), 0)
        same = graph.op("And", same, graph.op("Equal", n, m))
        per_symbol = graph.op("Mul", graph.op("Cast", n, to=1), IDENTITY + float(network.identity))
        bias = graph.op("Add", bias, graph.op("Where", same, per_symbol, 0.0))
    if network.languages is not None:
        names = ("source_language", "target_language")
        vectors = [graph.op("Gather", network.languages.weight, graph.input(name, ("batch",), "int")) for name in names]
        product = graph.op("ReduceSum", graph.op("Mul", *vectors), graph.integers(1), keepdims=0)
        bias = graph.op("Add", bias, product)
    return bias
