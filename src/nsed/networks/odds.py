"""Odds network: log-odds tables of operations, factors of place, coherence, and a bias of lengths and languages."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from nsed.lattice import Arcs, EditLattice
from nsed.networks.bulk_scores import CompiledTable, SymbolKinds
from nsed.networks.kinship import IDENTICAL, KIN, KINSHIP, OTHER, Kinship, Shares
from nsed.networks.operation_table import OperationTable
from nsed.text import EncodedStrings, PairBatch
from nsed.text.tokenizer import SPECIALS
from nsed.types import NEG, UNKNOWN, Lengths, PerPair

PLACES = ("initial", "second", "medial", "last but one", "last")
"""Classes of places in a string; of a place that is several, the one nearer to an end, and of these the first."""
LENGTHS = ("n + m", "|n - m|", "log(n + m)")
"""Length features of a pair, in the bias."""
LANGUAGE_SIZE = 8
"""Size of the vectors of languages."""


FREE = 0.5
"""Spread of what all pairs have in common."""
PLACE_FACTOR = 3
"""How much less freely the factors of place deviate than the rest of that."""
FEATURE_SPREAD, COHERENCE_SPREAD = 0.3, 3.0
"""Spread of the log-odds of features, and of the weights of coherence."""
IDENTITY, IDENTITY_SPREAD = 0.6, 0.05
"""Log-odds per symbol of two strings that are the same, before any pair, and their spread."""
CHANNELS = 4
"""Channels in: log-odds to substitute, delete and insert, and whether a cell is real."""
UNIT = 2.0
"""Log-odds that are one in a channel."""
SWAPPED = (0, 2, 1, 3)
"""Channels of the same cells seen from the other string: a deletion is an insertion there."""

Cells = Float[Tensor, "batch channels rows columns"]
Residual = Float[Tensor, "batch operations rows columns"]


class Odds(NamedTuple):
    """Log-odds tables of operations on symbols (by their numbers), and the bias of every pair."""

    delete: Float[Tensor, " sources"]
    insert: Float[Tensor, " targets"]
    substitute: Float[Tensor, "sources targets"]
    bias: Float[Tensor, ""]


class FeatureOdds(nn.Module):
    """Log-odds of features of symbols: bilinear in those of both symbols, linear in those of a deleted or inserted one.

    So symbols that have something in common have learned something in common.
    """

    def __init__(self, source: int, target: int) -> None:
        super().__init__()
        self.delete, self.insert = nn.Parameter(torch.zeros(source)), nn.Parameter(torch.zeros(target))
        self.substitute = nn.Parameter(torch.zeros(source, target))

    def forward(
        self, odds: Odds, source: Float[Tensor, "sources of_source"], target: Float[Tensor, "targets of_target"]
    ) -> Odds:
        """Log-odds of operations, with those of the symbols' features added."""
        source, target = source.to(odds.delete), target.to(odds.delete)
        return Odds(
            odds.delete + source @ self.delete.to(source),
            odds.insert + target @ self.insert.to(source),
            odds.substitute + source @ self.substitute.to(source) @ target.T,
            odds.bias,
        )


def odds_of(table: OperationTable) -> Odds:
    """Log-odds of operations, by the table against by chance, in closed form.

    With them, log_prob plus bias is log p(s, t) / (p(s) p(t)), the score of an edit distance with `relative: true`: the
    margins are products over symbols, and the arcs divide by the factor of each symbol that they consume. Operations
    without probability have NEG; but those on symbols that have none at all, the special ones but `<unk>`, have 0.
    """
    no_insert, no_delete = 1 - table.insert.sum(), 1 - table.delete.sum()
    source = ((table.delete + table.substitute.sum(1)) / no_insert).log()
    target = ((table.insert + table.substitute.sum(0)) / no_delete).log()
    delete, insert = table.delete.log() - source, table.insert.log() - target
    substitute = table.substitute.log() - source[:, None] - target
    bias = no_insert.log() + no_delete.log() - table.end.log()
    return Odds(*(part.nan_to_num(0.0, 0.0, NEG) for part in (delete, insert, substitute, bias)))


