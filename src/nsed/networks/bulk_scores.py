"""Scores of many pairs: every string is encoded once, a pair costs its cells; by a network's vectors or by a table.

By vectors, the Matcher's: a network without context has few different ones, one per symbol and position: the scores
of all pairs of them are a table, and a pair costs a look into it per cell.

By a table of operations, what a model without context compiles itself into. Such a model says of each kind of symbol (a
symbol, or a symbol in a class of places) what its gap weighs, and of two kinds what their substitution weighs; all that
is left of a pair is a bias. Terms that are of no kind, say gaps that are cheaper to extend than to open, do not fit:
then the model's own lattices score, see `OddsNetwork.no_table`.
"""

from collections.abc import Callable
from itertools import pairwise, repeat
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from nsed.encoders.string_encoder import with_end
from nsed.kernels.contracts import StringVectors, SubstitutionTable, TableStrings
from nsed.kernels.dispatch import MATCH_SCORES, TABLE_SCORES
from nsed.networks.matcher import MatcherNetwork, Projected
from nsed.networks.pair_features import SIMILARITY_DIM
from nsed.progress import OnBatch, ignore
from nsed.text import EncodedStrings
from nsed.text.batch import MAX_CELLS, DistinctPairs, PaddedStrings, at_place, check_cells, placed_in
from nsed.types import END

Languages = np.ndarray | None
"""Language ids of the strings, where the model knows any."""
ENCODED_TOGETHER, PAIRS_AT_ONCE = {"cuda": 2**20}, {"cuda": 2**22}
FEWER_SYMBOLS, FEWER_PAIRS = 2**15, 2**16
"""Batch sizes: symbols encoded at once, padding included, and pairs scored at once: on a GPU, and elsewhere."""
MANY_STRINGS, MOSTLY_DIFFERENT = 2**14, 0.8
"""Strings of both sides from which on, and share of different ones among them above which, each side is read alone."""
VECTOR_BYTES = 2**30
"""Room for the vectors of strings on a CPU: pairs whose strings would need more are scored some after the others."""
SHORTEN = "Shorten the strings, or leave such pairs out."
"""Advice on pairs that are too long to be scored."""
TABLE_PAIRS_AT_ONCE = 2**17
"""Pairs that are scored by a table before the next report of progress."""


@torch.no_grad()
def bulk_scores(
    network: MatcherNetwork,
    source: EncodedStrings,
    target: EncodedStrings,
    pairs: tuple[np.ndarray, np.ndarray],
    *,
    languages: tuple[Languages, Languages] = (None, None),
    on_batch: OnBatch = ignore,
    place: Callable[[int], str] = at_place,
) -> np.ndarray:
    """Log alpha_{n,m} of many pairs (row of source, row of target); by numba's kernel minus infinity below -660.

    Raises `TooLongError`, which says its `place`, for a pair whose table would have too many cells; numba's kernel
    keeps but one table.
    """
    result = np.empty(len(pairs[0]))
    parts = affordable_parts(network, source, target, pairs)
    if len(parts) > 1:
        for part in parts:
            one, first, own = _needed(source, pairs[0][part], languages[0])
            other, second, its = _needed(target, pairs[1][part], languages[1])
            its_place = placed_in(range(len(result))[part], place)
            result[part] = bulk_scores(
                network, one, other, (first, second), languages=(own, its), on_batch=on_batch, place=its_place
            )
        return result
    if not len(result):
        return result
    vectors, rows_of = both_vectors(network, source, target, pairs, languages)
    kernel, (weight, constant) = MATCH_SCORES.choose(vectors[0].vectors), network.projection.folded()
    if kernel.backend != "numba":
        check_cells(source.lengths[pairs[0]] + 1, target.lengths[pairs[1]] + 1, MAX_CELLS, place=place, advice=SHORTEN)
    eps, heads = network.projection.norm.eps, network.features.head_weights()
    score = kernel.code.scorer(*vectors, weight, constant, eps=eps, pairs=len(result), heads=heads)
    at_once = PAIRS_AT_ONCE.get(weight.device.type, FEWER_PAIRS)
    for start in range(0, len(result), at_once):
        part = slice(start, start + at_once)
        rows, columns = (torch.from_numpy(side[part]).to(weight.device) for side in rows_of)
        result[part] = score(rows, columns).cpu().numpy()
        on_batch(len(result[part]))
    return result


