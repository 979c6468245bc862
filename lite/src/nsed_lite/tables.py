"""Models that are tables of operations: the learnable edit distance, and the Matcher in odds form."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from nsed_lite.folder import Folder, Weights
from nsed_lite.kinship import KINSHIP, SymbolFeatures, kinship_of, letter_features
from nsed_lite.lattice import NEG, REACHABLE, Lattice
from nsed_lite.model import Criterion, Model, Pair, Strings, languages_of
from nsed_lite.symbols import SPECIALS, UNKNOWN, Tokenizer, tokenizers

IDENTITY = 0.6
"""Log-odds per symbol of two strings that are the same, before training."""
UNIT = 2.0
"""Log-odds that are one in a channel of coherence."""
MOST_EXTENDED = 2**24
"""Substitutions at most for which a table is made that new symbols are in too."""


class Operations(NamedTuple):
    """Numbers of operations on symbols: log-probabilities, or log-odds."""

    delete: np.ndarray
    insert: np.ndarray
    substitute: np.ndarray

    def of(self, source: np.ndarray, target: np.ndarray) -> "Operations":
        """Those on the symbols of padded strings, places by pairs; substitutions are places by places by pairs."""
        return Operations(self.delete[source], self.insert[target], self.substitute[source[:, None], target])

    def arcs(self) -> np.ndarray:
        """Arcs of lattices, of operations on padded strings."""
        rows, columns, pairs = self.substitute.shape
        arcs = np.full((3, rows + 1, columns + 1, pairs), NEG)
        arcs[0, 1:], arcs[1, :, 1:], arcs[2, 1:, 1:] = self.delete[:, None], self.insert, self.substitute
        return arcs


def _padded(strings: Strings) -> tuple[np.ndarray, np.ndarray]:
    """Strings as columns, padded with 0, and their lengths."""
    lengths = np.array([len(string) for string in strings], dtype=np.int64)
    table = np.zeros((lengths.max(initial=0), len(strings)), dtype=np.int64)
    for column, string in enumerate(strings):
        table[: len(string), column] = string
    return table, lengths


class EditDistance(Model):
    """Learnable edit distance: scores are joint log-probabilities or, if it was trained so, their ratio to chance."""

    def __init__(self, folder: Folder) -> None:
        self.source, self.target = tokenizers(folder.config, folder.vocabularies)
        names = ("delete", "insert", "substitute", "end")
        *table, self.end = (folder.weights(name).astype(float) for name in names)
        folder.weights.check_all_taken()
        self.table = self._smoothed(Operations(*table), folder.config["smoothing"])
        self.relative = folder.config.get("relative", False) is True
        criterion = folder.record.get("criterion")
        self.criterion = Criterion.of(*criterion) if criterion else None

    def _smoothed(self, table: Operations, share: float) -> Operations:
        """Table of which a share is spread evenly over all operations on known symbols and `<unk>`."""
        known = [np.arange(len(side)) >= SPECIALS for side in (table.delete, table.insert)]
        for side in known:
            side[UNKNOWN] = True
        even = [*known, known[0][:, None] & known[1]]
        scale = (1 - self.end) / sum(part.sum() for part in even)
        return Operations(*(own + share * (part * scale - own) for own, part in zip(table, even, strict=True)))

    def lattices(
        self, sources: Strings, targets: Strings, languages: Any = None, tables: Any = None
    ) -> tuple[Lattice, np.ndarray]:
        """See `Model.lattices`."""
        (source, n), (target, m) = _padded(sources), _padded(targets)
        with np.errstate(divide="ignore"):
            logs = Operations(*map(np.log, self.table))
            lattice = Lattice(logs.of(source, target).arcs(), n, m)
            joint = lattice.log_prob + np.log(self.end)
        scores = joint - self._by_chance(sources, targets) if self.relative else joint
        return lattice, np.where(joint <= REACHABLE, -np.inf, scores)

    def _by_chance(self, sources: Strings, targets: Strings) -> np.ndarray:
        """Log p(s) + log p(t) of each pair, by the margins of the table."""
        delete, insert, substitute = self.table
        of_source = self._margins(delete + substitute.sum(1), insert.sum(), sources)
        return of_source + self._margins(insert + substitute.sum(0), delete.sum(), targets)

    def _margins(self, symbols: np.ndarray, others: float, strings: Strings) -> np.ndarray:
        with np.errstate(divide="ignore"):
            logs, end = np.log(symbols / (1 - others)), np.log(self.end / (1 - others))
        return np.array([logs[string].sum() if string else 0.0 for string in strings]) + end


class OddsMatcher(Model):
    """Matcher in odds form: its score is the log-odds of "belong together", `scale * log_prob + bias`."""

    def __init__(self, folder: Folder) -> None:
        config, weights, self.weights = folder.config, folder.weights, folder.weights
        self.source, self.target = tokenizers(config, folder.vocabularies)
        self.languages = tuple(folder.vocabularies.get("languages", ()))
        self.symmetric = config.get("shared_alphabet") is True
        self.table_scripts = config.get("table_scripts") is True
        self.kinship, self.scale = weights("kinship"), np.exp(float(weights("scale")))
        self.table, self.bias = self._odds(weights), float(weights("bias")) + float(weights("start_bias"))
        self.place = _parts(weights, "place", ("factor", "gap", "substitute")) if "place.factor" in weights else None
        self.length = weights("length").astype(float) if "length" in weights else None
        self.identity = IDENTITY + float(weights("identity")) if "identity" in weights else 0.0
        self.vectors = weights("languages.weight").astype(float) if "languages.weight" in weights else None
        names = ("window.weight", "window.bias", "residual.weight", "residual.bias")
        self.coherence = _parts(weights, "coherence", names) if "coherence.window.weight" in weights else None
        self.features = None
        if config.get("symbol_features"):
            self.features = SymbolFeatures(folder.vocabularies["symbol_features"], weights("symbol_features"))
        self.criterion = Criterion.of(folder.record["threshold"], *folder.record["calibration"])
        weights.check_all_taken()

    def _odds(self, weights: Weights) -> Operations:
        """Log-odds of operations: what training began with, what it added, and what symbols have in common."""
        own = (weights(name).astype(float) + weights(f"start_{name}") for name in Operations._fields)
        delete, insert, substitute = own
        gaps, kin = weights("gaps").astype(float), weights("kin").astype(float)
        delete, insert = delete + gaps[0], insert + gaps[-1]
        substitute = substitute + kin[self.kinship.astype(int)]
        if "features.delete" in weights:
            source, target = letter_features(self.source.vocabulary, self.target.vocabulary)
            of_delete, of_insert, of_both = _parts(weights, "features", Operations._fields)
            delete, insert = delete + source @ of_delete, insert + target @ of_insert
            substitute = substitute + source @ of_both @ target.T
        if self.symmetric:
            delete = insert = (delete + insert) / 2
            substitute = (substitute + substitute.T) / 2
        return Operations(delete, insert, substitute)

    def _encoded(self, pairs: Sequence[Pair]) -> tuple[Strings, Strings, Any]:
        """See `Model._encoded`: symbols that are new have the log-odds of `<unk>`, but of their kin those of such."""
        sources, targets, _ = super()._encoded(pairs)
        texts = [[pair[side] for pair in pairs] for side in (0, 1)]
        if not any(UNKNOWN in string for side in (sources, targets) for string in side):
            return sources, targets, self.table
        sides = self._extended(
            *(
                [symbol for text in side for symbol in one.split(text)]
                for one, side in zip(self.sides, texts, strict=True)
            )
        )
        if np.prod([len(side.vocabulary) + SPECIALS for side in sides]) > MOST_EXTENDED:
            return sources, targets, self.table
        table = self._extended_odds(kinship_of(*(side.vocabulary for side in sides)))
        if self.features is not None:
            table = self._of_neighbours(table, sides)
        return sides[0].encode(texts[0]), sides[1].encode(texts[1]), table

    def _extended(self, sources: list[str], targets: list[str]) -> tuple[Tokenizer, Tokenizer]:
        """Tokenizers that know the symbols of some strings too."""
        source, target = self.source.extended(sources), self.target.extended(targets)
        if not self.symmetric:
            return source, target
        both = source.extended(target.vocabulary)
        return both, both

    def _extended_odds(self, kinship: np.ndarray) -> Operations:
        """Log-odds for more symbols, by the classes of their substitutions."""
        known = self.kinship.shape
        rows, columns = ([*range(old), *[UNKNOWN] * (new - old)] for old, new in zip(known, kinship.shape, strict=True))
        substitute, new = self.table.substitute[rows][:, columns], np.ones_like(kinship, dtype=bool)
        new[: known[0], : known[1]] = False
        for number, mean in self._means_of_kin().items():
            substitute = np.where(new & (kinship == number), mean, substitute)
        delete = _more_gaps(self.table.delete, kinship.shape[0])
        return Operations(delete, _more_gaps(self.table.insert, kinship.shape[1]), substitute)

    def _means_of_kin(self) -> dict[int, float]:
        """Means of the log-odds of substitutions by kin, and by the same symbol, where there are any to go by."""
        kin, same = KINSHIP.index("kin"), KINSHIP.index("identical")
        found = {number: self.table.substitute[self.kinship == number] for number in (kin, same)}
        means = {number: float(values.mean()) for number, values in found.items() if len(values)}
        if same in means and kin not in means:
            means[kin] = (means[same] + float(self.table.substitute[UNKNOWN, SPECIALS:].mean())) / 2
        return means

    def _of_neighbours(self, more: Operations, sides: tuple[Tokenizer, Tokenizer]) -> Operations:
        """Log-odds for more symbols, those of symbols with neighbours by features as these have them."""
        assert self.features is not None
        source, target = (
            self.features.shares(own.vocabulary, side.vocabulary) for own, side in zip(self.sides, sides, strict=True)
        )
        kinship = kinship_of(*(side.vocabulary for side in sides))
        told = (source[:, UNKNOWN] == 0)[:, None] & (target[:, UNKNOWN] == 0) | (kinship == KINSHIP.index("other"))
        told[: len(self.table.delete), : len(self.table.insert)] = False
        same = (self.kinship == KINSHIP.index("identical")).astype(float)
        found, weight = source @ self.table.substitute @ target.T, source @ same @ target.T
        identical = source @ (self.table.substitute * same) @ target.T / np.where(weight > 0, weight, 1)
        found = np.where((kinship == KINSHIP.index("identical")) & (weight > 0), identical, found)
        substitute = np.where(told, found, more.substitute)
        delete = np.where(source[:, UNKNOWN] > 0, more.delete, source @ self.table.delete)
        insert = np.where(target[:, UNKNOWN] > 0, more.insert, target @ self.table.insert)
        return Operations(delete, insert, substitute)

    def lattices(
        self, sources: Strings, targets: Strings, languages: Any = None, tables: Any = None
    ) -> tuple[Lattice, np.ndarray]:
        """See `Model.lattices`."""
        (source, n), (target, m) = _padded(sources), _padded(targets)
        odds = (self.table if tables is None else tables).of(source, target)
        arcs = (odds if self.place is None else self._placed(odds, n, m)).arcs()
        lattice = scored = Lattice(arcs, n, m)
        if self.coherence is not None:
            scored = Lattice(self._coherent(arcs, n, m), n, m)
            lattice = lattice if self.table_scripts else scored
        same = np.array([a == b for a, b in zip(sources, targets, strict=True)])
        return lattice, self.scale * scored.log_prob + self._biases(n, m, same, languages)

    def _placed(self, odds: Operations, n: np.ndarray, m: np.ndarray) -> Operations:
        """Log-odds by the places of symbols: a factor on each, and what is added to gaps and to substitutions."""
        assert self.place is not None
        (factor, gap, pair), sides = self.place, (_places(len(odds.delete), n), _places(len(odds.insert), m))
        factors, gaps, pairs = (
            [side[place] for side, place in zip(np.broadcast_to(values, (2, values.shape[1])), sides, strict=True)]
            for values in (np.exp(factor), gap, pair)
        )
        substitute = factors[0][:, None] * factors[1] * odds.substitute + pairs[0][:, None] + pairs[1]
        return Operations(factors[0] * odds.delete + gaps[0], factors[1] * odds.insert + gaps[1], substitute)

    def _biases(self, n: np.ndarray, m: np.ndarray, same: np.ndarray, languages: Any) -> np.ndarray:
        """Log-odds of each pair that are of no operation: by lengths, identity and languages."""
        biases = self.bias + same * n * self.identity
        if self.length is not None:
            both = (n + m).astype(float)
            biases = biases + np.stack([both / 10, abs(n - m), np.log(np.maximum(both, 1))], 1) @ self.length
        if self.vectors is None:
            return np.asarray(biases)
        given = languages if languages is not None else [("", "")] * len(n)
        a, b = (self.vectors[languages_of(self.languages, [one[k] for one in given])] for k in (0, 1))
        return np.asarray(biases + (a * b).sum(1))

    def _coherent(self, arcs: np.ndarray, n: np.ndarray, m: np.ndarray) -> np.ndarray:
        """Arcs in their context: a small convolution sees the log-odds in a window of three by three cells."""
        rows, columns = np.arange(arcs.shape[1])[:, None, None], np.arange(arcs.shape[2])[:, None]
        real = (rows <= n) & (columns <= m)
        inside = np.stack([real & (rows > 0), real & (columns > 0), real & (rows > 0) & (columns > 0)])
        channels = np.concatenate([np.where(inside, arcs / UNIT, 0.0), real[None]])[[2, 0, 1, 3]]
        found = self._residual(channels)
        if self.symmetric:
            swapped = [0, 2, 1, 3]
            other = self._residual(channels[swapped].swapaxes(1, 2)).swapaxes(1, 2)
            found = (found + other[swapped[:-1]]) / 2
        return arcs + found[[1, 2, 0]]

    def _residual(self, cells: np.ndarray) -> np.ndarray:
        """Convolution over rows and columns, ReLU, projection: channels by rows by columns by pairs."""
        assert self.coherence is not None
        window, window_bias, residual, residual_bias = self.coherence
        bordered = np.pad(cells, ((0, 0), (1, 1), (1, 1), (0, 0)))
        height, width = cells.shape[1:3]
        seen = sum(
            np.tensordot(window[:, :, i, j], bordered[:, i : i + height, j : j + width], 1)
            for i in range(3)
            for j in range(3)
        )
        hidden = np.maximum(seen + window_bias[:, None, None, None], 0)
        return np.asarray(np.tensordot(residual[:, :, 0, 0], hidden, 1) + residual_bias[:, None, None, None])


def _parts(weights: Weights, name: str, parts: tuple[str, ...]) -> list[np.ndarray]:
    return [weights(f"{name}.{part}").astype(float) for part in parts]


def _places(width: int, lengths: np.ndarray) -> np.ndarray:
    """Classes of the places of padded strings: initial, second, medial, last but one, last."""
    place = np.broadcast_to(np.arange(width)[:, None], (width, len(lengths)))
    left = lengths - 1 - place
    classes = np.full(place.shape, 2)
    for number, found in ((3, left == 1), (1, place == 1), (4, left == 0), (0, place == 0)):
        classes[found & (left >= 0)] = number
    return classes


def _more_gaps(gaps: np.ndarray, count: int) -> np.ndarray:
    """Log-odds of gaps of more symbols: the new ones have those of `<unk>`, but at most the mean of the known ones."""
    new = np.fmin(gaps[UNKNOWN], gaps[SPECIALS:].mean() if len(gaps) > SPECIALS else np.nan)
    return np.append(gaps, np.full(count - len(gaps), new))
