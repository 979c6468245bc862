"""Lookup table of the training pairs, and of the words that chains of pairs connect (connected components).

What it finds in test data, nobody needs to learn.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import repeat
from typing import Any, ClassVar, Literal

import numpy as np
import torch

from nsed.baselines.similarity import StringCodes, nearest
from nsed.capabilities import Capability
from nsed.errors import ArgumentError
from nsed.evaluate.calibration import fit_calibration
from nsed.models.base import Contents
from nsed.models.pair_model import UNCALIBRATED, Criterion, PairScorer, labels_of
from nsed.models.settings import ConfigLike, resolve_settings
from nsed.models.transduction import TransducingModel, Transduction, ranked
from nsed.progress import OnBatch, ignore
from nsed.text import Pairs, StringConfig, Tokenizers
from nsed.text.columns import AnswerColumn, Column, column_like
from nsed.text.pairs import PairsLike
from nsed.text.texts import Texts, from_tensors, to_tensors
from nsed.train.saved_model import SavedModel
from nsed.train.split import components

Word = tuple[str, str]
"""Graph node: a language and a string."""


class Chains:
    """Connected components of the words of some pairs.

    A word is a string of a language where there are languages, else a string; each is connected with itself.

    >>> Chains(Pairs(["hand", "Hand"], ["Hand", "hånd"])).connect(Pairs(["hånd", "foot"], ["hand", "hand"]))
    array([ True, False])
    """

    def __init__(self, pairs: Pairs) -> None:
        numbers: dict[Word, int] = {}
        ends = [[numbers.setdefault(word, len(numbers)) for word in both] for both in _words(pairs)]
        one, other = np.array(ends, dtype=np.int64).reshape(-1, 2).T
        tops = components(one, other, len(numbers))
        self._tops = dict(zip(numbers, tops.tolist(), strict=True))

    def connect(self, pairs: Pairs) -> np.ndarray:
        """Connectivity test: whether the two words of each pair are connected."""
        tops = self._tops
        return np.array([tops.get(one, one) == tops.get(other, other) for one, other in _words(pairs)], dtype=bool)


def _words(pairs: Pairs) -> Iterator[tuple[Word, Word]]:
    sources = _column(pairs.source_languages, pairs.sources)
    return zip(sources, _column(pairs.target_languages, pairs.targets), strict=True)


def _column(languages: Sequence[str] | None, texts: Sequence[str]) -> Iterator[Word]:
    return zip(repeat("") if languages is None else languages, texts, strict=False)


FOUND = 0.5
"""Decision threshold: scores are 1 and 0, whatever is between them will do."""


@dataclass(frozen=True)
class LookupConfig(StringConfig):
    """Lookup settings: what a table does with pairs and sources.

    >>> table = Lookup.fit([("hand", "HAND"), ("foot", "FOOT")], config=LookupConfig(nearest=True))
    >>> table.transduce(["hands"])[0][0].text
    'HAND'
    """

    model: Literal["lookup"] = "lookup"
    """The kind of model that these settings are for."""
    chains: bool = False
    """Transitive matching: also call a match what a chain of positive pairs connects, not only the pairs themselves."""
    nearest: bool = False
    """Nearest-neighbour transduction: a source not in the table gets the targets of the most similar one, else none."""


class Lookup(PairScorer, TransducingModel):
    """Lookup table: the positive pairs of the training data, and how often each occurred.

    The score of a pair is 1 if it is in the table, either way round, else 0.

    >>> table = Lookup.fit([("hand", "Hand"), ("foot", "Hand")], [1, 0])
    >>> table.match([("Hand", "hand"), ("foot", "Hand")])
    array([ True, False])
    """

    configs: ClassVar[Mapping[str, type[LookupConfig]]] = {"lookup": LookupConfig}
    config: LookupConfig
    capabilities = PairScorer.capabilities | {Capability.TRANSDUCE}

    def __init__(
        self, known: Pairs, counts: np.ndarray, config: LookupConfig, *, criterion: Criterion | None = None
    ) -> None:
        self.known, self.counts, self.config = known, counts, config
        self.tokenizers = Tokenizers.plain(config)
        self.criterion = criterion or Criterion(FOUND, UNCALIBRATED)

    @classmethod
    def fit(
        cls,
        pairs: PairsLike,
        labels: Iterable[object] | None = None,
        *,
        validation: PairsLike | None = None,
        config: ConfigLike | None = None,
        **settings: Any,
    ) -> "Lookup":
        """Memorise the pairs, with labels the positive ones. Probabilities are those of the validation pairs.

        Without validation pairs, probabilities are those of the training pairs, of which the table knows too much.
        """
        given = Pairs.of(pairs, labels)
        resolved = resolve_settings(cls.configs, config, settings, pairs=given)
        assert isinstance(resolved, LookupConfig)
        table = cls(*_counted(_normal(given.positives(), resolved)), resolved)
        seen = given if validation is None else Pairs.of(validation)
        if len(set(seen.labels or ())) < 2:
            return table
        calibration = fit_calibration(table.score(seen), labels_of(seen))
        return cls(table.known, table.counts, resolved, criterion=Criterion(FOUND, calibration))

    def score(self, pairs: PairsLike, targets: Column | None = None, *, on_batch: OnBatch = ignore) -> AnswerColumn:
        """Lookup score: 1 for each pair that is in the table, either way round, or is connected; 0 for the others."""
        asked = _normal(Pairs.given(pairs, targets), self.config)
        found = self._chains.connect(asked) if self.config.chains else self._has(asked)
        on_batch(len(asked))
        return column_like(pairs, found.astype(float), "score")

    def _transduce(
        self, sources: list[str], *, nbest: int, beam: int | None, on_batch: OnBatch
    ) -> list[list[Transduction]]:
        """Lookup transduction: the targets that each source had in training, most frequent first; none for a new one.

        Nothing is searched for, so that `beam` changes nothing.
        """
        asked = list(map(self.tokenizers.source.splitter.normal, sources))
        similar = self._similar(asked) if self.config.nearest else {}
        found = [self._targets.get(similar.get(source, source), Counter()) for source in asked]
        on_batch(len(asked))
        return [ranked(targets, self.tokenizers.target, nbest) for targets in found]

    def contents(self, *, half: bool = False) -> Contents:
        """See `Model.contents`: the table."""
        columns = {name: Texts.of(column) for name, column in self.known.columns.items() if column is not None}
        tensors = {**to_tensors(columns), "counts": torch.from_numpy(self.counts)}
        return Contents(tensors=tensors, record={"criterion": self.criterion.record(), "pairs": len(self.known)})

    @classmethod
    def from_saved(cls, saved: SavedModel) -> "Lookup":
        """See `Model.from_saved`."""
        config, criterion = cls.saved_config(saved), Criterion.of_record(*saved.record["criterion"])
        assert isinstance(config, LookupConfig)
        names = [name.removesuffix(".rows") for name in saved.tensors if name.endswith(".rows")]
        known = _pairs({name: from_tensors(saved.tensors, name) for name in names})
        counts = saved.tensors["counts"]
        if counts.dtype != torch.int64 or tuple(counts.shape) != (len(known),) or bool((counts < 1).any()):
            got = f"{counts.dtype} of shape {tuple(counts.shape)}"
            raise ArgumentError("counts", got=got, expected=f"{len(known)} whole numbers above zero")
        return cls(known, counts.numpy(), config, criterion=criterion)

    def _has(self, pairs: Pairs) -> np.ndarray:
        table = self._table
        return np.array([pair in table or pair[::-1] in table for pair in pairs], dtype=bool)

    @cached_property
    def _table(self) -> set[tuple[str, str]]:
        return set(self.known)

    @cached_property
    def _chains(self) -> Chains:
        return Chains(self.known)

    @cached_property
    def _targets(self) -> dict[str, Counter[str]]:
        targets: dict[str, Counter[str]] = {}
        for (source, target), count in zip(self.known, self.counts.tolist(), strict=True):
            targets.setdefault(source, Counter())[target] += count
        return targets

    def _similar(self, sources: list[str]) -> dict[str, str]:
        """Nearest neighbour: for each source that is new, the most similar one that is not."""
        codes, split = StringCodes(), self.tokenizers.source.split
        known, new = list(self._targets), [source for source in dict.fromkeys(sources) if source not in self._targets]
        rows = nearest([codes.of(split(text)) for text in new], [codes.of(split(text)) for text in known])
        return {source: known[row] for source, row in zip(new, rows, strict=True)}


def _normal(pairs: Pairs, config: LookupConfig) -> Pairs:
    """Normalised pairs, without differences that are none, and with columns that can be saved."""
    tokenizers = Tokenizers.plain(config)
    sources = Texts.of(pairs.sources).mapped(tokenizers.source.splitter.normal)
    return replace(pairs, sources=sources, targets=Texts.of(pairs.targets).mapped(tokenizers.target.splitter.normal))


def _counted(pairs: Pairs) -> tuple[Pairs, np.ndarray]:
    """Pair counts: each different pair once, and how often it occurs."""
    if not len(pairs):
        raise ArgumentError("pairs", got="no positive pair", expected="at least one to remember")
    columns = {name: column for name, column in pairs.columns.items() if column is not None}
    counts = Counter(zip(*columns.values(), strict=True))
    different = zip(columns, zip(*counts, strict=True), strict=True)
    known = _pairs({name: Texts.of(column) for name, column in different})
    return known, np.fromiter(counts.values(), dtype=np.int64, count=len(counts))


def _pairs(columns: Mapping[str, Texts]) -> Pairs:
    of_source, of_target = (columns.get(name) for name in ("source_languages", "target_languages"))
    return Pairs(columns["sources"], columns["targets"], None, of_source, of_target)
