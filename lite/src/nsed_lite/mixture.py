"""The Mixture: several exact Transducers that answer as one, whose probability is the mean of theirs."""

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from nsed_lite.folder import Folder
from nsed_lite.lattice import NEG, REACHABLE, STEPS, Lattice
from nsed_lite.model import SearchingModel, Strings
from nsed_lite.search import Targets
from nsed_lite.symbols import SPECIALS, UNKNOWN, Tokenizer
from nsed_lite.transducer import Hypotheses, Source, Transducer, TransducerNetwork


class MixedHypotheses(NamedTuple):
    """Hypotheses of each member of a mixture, for the same prefixes."""

    members: list[Hypotheses]
    symbols: np.ndarray
    lost: np.ndarray
    """NEG for a member that cannot write the prefix, as it has no number for some symbol; else 0."""


MixedExpanded = tuple[MixedHypotheses, list[Any]]


class MixtureDecoder:
    """Decoder of a mixture whose members all write in the same direction: the mean of their prefix probabilities."""

    def __init__(self, members: Sequence[TransducerNetwork], targets: Sequence[np.ndarray]) -> None:
        self.members, self.targets = members, targets

    def begin(self, source: Sequence[Source]) -> MixedHypotheses:
        """See `Decoder.begin`."""
        begun = [one.begin(own) for one, own in zip(self.members, source, strict=True)]
        return MixedHypotheses(begun, begun[0].symbols, np.zeros((len(begun), len(begun[0].words))))

    def expand(self, hypotheses: MixedHypotheses) -> tuple[np.ndarray, MixedExpanded]:
        """See `Decoder.expand`."""
        expanded = [one.expand(own) for one, own in zip(self.members, hypotheses.members, strict=True)]
        said = [written[:, own] for (written, _), own in zip(expanded, self.targets, strict=True)]
        mean = log_mean(np.stack(said) + hypotheses.lost[:, :, None])
        return np.maximum(mean, NEG), (hypotheses, [opened for _, opened in expanded])

    def continued(self, expanded: MixedExpanded, rows: np.ndarray, symbols: np.ndarray) -> MixedHypotheses:
        """See `Decoder.continued`."""
        before, opened = expanded
        own = np.stack([numbers[symbols] for numbers in self.targets])
        parts = zip(self.members, opened, own, strict=True)
        members = [one.continued(of_one, rows, numbers) for one, of_one, numbers in parts]
        written = np.concatenate([before.symbols[rows], symbols[:, None]], axis=1)
        return MixedHypotheses(members, written, np.where(own == UNKNOWN, NEG, before.lost[:, rows]))