def affordable_parts(
    network: MatcherNetwork, source: EncodedStrings, target: EncodedStrings, pairs: tuple[np.ndarray, np.ndarray]
) -> list[slice]:
    """Parts of pairs, one after the other, whose strings' vectors fit into memory; without context, all are one."""
    most, lengths = _most_symbols(network), (source.lengths + 1, target.lengths + 1)
    if not network.source_encoder.encoder.sees_context or sum(int(side.sum()) for side in lengths) <= most:
        return [slice(0, len(pairs[0]))]
    starts, count = [0], len(pairs[0])
    while starts[-1] < count:
        new = np.zeros(count - starts[-1], np.int64)
        for rows, sizes in zip(pairs, lengths, strict=True):
            different, first = np.unique(rows[starts[-1] :], return_index=True)
            new[first] += sizes[different]
        fitting = int(np.searchsorted(np.cumsum(new), most, side="right"))
        starts.append(starts[-1] + max(fitting, 1))
    return [slice(*ends) for ends in pairwise(starts)]


def _most_symbols(network: MatcherNetwork) -> int:
    """Symbols whose vectors, as those of a source and of a target, have the room that there is."""
    weight, interaction = network.features.source.weight, network.features.interaction
    if weight.device.type != "cpu":
        return 2**62
    return VECTOR_BYTES // (4 * (2 * weight.shape[0] + interaction * SIMILARITY_DIM))


def _needed(
    strings: EncodedStrings, rows: np.ndarray, languages: Languages
) -> tuple[EncodedStrings, np.ndarray, Languages]:
    """Strings of some rows, the rows among them, and their languages."""
    different, numbers = np.unique(rows, return_inverse=True)
    return strings.chosen(different), numbers, None if languages is None else languages[different]


def both_vectors(
    network: MatcherNetwork,
    source: EncodedStrings,
    target: EncodedStrings,
    pairs: tuple[np.ndarray, np.ndarray],
    languages: tuple[Languages, Languages] = (None, None),
) -> tuple[tuple[StringVectors, StringVectors], tuple[np.ndarray, np.ndarray]]:
    """Symbol vectors of sources and targets, and the pairs' rows among them.

    Where one encoder reads both sides in context, a string that is on both is encoded once; of many strings, hardly any
    of which is on both, each is projected for its own side alone, which takes half the room.
    """
    alike = network.reads_alike and network.source_encoder.encoder.sees_context
    strings, numbers, known = _together(source, target, languages) if alike else (source, pairs[0], None)
    if not alike or (len(numbers) >= MANY_STRINGS and len(strings) > MOSTLY_DIFFERENT * len(numbers)):
        (of_source,) = vectors_of(network, source, languages[0], sides=(True,))
        (of_target,) = vectors_of(network, target, languages[1], sides=(False,))
        return (of_source, of_target), pairs
    rows = numbers[: len(source)][pairs[0]], numbers[len(source) :][pairs[1]]
    of_source, of_target = vectors_of(network, strings, known, sides=(True, False))
    return (of_source, of_target), rows


def _together(
    source: EncodedStrings, target: EncodedStrings, languages: tuple[Languages, Languages]
) -> tuple[EncodedStrings, np.ndarray, Languages]:
    """Different strings of both sides, which one each string is, and their languages."""
    both, known = source.followed_by(target), None
    if languages[0] is not None and languages[1] is not None:
        known = np.concatenate([languages[0], languages[1]])
    of_each = repeat(0) if known is None else known.tolist()
    cuts = zip(both.starts[:-1].tolist(), both.starts[1:].tolist(), of_each, strict=False)
    seen: dict[tuple[bytes, int], int] = {}
    numbers = np.array([seen.setdefault((both.flat[a:b].tobytes(), c), len(seen)) for a, b, c in cuts], dtype=np.int64)
    first = np.unique(numbers, return_index=True)[1]
    return both.chosen(first), numbers, None if known is None else known[first]