class PlaceFactors(nn.Module):
    """Factors of place: per side a factor on the log-odds, and what is added to those of gaps and of substitutions."""

    def __init__(self, sides: int) -> None:
        super().__init__()
        self.factor, self.gap, self.substitute = (nn.Parameter(torch.zeros(sides, len(PLACES))) for _ in range(3))

    def forward(
        self,
        batch: PairBatch,
        delete: Float[Tensor, "batch n"],
        insert: Float[Tensor, "batch m"],
        substitute: Float[Tensor, "batch n m"],
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Log-odds of the operations on the symbols of pairs, by the places of these."""
        source, target = (
            places_of(batch.source, batch.source_lengths),
            places_of(batch.target, batch.target_lengths),
        )
        factors, gaps, pairs = (
            values.to(delete).expand(2, -1) for values in (self.factor.exp(), self.gap, self.substitute)
        )
        factor = _chosen(factors[0], source), _chosen(factors[1], target)
        pair = _chosen(pairs[0], source)[:, :, None] + _chosen(pairs[1], target)[:, None]
        return (
            factor[0] * delete + _chosen(gaps[0], source),
            factor[1] * insert + _chosen(gaps[1], target),
            factor[0][:, :, None] * factor[1][:, None] * substitute + pair,
        )

    def kinds(self, strings: EncodedStrings, gaps: Float[Tensor, " symbols"], *, side: int) -> SymbolKinds:
        """Kinds of symbols, one for each symbol in each class of places, and their weights, as `forward` has them."""
        factor, gap, pair = (
            values.detach().to(gaps).expand(2, -1)[side] for values in (self.factor.exp(), self.gap, self.substitute)
        )
        numbers = strings.flat * np.int32(len(PLACES)) + ragged_places(strings)
        rows = torch.arange(len(gaps), device=gaps.device).repeat_interleave(len(PLACES))
        weights = (factor * gaps[:, None] + gap).flatten()
        return SymbolKinds(numbers, weights, rows, factor.repeat(len(gaps)), pair.repeat(len(gaps)))


class Coherence(nn.Module):
    """Coherence: residual of the log-odds of operations, from those in the cells around; begins at zero.

    A match beside a match says more than one alone, and a gap beside a gap less: what affine gaps say of runs of gaps,
    this says of a window of three by three cells. All that it sees is log-odds, never symbols, so it cannot learn words
    by heart. With `symmetric`, a pair and its reverse have the same residuals: it is the mean of both views.
    """

    def __init__(self, size: int, *, symmetric: bool) -> None:
        super().__init__()
        self.symmetric = symmetric
        self.window = nn.Conv2d(CHANNELS, size, kernel_size=3, padding=1)
        self.residual = nn.Conv2d(size, CHANNELS - 1, kernel_size=1)
        nn.init.zeros_(self.residual.weight)
        nn.init.zeros_(self.residual.bias)  # type: ignore[arg-type]  # it has a bias

    def forward(self, batch: PairBatch, arcs: Arcs) -> Arcs:
        """Log-odds of operations in their context; what is beyond the end of a string changes nothing."""
        seen = self._channels(batch, arcs)
        found = self._residual(seen)
        if self.symmetric:
            other = self._residual(seen[:, SWAPPED].transpose(2, 3)).transpose(2, 3)
            found = (found + other[:, SWAPPED[:-1]]) / 2
        substitute, delete, insert = found.unbind(1)
        return Arcs(arcs.delete + delete, arcs.insert + insert, arcs.substitute + substitute)

    def _residual(self, cells: Cells) -> Residual:
        window = functional.conv2d(cells, self.window.weight.to(cells), self.window.bias.to(cells), padding=1)  # type: ignore[union-attr]  # it has a bias
        return functional.conv2d(torch.relu(window), self.residual.weight.to(cells), self.residual.bias.to(cells))  # type: ignore[union-attr]  # it has a bias

    def _channels(self, batch: PairBatch, arcs: Arcs) -> Cells:
        rows, columns = (torch.arange(size, device=batch.source.device) for size in arcs.substitute.shape[1:])
        real = (rows <= batch.source_lengths[:, None])[:, :, None] & (columns <= batch.target_lengths[:, None])[:, None]
        both = real & (rows > 0)[:, None] & (columns > 0)
        parts = (
            (arcs.substitute, both),
            (arcs.delete, real & (rows > 0)[:, None]),
            (arcs.insert, real & (columns > 0)),
        )
        channels = [torch.where(inside, log_odds / UNIT, 0.0) for log_odds, inside in parts]
        return torch.stack([*channels, real.to(arcs.substitute)], 1)


class OddsNetwork(nn.Module):
    """Log-odds of operations, the factors on them, and the bias: all that is learned.

    Every parameter is a deviation: with all at zero the log-odds are those of `start`, so weight decay leads there.
    """

    start_delete: Tensor
    start_insert: Tensor
    start_substitute: Tensor
    start_bias: Tensor
    source_features: Tensor
    target_features: Tensor
    kinship: Tensor
    delete: Tensor
    insert: Tensor
    substitute: Tensor
    bias: Tensor

    def __init__(
        self,
        *,
        sources: int,
        targets: int,
        symmetric: bool,
        place: bool,
        length: bool,
        languages: int,
        features: tuple[Float[Tensor, "sources of_source"], Float[Tensor, "targets of_target"]] | None = None,
        identity: bool = False,
        coherence: int = 0,
    ) -> None:
        super().__init__()
        self.symmetric = symmetric
        for name, size in Odds((sources,), (targets,), (sources, targets), ())._asdict().items():  # type: ignore[arg-type]  # sizes
            self.register_buffer(f"start_{name}", torch.zeros(size))
            self.register_parameter(name, nn.Parameter(torch.zeros(size)))
        self.register_buffer("kinship", torch.zeros(sources, targets))
        self.gaps = nn.Parameter(torch.zeros(1 if symmetric else 2))
        self.kin = nn.Parameter(torch.zeros(len(KINSHIP)))
        self.scale = nn.Parameter(torch.zeros(()))
        self.place = PlaceFactors(1 if symmetric else 2) if place else None
        self.length = nn.Parameter(torch.zeros(len(LENGTHS))) if length else None
        self.identity = nn.Parameter(torch.zeros(())) if identity else None
        self.features = None if features is None else FeatureOdds(*(side.shape[1] for side in features))
        for name, side in zip(("source_features", "target_features"), features or (), strict=False):
            self.register_buffer(name, side, persistent=False)
        self.coherence = Coherence(coherence, symmetric=symmetric) if coherence else None
        self.languages = nn.Embedding(languages, LANGUAGE_SIZE) if languages else None
        if self.languages is not None:
            nn.init.normal_(self.languages.weight, std=0.1)  # of zeros, an inner product has no gradient
            nn.init.zeros_(self.languages.weight[UNKNOWN])

    def begin(self, odds: Odds, kinship: Kinship) -> None:
        """Set the log-odds to start from, and the classes of substitutions, see `KINSHIP`."""
        self.kinship.copy_(kinship)
        for name, part in odds._asdict().items():
            getattr(self, f"start_{name}").copy_(part)

    def begin_with(self, known: "OddsNetwork", kinship: Kinship, shares: Shares | None = None) -> None:
        """Set what another network knows as what to start from; its symbols and languages are the first of these."""
        self.begin(known.extended_odds(kinship, shares), kinship)
        shared = ("scale", "place", "length", "identity", "coherence")
        weights = {name: part for name, part in known.state_dict().items() if name.partition(".")[0] in shared}
        self.load_state_dict(weights, strict=False)
        if self.languages is not None and known.languages is not None:
            self.languages.weight[: known.languages.num_embeddings].copy_(known.languages.weight)

    def odds(self) -> Odds:
        """Log-odds of operations without the factors of place; in double precision but for training."""
        dtype = torch.float32 if self.training else torch.float64
        own = {name: getattr(self, name).to(dtype) for name in Odds._fields}
        odds = Odds(**{name: part + getattr(self, f"start_{name}").to(dtype) for name, part in own.items()})
        gaps, kin = self.gaps.to(dtype), self.kin.to(dtype)
        shared = _chosen(kin, self.kinship.long())
        odds = Odds(odds.delete + gaps[0], odds.insert + gaps[-1], odds.substitute + shared, odds.bias)
        if self.features is not None:
            odds = self.features(odds, self.source_features, self.target_features)
        if not self.symmetric:
            return odds
        gap, substitute = (odds.delete + odds.insert) / 2, (odds.substitute + odds.substitute.T) / 2
        return Odds(gap, gap, substitute, odds.bias)

    def extended_odds(self, kinship: Kinship, shares: Shares | None = None) -> Odds:
        """Log-odds for more symbols, by the classes of their substitutions: the new ones are `<unk>` but among kin.

        A new symbol with itself, or with its kin, has the mean of what is known of such symbols; where no kin is known,
        that of the same symbols and of `<unk>`. Its gaps cost no less than known ones on average: what nobody has seen
        is no evidence for a match. With shares of known symbols in new ones, those of both sides, a new symbol has the
        mean of what is known of these.
        """
        odds = self._of_more_symbols(kinship)
        return odds if shares is None else self._of_neighbours(odds, kinship, shares)

    def _of_more_symbols(self, kinship: Kinship) -> Odds:
        odds = self.odds()
        known = self.kinship.shape
        rows, columns = (
            torch.tensor([*range(old), *[UNKNOWN] * (new - old)], device=kinship.device)
            for old, new in zip(known, kinship.shape, strict=True)
        )
        substitute, new = odds.substitute[rows][:, columns], torch.ones_like(kinship, dtype=torch.bool)
        new[: known[0], : known[1]] = False
        for number, mean in self._means_of_kin(odds).items():
            substitute = torch.where(new & (kinship == number), mean, substitute)
        delete, insert = (_more_gaps(*side) for side in zip((odds.delete, odds.insert), kinship.shape, strict=True))
        return Odds(delete, insert, substitute, odds.bias)

    def _means_of_kin(self, odds: Odds) -> dict[int, Tensor]:
        """Means of the log-odds of substitutions by kin, and by the same symbol, where there are any to go by."""
        found = {number: odds.substitute[self.kinship == number] for number in (KIN, IDENTICAL)}
        means = {number: values.mean() for number, values in found.items() if len(values)}
        if IDENTICAL in means and KIN not in means:
            means[KIN] = (means[IDENTICAL] + odds.substitute[UNKNOWN, len(SPECIALS) :].mean()) / 2
        return means

    def _of_neighbours(self, more: Odds, kinship: Kinship, shares: Shares) -> Odds:
        """Log-odds for more symbols, those of symbols with neighbours by these; with itself, as these with themselves.

        Those of kin stay, where a symbol on either side has neither a number nor neighbours.
        """
        odds = self.odds()
        source, target = (side.to(odds.delete) for side in shares)
        told = (source[:, UNKNOWN] == 0)[:, None] & (target[:, UNKNOWN] == 0) | (kinship == OTHER)
        told[: len(odds.delete), : len(odds.insert)] = False
        same = (self.kinship == IDENTICAL).to(source)
        found, weight = source @ odds.substitute @ target.T, source @ same @ target.T
        identical = source @ (odds.substitute * same) @ target.T / weight
        found = torch.where((kinship == IDENTICAL) & (weight > 0), identical, found)
        delete, insert = (
            torch.where(side[:, UNKNOWN] > 0, gaps, side @ known)
            for side, gaps, known in ((source, more.delete, odds.delete), (target, more.insert, odds.insert))
        )
        return Odds(delete, insert, torch.where(told, found, more.substitute), odds.bias)

    def forward(
        self, batch: PairBatch, odds: Odds | None = None, *, in_context: bool = True
    ) -> tuple[EditLattice, PerPair]:
        """Lattices of pairs and the bias of each; its log-odds are `scale.exp() * log_prob + bias`.

        The log-odds of operations are the network's, unless others are given; not in context, without coherence.
        """
        odds = self.odds() if odds is None else odds
        arcs = self._arcs(odds, batch)
        if self.coherence is not None and in_context:
            arcs = self.coherence(batch, arcs)
        lattice = EditLattice(*arcs, *batch.lengths, validate=False)
        return lattice, self.biases(odds, batch.lengths, batch.languages, _identical(batch))

    def biases(
        self,
        odds: Odds,
        lengths: tuple[Lengths, Lengths],
        languages: Int[Tensor, "batch sides"] | None,
        identical: Bool[Tensor, " batch"],
    ) -> PerPair:
        """Bias of each pair, all that is of no operation: by lengths and languages of both strings, and identity."""
        parts = self.bias_parts(odds, lengths, languages, identical)
        return odds.bias + parts["lengths"] + parts["languages"] + parts["identity"]

    def bias_parts(
        self,
        odds: Odds,
        lengths: tuple[Lengths, Lengths],
        languages: Int[Tensor, "batch sides"] | None,
        identical: Bool[Tensor, " batch"],
    ) -> dict[str, PerPair]:
        """Parts of the bias that differ from pair to pair, by name."""
        return {
            "lengths": self._of_lengths(lengths, odds.bias),
            "languages": self._of_languages(languages, lengths[0], odds.bias),
            "identity": self._of_identity(identical, lengths[0], odds.bias),
        }

    def no_table(self) -> str:
        """Why the log-odds of operations are no table of kinds of symbols, in words; nothing where they are.

        Whoever adds a term that is of no single symbol or pair of symbols (and their places), and not of a pair as a
        whole either, names it here: `compiled` is not asked then, and scores come from lattices, as in training.
        """
        return "coherence: an operation's log-odds depend on the cells around it" if self.coherence else ""

    def compiled(self, source: EncodedStrings, target: EncodedStrings, odds: Odds) -> CompiledTable:
        """Log-odds of operations as a table for the kernel: a kind is a symbol, with factors of place one in a class.

        Terms of symbols and of pairs of symbols are in `odds`; those of places in the kinds; the bias is apart.
        """
        if self.place is None:
            sides = SymbolKinds.of_symbols(source, odds.delete), SymbolKinds.of_symbols(target, odds.insert)
        else:
            sides = self.place.kinds(source, odds.delete, side=0), self.place.kinds(target, odds.insert, side=1)
        return CompiledTable(sides[0].strings(source.starts), sides[1].strings(target.starts), odds.substitute)

    def prior(self, spread: float) -> Float[Tensor, ""]:
        """Gaussian prior, its negative logarithm: each single operation's log-odds deviate by about `spread`.

        What all pairs have in common, factors, biases, gaps and kinship, is much freer.
        """
        common = [self.scale, self.bias, self.gaps, self.kin]
        if self.length is not None:
            common.append(self.length)
        if self.languages is not None:
            common.append(self.languages.weight)
        if self.place is not None:
            common += [PLACE_FACTOR * self.place.factor, self.place.gap, self.place.substitute]
        if self.identity is not None:
            common.append(FREE / IDENTITY_SPREAD * self.identity)
        found = _squares(self.delete, self.insert, self.substitute) / spread**2 + _squares(*common) / FREE**2
        for module, width in ((self.features, FEATURE_SPREAD), (self.coherence, COHERENCE_SPREAD)):
            if module is not None:
                found = found + _squares(*module.parameters()) / width**2
        return found

    def _arcs(self, odds: Odds, batch: PairBatch) -> Arcs:
        numbers = batch.source[:, :, None] * odds.substitute.shape[1] + batch.target[:, None, :]
        delete, insert = _chosen(odds.delete, batch.source), _chosen(odds.insert, batch.target)
        substitute = _chosen(odds.substitute.flatten(), numbers)
        if self.place is not None:
            delete, insert, substitute = self.place(batch, delete, insert, substitute)
        padded = functional.pad(substitute, (1, 0, 1, 0))
        delete, insert = functional.pad(delete, (1, 0))[:, :, None], functional.pad(insert, (1, 0))[:, None]
        return Arcs(delete.expand_as(padded), insert.expand_as(padded), padded)

    def _of_lengths(self, lengths: tuple[Lengths, Lengths], like: Tensor) -> PerPair:
        n, m = (length.to(like) for length in lengths)
        if self.length is None:
            return torch.zeros_like(n)
        features = torch.stack([(n + m) / 10, (n - m).abs(), (n + m).clamp(min=1).log()], 1)
        return (features * self.length.to(like)).sum(1)

    def _of_identity(self, identical: Bool[Tensor, " batch"], n: Lengths, like: Tensor) -> PerPair:
        """Log-odds of identical strings: so much for each symbol."""
        if self.identity is None:
            return torch.zeros_like(n, dtype=like.dtype)
        return identical * n.to(like) * (IDENTITY + self.identity.to(like))

    def _of_languages(self, languages: Int[Tensor, "batch sides"] | None, n: Lengths, like: Tensor) -> PerPair:
        if self.languages is None:
            return torch.zeros_like(n, dtype=like.dtype)
        vectors: Tensor = self.languages(languages).to(like)
        return (vectors[:, 0] * vectors[:, 1]).sum(1)


def places_of(symbols: Int[Tensor, "batch length"], lengths: Lengths) -> Int[Tensor, "batch length"]:
    """Numbers of the classes of places, see `PLACES`.

    >>> places_of(torch.zeros(2, 5).long(), torch.tensor([5, 2])).tolist()
    [[0, 1, 2, 3, 4], [0, 4, 2, 2, 2]]
    """
    place = torch.arange(symbols.shape[1], device=symbols.device).expand_as(symbols)
    left = lengths[:, None] - 1 - place
    classes = torch.full_like(place, 2)
    for number, found in ((3, left == 1), (1, place == 1), (4, left == 0), (0, place == 0)):
        classes = classes.masked_fill(found & (left >= 0), number)
    return classes


def ragged_places(strings: EncodedStrings) -> np.ndarray:
    """Numbers of the classes of places of all symbols, one string after the other, see `places_of`.

    >>> ragged_places(EncodedStrings([[4, 4, 4, 4, 4], [], [4, 4]])).tolist()
    [0, 1, 2, 3, 4, 0, 4]
    """
    classes = np.full(len(strings.flat), 2, dtype=np.int32)
    starts, ends = strings.starts[:-1], strings.starts[1:]
    of_two, of_one = strings.lengths > 1, strings.lengths > 0
    for number, places in ((3, ends[of_two] - 2), (1, starts[of_two] + 1), (4, ends[of_one] - 1), (0, starts[of_one])):
        classes[places] = number
    return classes


def _more_gaps(gaps: Float[Tensor, " symbols"], count: int) -> Float[Tensor, " more_symbols"]:
    """Log-odds of gaps of more symbols: the new ones have those of `<unk>`, but at most the mean of the known ones."""
    new = torch.fmin(gaps[UNKNOWN], gaps[len(SPECIALS) :].mean())
    return torch.cat([gaps, new.expand(count - len(gaps))])


def _squares(*parts: Tensor) -> Float[Tensor, ""]:
    """Half the sum of all squares."""
    return torch.stack([part.square().sum() for part in parts]).sum() / 2


def _chosen(values: Float[Tensor, " kinds"], numbers: Int[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Values by number; in one dimension, where the gradient is a plain sum."""
    return values.index_select(0, numbers.flatten()).view(numbers.shape)


def _identical(batch: PairBatch) -> Bool[Tensor, " batch"]:
    """Whether the symbol numbers of each pair's strings are the same."""
    n, m = batch.lengths
    width = min(batch.source.shape[1], batch.target.shape[1])
    same: Tensor = (n == m) & (batch.source[:, :width] == batch.target[:, :width]).all(1)
    return same