class Mixture(SearchingModel):
    """Mixture of exact Transducers: p(target | source) is the mean of its members' probabilities.

    Where some members write from left to right and others from right to left, no prefix is common to both: then
    `transduce` takes the n-best lists of either direction and ranks their union by exact scores.
    """

    def __init__(self, folder: Folder) -> None:
        config = folder.config
        self.members = [Transducer(folder.member(number)) for number in range(len(folder.record["members"]))]
        self._set_search(config)
        self.ranking, self.languages = config["ranking"], self.members[0].languages
        self.source, self.target = (_joint([one.sides[side] for one in self.members]) for side in (0, 1))

    def for_language(self, language: str) -> "Mixture":
        """The same mixture, of several languages, for one of them."""
        chosen = copy(self)
        chosen.members = [one.for_language(language) for one in self.members]
        return chosen

    @property
    def decoder(self) -> MixtureDecoder:
        """See `SearchingModel.decoder`: of a mixture of one direction."""
        return MixtureDecoder([one.network for one in self.members], self._numbers(1))

    def encode(self, sources: Strings) -> list[Source]:
        """See `SearchingModel.encode`."""
        tables = zip(self.members, self._numbers(0), strict=True)
        return [one.encode(_renumbered(sources, own)) for one, own in tables]

    def lattices(
        self, sources: Strings, targets: Strings, languages: Any = None, tables: Any = None
    ) -> tuple[Lattice, np.ndarray]:
        """See `Model.lattices`: the lattice whose posteriors are the members' own, weighted by how probable each is."""
        lattices, scores = self._of_members(sources, targets, languages)
        totals = np.stack([lattice.log_prob for lattice in lattices])
        return mixed_lattice(lattices, np.maximum(scores - totals, NEG)), log_mean(scores)

    def found(self, strings: Strings, *, nbest: int, beam: int) -> list[Targets]:
        """See `SearchingModel.found`: of two directions, the best of both lists."""
        directions = [self._in_direction(back) for back in {one.backward for one in self.members}]
        if self.ranking == "mean" and len(directions) == 1:
            return super(Mixture, directions[0]).found(strings, nbest=nbest, beam=beam)
        lists = [super(Mixture, one).found(strings, nbest=beam, beam=beam) for one in directions]
        union = [dict.fromkeys(tuple(one) for few in found for one, _ in few) for found in zip(*lists, strict=True)]
        pairs = [(row, list(target)) for row, few in enumerate(union) for target in few]
        targets, sources = [target for _, target in pairs], [strings[row] for row, _ in pairs]
        ranked: list[list[tuple[float, list[int], float]]] = [[] for _ in strings]
        for (row, target), mean, rank in zip(pairs, *self._exact(sources, targets), strict=True):
            ranked[row].append((float(rank) / (len(target) + 1) ** self.penalty, target, float(mean)))
        best = (sorted(few, key=lambda one: -one[0])[:nbest] for few in ranked)
        return [[(target, mean) for _, target, mean in few] for few in best]

    def _in_direction(self, backward: bool) -> "Mixture":
        """The members of one direction, as a mixture."""
        chosen = copy(self)
        chosen.members = [one for one in self.members if one.backward is backward]
        chosen.backward = backward
        chosen.longest = min([self.longest, *(one.network.longest or self.longest for one in chosen.members)])
        return chosen

    def _exact(self, sources: Strings, targets: Strings) -> tuple[np.ndarray, np.ndarray]:
        """Log-probabilities of encoded pairs, and what they are ranked by."""
        order = sorted(range(len(sources)), key=lambda row: -len(sources[row]))
        scores = np.empty((len(self.members), len(sources)))
        for start in range(0, len(order), RESCORED):
            rows = order[start : start + RESCORED]
            _, scores[:, rows] = self._of_members([sources[row] for row in rows], [targets[row] for row in rows])
        mean = log_mean(scores)
        return mean, mean if self.ranking == "mean" else scores.sum(0)

    def _of_members(
        self, sources: Strings, targets: Strings, languages: Any = None
    ) -> tuple[list[Lattice], np.ndarray]:
        """Lattices of each member, and their log-probabilities; a target whose symbols a member lacks has none."""
        lattices, scores = [], []
        for one, source, target in zip(self.members, self._numbers(0), self._numbers(1), strict=True):
            lattice, own = one.lattices(_renumbered(sources, source), _renumbered(targets, target), languages)
            missing = {*np.flatnonzero(target == UNKNOWN).tolist()} - {UNKNOWN}
            scores.append(np.where([bool(missing.intersection(string)) for string in targets], -np.inf, own))
            lattices.append(lattice)
        return lattices, np.stack(scores)

    def _numbers(self, side: int) -> list[np.ndarray]:
        """For all members, the member's own number of each symbol of the mixture."""
        names = self.sides[side].vocabulary
        return [np.array([*range(SPECIALS), *one.sides[side].number(names, kin=side == 0)]) for one in self.members]


RESCORED = 256
"""Pairs whose exact scores are computed at once."""


def _joint(sides: Sequence[Tokenizer]) -> Tokenizer:
    """Tokenizer with all symbols that some member knows."""
    joint = sides[0]
    for side in sides[1:]:
        joint = joint.extended(side.vocabulary)
    return joint


def _renumbered(strings: Strings, numbers: np.ndarray) -> list[list[int]]:
    return [numbers[string].tolist() if string else [] for string in strings]


def log_mean(log_probs: np.ndarray) -> np.ndarray:
    """Logarithm of the mean probability over the members, the first axis."""
    return np.asarray(np.logaddexp.reduce(log_probs, axis=0) - np.log(len(log_probs)))


def mixed_lattice(lattices: Sequence[Lattice], ends: np.ndarray) -> Lattice:
    """Lattice of a mixture, of those of its members for the same pairs, and their log-probabilities of the end.

    With `G` the weight of all derivations through an arc and `O` of those through a cell, summed over members, and `A`
    the mean of their forward tables, an arc has the weight `G / O(to) * A(to) / A(from)`.
    """
    alphas = np.stack([lattice.log_alpha for lattice in lattices])
    betas = np.stack([lattice.log_beta for lattice in lattices]) + ends[:, None, None]
    mean, through = log_mean(alphas), np.logaddexp.reduce(alphas + betas, axis=0)
    arcs = np.empty_like(lattices[0].arcs)
    for arc, (reads, writes) in enumerate(STEPS):
        before, own = _entering(alphas, reads, writes), np.stack([lattice.arcs[arc] for lattice in lattices])
        joint = np.logaddexp.reduce(before + own + betas, axis=0)
        weight = joint - through + mean - _entering(mean, reads, writes)
        arcs[arc] = np.where(joint <= REACHABLE, NEG, weight)
    return Lattice(arcs, lattices[0].n, lattices[0].m)


def _entering(cells: np.ndarray, reads: int, writes: int) -> np.ndarray:
    """Values of the cells that arcs come from, at the cells that they enter."""
    found = np.full_like(cells, NEG)
    height, width = cells.shape[-3] - reads, cells.shape[-2] - writes
    found[..., reads:, writes:, :] = cells[..., :height, :width, :]
    return found
