"""Learnable edit distance (Ristad and Yianilos 1998): the first model on the lattice, and the paper's section 2."""

import hashlib
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from nsed.capabilities import Capability
from nsed.config import bounded
from nsed.errors import ArgumentError, UndecidedError, UnknownSymbolWarning
from nsed.explain.rule_table import RuleTable
from nsed.explain.weight_rules import table_rules
from nsed.kernels.dispatch import TABLE_SCORES, Choice
from nsed.kernels.switch import AUTO
from nsed.lattice import EditLattice
from nsed.models.base import Contents, checked_scores, checked_start
from nsed.models.lattice_model import LATTICE_VERBS, LatticeModel
from nsed.models.pair_model import Criterion, DecidingModel, labels_of
from nsed.models.settings import ConfigLike, resolve_settings
from nsed.networks.bulk_scores import table_log_probs
from nsed.networks.operation_table import Iteration, LearnedOperation, OperationTable, by_chance, iterate
from nsed.progress import OnBatch, ignore
from nsed.text import AlphabetConfig, PairBatch, PairBatches, Pairs, Tokenizers
from nsed.text.batch import MAX_CELLS, DistinctPairs, EncodedPairs, at_place
from nsed.text.columns import AnswerColumn, Column, column_like
from nsed.text.pairs import PairsLike
from nsed.text.texts import Texts
from nsed.text.visible import visible
from nsed.train.saved_model import SavedModel
from nsed.train.split import both_labels, stratified_split
from nsed.types import REACHABLE


@dataclass(frozen=True)
class EditDistanceConfig(AlphabetConfig):
    """EM hyperparameters: how a learnable edit distance is trained."""

    model: Literal["edit-distance"] = "edit-distance"
    """The kind of model that these settings are for."""
    iterations: int = bounded(30, low=1, most=10**6)
    """EM iterations at most."""
    tolerance: float = bounded(1e-5, low=0, most=1)
    """Convergence tolerance: stop when a step improves the log-likelihood by less than this share of it."""
    smoothing: float = bounded(1e-3, low=0, high=1)
    """Smoothing: share of the probability spread evenly over all operations, so that unseen ones are possible."""
    relative: Literal[False, True, "auto"] = "auto"
    """Score a pair by log p(s, t) / (p(s) p(t)): how much likelier it is than two strings by chance. This is what tells
    matches from others; the joint probability itself falls with every symbol and mostly tells short strings from long
    ones. auto: where there are labels of both kinds, to decide by."""
    batch_cells: int = bounded(2**17, low=1, most=2**34)
    """Batch size in lattice cells worked on together; more needs more memory and is not faster for long."""
    max_cells: int = bounded(MAX_CELLS, low=1, most=2**34)
    """Maximum lattice cells of a pair, (n + 1)(m + 1): two strings of 2,047 symbols. A cell takes 150 to 300 bytes."""
    backend: str = "auto"
    """Lattice backend, who computes the lattices: auto, torch, numba, triton or reference; scores too, where it is not
    auto, which scores many pairs without making lattices."""