@torch.no_grad()
def vectors_of(
    network: MatcherNetwork, strings: EncodedStrings, languages: Languages = None, *, sides: tuple[bool, ...]
) -> list[StringVectors]:
    """Symbol vectors for pair features: what strings contribute, per symbol, without context per kind of symbol.

    They are encoded once, for each side asked for: as sources where True, as targets where False.
    """
    encoder = network.source_encoder if sides[0] else network.target_encoder
    if not encoder.encoder.sees_context and languages is None:
        return [_by_position(network, strings, is_source=side) for side in sides]
    lengths, weight = strings.lengths + 1, network.features.source.weight
    starts = np.concatenate([[0], np.cumsum(lengths)])
    order = np.argsort(lengths, kind="stable")
    symbols = ENCODED_TOGETHER.get(weight.device.type, FEWER_SYMBOLS)
    at_once = max(1, symbols // max(int(lengths.max(initial=1)), 1))
    made = [_room(network.projected(weight.new_empty(0, weight.shape[1]), is_source=side), starts) for side in sides]
    for some in np.array_split(order, range(at_once, len(order), at_once)) if len(order) else ():
        side = _side(strings, languages, some, weight.device)
        vectors = encoder(with_end(side.symbols, side.lengths), side.lengths + 1, side.category)
        places = np.arange(vectors.shape[1])
        inside = torch.from_numpy(places < lengths[some][:, None]).to(weight.device)
        at = torch.from_numpy(starts[some][:, None] + places).to(weight.device)[inside]
        for room, is_source in zip(made, sides, strict=True):
            found = network.projected(vectors[inside], is_source=is_source)
            room.vectors[at] = found.vectors
            if room.similar is not None and found.similar is not None:
                room.similar[at] = found.similar
    return [_placed(one, np.arange(starts[-1]), starts) for one in made]


def _room(like: Projected, starts: np.ndarray) -> Projected:
    """Room for as many vectors like these as there are symbols."""
    vectors, similar = like
    count = int(starts[-1])
    others = None if similar is None else similar.new_empty(count, *similar.shape[1:])
    return Projected(vectors.new_empty(count, vectors.shape[1]), others)


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
    numbers = symbols * width + places
    found = np.bincount(numbers) > 0  # counting is faster than sorting
    kinds, flat = np.flatnonzero(found), (np.cumsum(found) - 1)[numbers]
    parts = (torch.from_numpy(part).to(device) for part in (kinds // width, kinds % width))
    encoder = network.source_encoder if is_source else network.target_encoder
    return _placed(network.projected(encoder.without_context(*parts), is_source=is_source), flat, starts)


def _placed(projected: Projected, flat: np.ndarray, starts: np.ndarray) -> StringVectors:
    """Tensors moved to the device where the vectors are."""
    there = [torch.from_numpy(part).to(projected.vectors.device) for part in (flat, starts)]
    return StringVectors(projected.vectors, there[0], there[1], projected.similar)


class CompiledTable(NamedTuple):
    """Compiled table: strings as kinds of symbols, and the log-weights of operations on these."""

    source: TableStrings
    target: TableStrings
    table: SubstitutionTable


class SymbolKinds(NamedTuple):
    """Kinds of the symbols of a vocabulary: for each kind its gap, and how it weighs its row of substitutions."""

    numbers: np.ndarray
    """Kind of each symbol of all strings, one string after the other."""
    gap: Tensor
    row: Tensor
    factor: Tensor
    shift: Tensor

    @classmethod
    def of_symbols(cls, strings: EncodedStrings, gap: Tensor) -> "SymbolKinds":
        """Every symbol a kind of its own, as in a plain table."""
        rows = torch.arange(len(gap), device=gap.device)
        return cls(strings.flat, gap, rows, torch.ones_like(gap), torch.zeros_like(gap))

    def strings(self, starts: np.ndarray) -> TableStrings:
        """Strings as kinds, which are renumbered: of many, few occur, and only their weights are tabulated."""
        found = np.bincount(self.numbers, minlength=len(self.gap)) > 0
        flat = (np.cumsum(found) - 1).astype(np.int32)[self.numbers]
        chosen = torch.from_numpy(np.flatnonzero(found))
        weights = (part[chosen.to(part.device)] for part in self[1:])
        return TableStrings(*(torch.from_numpy(part).to(self.gap.device) for part in (flat, starts)), *weights)


@torch.no_grad()
def table_log_probs(
    compiled: CompiledTable,
    pairs: DistinctPairs,
    *,
    max_cells: int = MAX_CELLS,
    on_batch: OnBatch = ignore,
    place: Callable[[int], str] = at_place,
) -> np.ndarray:
    """Log alpha_{n,m} of each pair; NEG, or below, for what cannot be.

    Raises `TooLongError`, which says its `place`, for a pair whose lattice has more than `max_cells` cells.
    """
    n, m = pairs.lengths
    check_cells(n + 1, m + 1, max_cells, place=place, advice=SHORTEN)
    result, device = np.empty(len(pairs)), compiled.table.device
    score = TABLE_SCORES.choose(compiled.table).code.scorer(*compiled, pairs=len(result)) if len(result) else None
    for start in range(0, len(result), TABLE_PAIRS_AT_ONCE):
        part = slice(start, start + TABLE_PAIRS_AT_ONCE)
        assert score is not None
        result[part] = score(*(torch.from_numpy(side[part]).to(device) for side in pairs.rows)).cpu().numpy()
        on_batch(len(result[part]))
    return result