class LearnableEditDistance(LatticeModel, DecidingModel):
    """Learnable edit distance: probabilities of edit operations, learned from pairs that belong together.

    The score of a pair is its joint log-probability: the sum over all ways to write both strings, operation by
    operation; with `relative` it is the logarithm of its ratio to chance. The same operation has the same probability
    everywhere; what needs context, this model cannot learn.

    Trained on labelled pairs, or with labelled validation pairs, it decides too (`match`, `probability`).

    >>> model = LearnableEditDistance.fit([("gray", "grey"), ("gala", "gele"), ("say", "sey")])
    >>> print(model.align("lay", "ley"))
    l a→e y
    """

    configs: ClassVar[Mapping[str, type[EditDistanceConfig]]] = {"edit-distance": EditDistanceConfig}
    config: EditDistanceConfig

    def __init__(
        self,
        table: OperationTable,
        tokenizers: Tokenizers,
        config: EditDistanceConfig | None = None,
        *,
        history: Sequence[float] = (),
        pairs_hash: str = "",
        criterion: Criterion | None = None,
    ) -> None:
        table.check(tokenizers.source.vocabulary, tokenizers.target.vocabulary)
        self.table, self.tokenizers = table, tokenizers
        self.config = config or EditDistanceConfig()
        self.history = tuple(history)
        """Log-likelihood per training pair before each step of EM."""
        self.pairs_hash = pairs_hash
        """SHA-256 of the training pairs."""
        self._criterion = criterion

    @property
    def capabilities(self) -> frozenset[Capability]:  # type: ignore[override]  # with a threshold one more
        """See `Model.capabilities`: it decides where labelled pairs gave it a threshold."""
        decides = set() if self._criterion is None else {Capability.MATCH}
        return LATTICE_VERBS | {Capability.OPERATIONS, Capability.COSTS, Capability.FINE_TUNE, *decides}

    @property
    def criterion(self) -> Criterion:  # not every one has it
        """See `DecidingModel.criterion`."""
        if self._criterion is None:
            advice = "train it on labelled pairs, or with labelled validation pairs, to match (nsed train --validation)"
            raise UndecidedError(f"this edit distance has scores, but no threshold to decide by: {advice}")
        return self._criterion

    @criterion.setter
    def criterion(self, criterion: Criterion) -> None:
        self._criterion = criterion

    @classmethod
    def fit(
        cls,
        pairs: PairsLike,
        labels: Iterable[object] | None = None,
        *,
        validation: PairsLike | None = None,
        config: ConfigLike | None = None,
        start: "LearnableEditDistance | None" = None,
        on_iteration: "Callable[[LearnableEditDistance], None]" = ignore,
        on_batch: OnBatch = ignore,
        **settings: Any,
    ) -> "LearnableEditDistance":
        """Train by EM on pairs; with labels, on the positive pairs only.

        Threshold (best F1) and calibration are tuned on the labelled validation pairs; without any, a twentieth of the
        labelled pairs is held out for that. Without labels of both kinds there is none, and the model only scores.

        The settings are a config, a mapping or the path of a YAML file, and keywords that go over it: `iterations=10`.

        `start` continues a training on the same pairs, with its own settings unless there are new ones, to the same
        result as without interruption. `on_iteration` gets the model after each step, `on_batch` the number of pairs
        just done.
        """
        given = Pairs.of(pairs, labels)
        positive, tuning = training_parts(given, validation)
        before = None if start is None else checked_start(start, cls.configs).config
        resolved = resolve_settings(cls.configs, config, settings, suggested=before, pairs=positive)
        assert isinstance(resolved, EditDistanceConfig)
        if resolved.relative == "auto":
            resolved = replace(resolved, relative=tuning is not None)
        model = start._continued(positive, resolved) if start else cls._untrained(positive, resolved)
        if tuning is not None:
            model._check_tables(tuning, rows=given if validation is None else tuning)
        for step in model._steps(positive, given, on_batch):
            model = model._improved(step)
            on_iteration(model)
            if model.converged:
                break
        if tuning is None:
            return model
        with quiet_about_symbols():
            criterion = Criterion.tuned(model.score(tuning), labels_of(tuning))
        return model._with(model.table, resolved, model.history, criterion)

    @property
    def converged(self) -> bool:
        """Convergence: whether the last step of EM improved less than the configured tolerance."""
        if len(self.history) < 2:
            return False
        before, after = self.history[-2:]
        return after - before < self.config.tolerance * abs(before)

    def score(self, pairs: PairsLike, targets: Column | None = None, *, on_batch: OnBatch = ignore) -> AnswerColumn:
        """Joint log-probability of each pair, in the order given; minus infinity for what cannot be.

        With the setting `relative`, how much above chance it is.
        """
        relative = self.config.relative is True
        scores = self._scores(Pairs.given(pairs, targets), relative=relative, on_batch=on_batch)
        return column_like(pairs, scores, "score")

    def _log_probs(self, pairs: Pairs) -> np.ndarray:
        """Joint log-probabilities, whatever the scores are."""
        return self._scores(pairs, relative=False, on_batch=ignore)

    def _scores(self, pairs: Pairs, *, relative: bool, on_batch: OnBatch) -> np.ndarray:
        read = self.tokenizers.encode_distinct(*(Texts.of(side).compacted() for side in (pairs.sources, pairs.targets)))
        joint = self._alphas(read, on_batch) + self.table.end.log().item()
        score = joint - by_chance(self.smoothed, read) if relative else joint
        return checked_scores(np.where(joint <= REACHABLE, -np.inf, score))

    def _alphas(self, pairs: DistinctPairs, on_batch: OnBatch) -> np.ndarray:
        """Log alpha_{n,m} of each pair, under the smoothed table: by the kernel of tables, unless settings name one."""
        limit = self.config.max_cells
        if self.config.backend == AUTO:
            compiled = self.smoothed.compiled(pairs.source, pairs.target)
            return table_log_probs(compiled, pairs, max_cells=limit, on_batch=on_batch)
        alphas = np.empty(len(pairs))
        for batch in pairs.expanded().batches(batch_cells=self.config.batch_cells, max_cells=limit):
            alphas[batch.rows.numpy()] = self.smoothed.lattice(batch, backend=self.config.backend).log_prob.numpy()
            on_batch(len(batch.rows))
        return alphas

    def scoring_kernel(self) -> Choice:
        """See `LatticeModel.scoring_kernel`: that of tables, unless the setting `backend` names one for lattices."""
        if self.config.backend == AUTO:
            return TABLE_SCORES.explain(self.table.delete.device)
        return Choice("lattice", self.config.backend, "named by the setting backend; auto: table_scores")

    def operations(self) -> list[LearnedOperation]:
        """Learned operations, most probable first, without smoothing."""
        return _by_probability(self.table.operations(*self.tokenizers.vocabularies.values()))

    def costs(self) -> list[LearnedOperation]:
        """Edit costs of all possible operations, cheapest first, smoothed: for a plain weighted Levenshtein distance.

        Symbols that are not in the vocabularies go by the operations on `<unk>`.
        """
        return _by_probability(self.smoothed.operations(*self.tokenizers.vocabularies.values()))

    @property
    def fine_tuning_settings(self) -> EditDistanceConfig:
        """See `Model.fine_tuning_settings`: its own."""
        return self.config

    def contents(self, *, half: bool = False) -> Contents:
        """See `Model.contents`: the table in double precision, always."""
        record = {"log_likelihood_per_pair": list(self.history), "pairs_sha256": self.pairs_hash}
        decision = (
            {} if self._criterion is None else {"criterion": self._criterion.record(), **self._criterion.share_record}
        )
        return Contents(self.tokenizers.vocabularies, vars(self.table), record | decision)

    @classmethod
    def from_saved(cls, saved: SavedModel) -> "LearnableEditDistance":
        """See `Model.from_saved`."""
        config = cls.saved_config(saved)
        assert isinstance(config, EditDistanceConfig)
        tokenizers = Tokenizers.of(config, saved.vocabularies)
        history = [float(value) for value in saved.record.get("log_likelihood_per_pair", ())]
        pairs_hash, kept = str(saved.record.get("pairs_sha256", "")), saved.record.get("criterion")
        criterion = Criterion.of_record(*kept).with_share(saved.record) if kept else None
        table = OperationTable(**saved.tensors)
        model = cls(table, tokenizers, config, history=history, pairs_hash=pairs_hash, criterion=criterion)
        model.table.check_probabilities()
        return model

    @classmethod
    def _untrained(cls, pairs: Pairs, config: EditDistanceConfig) -> "LearnableEditDistance":
        tokenizers = Tokenizers.learned(config, pairs, min_count=config.min_count)
        table = OperationTable.uniform(*tokenizers.vocabularies.values(), unknown=config.min_count > 1)
        return cls(table, tokenizers, config, pairs_hash=_hash_of(pairs))

    def _continued(self, pairs: Pairs, config: EditDistanceConfig) -> "LearnableEditDistance":
        """Resumed model, to go on learning from the same pairs, cut into the same symbols."""
        if self.pairs_hash != _hash_of(pairs):
            expected = "the pairs with which the training began"
            advice = "With --overwrite instead of --resume (in Python: without start) a new training begins."
            raise ArgumentError("pairs", got="other pairs", expected=expected, advice=advice)
        for name in (field.name for field in fields(AlphabetConfig)):
            ours, theirs = getattr(self.config, name), getattr(config, name)
            if ours != theirs:
                raise ArgumentError(name, got=repr(theirs), expected=f"{ours!r}, as the training began")
        return self._with(self.table, config, self.history)

    def restarted(self, pairs: PairsLike, *, validation: PairsLike | None = None) -> "LearnableEditDistance":
        """Fine-tuning start: this model as the `start` of a training on other pairs, with this validation.

        The table is smoothed first: EM never comes back to an operation whose probability is zero. Raises
        `ArgumentError` where the pairs have new symbols, unless the model has learned what `<unk>` is (`min_count`).
        """
        positive, unknown = training_parts(Pairs.of(pairs), validation)[0], self.config.min_count > 1
        if not unknown:
            self._check_symbols(positive)
        even = OperationTable.uniform(*self.tokenizers.vocabularies.values(), unknown=unknown)
        table = self.table.mixed(even, self.config.smoothing)
        return LearnableEditDistance(
            table, self.tokenizers, self.config, pairs_hash=_hash_of(positive), criterion=self._criterion
        )

    def _check_symbols(self, pairs: Pairs) -> None:
        for name, now in self.tokenizers.extended(pairs).vocabularies.items():
            new = now.symbols[len(self.tokenizers.vocabularies[name].symbols) :]
            if new:
                expected = "those of the model to start from: its table cannot grow"
                raise ArgumentError(f"{name} symbols of the pairs", got=" ".join(map(visible, new)), expected=expected)

    def _steps(self, pairs: Pairs, given: Pairs, on_batch: OnBatch) -> Iterator[Iteration]:
        if self.converged:
            return iter(())
        return iterate(
            self.table,
            self._batches(pairs, place=lambda pair: given.row_of((pairs.sources[pair], pairs.targets[pair]))),
            pairs=len(pairs),
            first=len(self.history) + 1,
            last=self.config.iterations,
            backend=self.config.backend,
            on_batch=on_batch,
        )

    def _improved(self, step: Iteration) -> "LearnableEditDistance":
        history = (*self.history, step.log_likelihood)
        return self._with(step.table, self.config, history)

    def _with(
        self,
        table: OperationTable,
        config: EditDistanceConfig,
        history: Sequence[float],
        criterion: Criterion | None = None,
    ) -> "LearnableEditDistance":
        return LearnableEditDistance(
            table,
            self.tokenizers,
            config,
            history=history,
            pairs_hash=self.pairs_hash,
            criterion=criterion or self._criterion,
        )

    @cached_property
    def smoothed(self) -> OperationTable:
        """Table in use: the learned one, with a share spread evenly over all operations."""
        even = OperationTable.uniform(*self.tokenizers.vocabularies.values(), unknown=True)
        return self.table.mixed(even, self.config.smoothing)

    def _batches(self, pairs: Pairs, *, place: Callable[[int], str] = at_place) -> PairBatches:
        encoded = EncodedPairs(*self.tokenizers.encode(pairs))
        return encoded.batches(batch_cells=self.config.batch_cells, max_cells=self.config.max_cells, place=place)

    def _check_tables(self, pairs: Pairs, *, rows: Pairs) -> None:
        """Check that no pair has too many cells, before any work. Raises `TooLongError` with its place in `rows`."""
        with quiet_about_symbols():
            self._batches(pairs, place=lambda pair: rows.row_of((pairs.sources[pair], pairs.targets[pair])))

    def own_rules(self) -> RuleTable:
        """See `LatticeModel.own_rules`: the table itself."""
        return table_rules(self.table, self.tokenizers)

    def lattices(self, pairs: Pairs) -> Iterator[tuple[PairBatch, EditLattice]]:
        """See `LatticeModel.lattices`: under the smoothed table."""
        for batch in self._batches(pairs):
            yield batch, self.smoothed.lattice(batch, backend=self.config.backend)


@contextmanager
def quiet_about_symbols() -> Iterator[None]:
    """Suppress `UnknownSymbolWarning`: pairs that were held out of the training have symbols of their own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownSymbolWarning)
        yield


def training_parts(pairs: Pairs, validation: PairsLike | None) -> tuple[Pairs, Pairs | None]:
    """Positive pairs to learn from, and labelled ones to tune the threshold on, if there are any.

    Without validation pairs some are held out, where there are at least two of each label.
    """
    counts, tuning = Counter(pairs.labels or ()), None
    if validation is not None:
        tuning = both_labels(Pairs.of(validation), "labels of the validation pairs")
    elif len(counts) == 2 and min(counts.values()) > 1:
        pairs, tuning = stratified_split(pairs, seed=0)
    positive = pairs.positives()
    if not len(positive):
        raise ArgumentError("pairs", got="no positive pair", expected="at least one to learn from")
    return positive, tuning


def _hash_of(pairs: Pairs) -> str:
    digest = hashlib.sha256()
    for source, target in pairs:
        digest.update(f"{source}\0{target}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _by_probability(operations: Iterable[LearnedOperation]) -> list[LearnedOperation]:
    return sorted(operations, key=lambda operation: (-operation.probability, operation))
