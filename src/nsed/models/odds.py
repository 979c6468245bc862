"""Matcher in `odds` form: log-odds of edit operations, begun by EM and trained on by cross-entropy."""

import copy
import math
from collections.abc import Collection, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import fields, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch

from nsed.capabilities import Capability
from nsed.errors import ArgumentError, NotExplainableError
from nsed.explain.decision import ROUNDING, Decision
from nsed.explain.explanation import Explanation, ExplanationSummary
from nsed.explain.rule_table import RuleTable
from nsed.kernels.dispatch import LATTICE, TABLE_SCORES, Choice
from nsed.lattice import EditLattice
from nsed.models.base import Contents, checked_scores
from nsed.models.edit_distance import LearnableEditDistance, quiet_about_symbols
from nsed.models.lattice_model import LATTICE_VERBS, LatticeModel
from nsed.models.odds_training import (
    COHERENCE_SIZE,
    OddsConfig,
    OddsTask,
    decided,
    odds_by_em,
    read_features,
    tuned_criterion,
)
from nsed.models.pair_model import UNCALIBRATED, Criterion, PairModel, language_numbers
from nsed.models.settings import check_unchanged, resolve_settings
from nsed.networks.kinship import Shares, SymbolFeatures, kinship_of, letter_features
from nsed.networks.odds import Odds, OddsNetwork, odds_of
from nsed.networks.odds_scores import PairOdds, bias_parts, odds_lattices, pair_odds
from nsed.networks.operation_table import OperationTable
from nsed.progress import OnBatch, ignore
from nsed.text import AlphabetConfig, Edit, PairBatch, Pairs, Tokenizers, Vocabulary
from nsed.text.batch import DistinctPairs, EncodedPairs, placed_in
from nsed.text.columns import AnswerColumn, Column, column_like
from nsed.text.edit_script import EditKind
from nsed.text.pairs import PairsLike
from nsed.text.texts import Texts
from nsed.text.tokenizer import SPECIALS
from nsed.train.saved_model import SavedModel
from nsed.train.task import PairTask
from nsed.train.trainer import Trainer

MOST_EXTENDED = 2**24
"""Substitutions at most for which a table is made that new symbols are in too."""
FEATURES = "symbol_features"
"""Name of the setting, and on disk of the symbols and of the tensor of a table of features."""
COHERENT_STEPS, COHERENT_VALIDATIONS = 500, 10
"""Updates at most with coherence, which is learned slowly, and validations in these."""


class OddsOperation(NamedTuple):
    """Operation with its log-odds: evidence for a match above 0, against it below."""

    kind: EditKind
    source: str
    target: str
    log_odds: float

    @property
    def numbers(self) -> dict[str, float]:
        """What is known of the operation, by name."""
        return {"log-odds": self.log_odds}

    def __str__(self) -> str:
        return str(Edit(self.kind, self.source, self.target, 0, 0))


class OddsMatcher(PairModel, LatticeModel):
    """Matcher in `odds` form: an operation's weight is the log-odds of "belongs together" against "by chance".

    It begins as the learnable edit distance with `relative: true`, from positive pairs, and is trained on by
    binary cross-entropy. The score of a pair is its log-odds, `scale * log_prob + bias`: above 0 where the evidence of
    its operations is for a match. Factors of place and length can be left out, vectors of languages added; with
    `shared_alphabet` the table is symmetric, and so are the scores.

    >>> words = ["gray", "gala", "lay", "ray", "yard", "drag"] * 4
    >>> pairs = [(w, w.replace("a", "e")) for w in words] + [(w, w[::-1] + "o") for w in words]
    >>> model = OddsMatcher.fit(pairs, [1] * 24 + [0] * 24, train__steps=20)
    >>> print(model.align("lag", "leg"), model.match([("glad", "gled"), ("dray", "gel")]))
    l a→e g [ True False]
    """

    configs: ClassVar[Mapping[str, type[OddsConfig]]] = {"odds": OddsConfig}
    capabilities = LATTICE_VERBS | {Capability.MATCH, Capability.OPERATIONS, Capability.FINE_TUNE}
    validation_metric = OddsTask.metric
    holds_out_always = usable_early = True
    started: OddsNetwork | None = None
    """Network that a training begins with instead of EM, where a trained model learns more."""
    symbol_features: SymbolFeatures | None = None
    """Features of symbols, if the settings name any: by these a symbol never seen is known."""
    network: OddsNetwork
    config: OddsConfig

    @classmethod
    def of_edit_distance(cls, edit_distance: LearnableEditDistance, **settings: Any) -> "OddsMatcher":
        """Untrained odds of a learnable edit distance: its `relative: true` scores."""
        own = _alphabet_settings(edit_distance.config) | {"shared_alphabet": False, "languages": False}
        config, tokenizers = resolve_settings(cls.configs, own, settings), edit_distance.tokenizers
        assert isinstance(config, OddsConfig)
        even = OperationTable.uniform(*tokenizers.vocabularies.values(), unknown=True)
        network = cls._network(config, tokenizers, None)
        network.begin(odds_of(edit_distance.table.mixed(even, edit_distance.config.smoothing)), kinship_of(tokenizers))
        model = cls(network, tokenizers, config, criterion=Criterion(0.0, UNCALIBRATED))
        return model._knowing(read_features(config, tokenizers))

    @classmethod
    def untrained(cls, pairs: PairsLike, **settings: Any) -> "OddsMatcher":
        """Untrained odds of the alphabets of some pairs, whose labels are not looked at: prior log-odds of operations.

        Symbols are expected to match themselves and their kin; scores rank pairs, and have no threshold yet.
        """
        known = Pairs.of(pairs)
        blank = replace(known, labels=[False] * len(known))
        config = resolve_settings(cls.configs, None, settings)
        assert isinstance(config, OddsConfig)
        return cls._untrained(blank, decided(config, blank))

    def score(self, pairs: PairsLike, targets: Column | None = None, *, on_batch: OnBatch = ignore) -> AnswerColumn:
        """Log-odds of each pair, before calibration, in the order given: any number, above 0 for a match."""
        found: list[np.ndarray] = []
        for read, odds in self._reads(Pairs.given(pairs, targets)):
            first = sum(map(len, found))
            place = placed_in(range(first, first + len(read)))
            found.append(pair_odds(self.network, read, self.device, odds, on_batch=on_batch, place=place).scores)
        return column_like(pairs, checked_scores(np.concatenate(found)), "score")

    def scoring_kernel(self) -> Choice:
        """See `LatticeModel.scoring_kernel`: that of tables, unless some term does not fit into one."""
        reason = self.network.no_table()
        if not reason:
            return TABLE_SCORES.explain(self.device)
        chosen = LATTICE.explain(self.device)
        return chosen._replace(reason=f"{chosen.reason}; table_scores: {reason}")

    def operations(self) -> list[OddsOperation]:
        """Log-odds of all operations, the strongest evidence for a match first; without factors of place."""
        odds, sides = self.network.odds(), (self.tokenizers.source.vocabulary, self.tokenizers.target.vocabulary)
        sources, targets = (list(enumerate(side.symbols, len(SPECIALS))) for side in sides)
        delete, insert, substitute = odds.delete.tolist(), odds.insert.tolist(), odds.substitute.tolist()
        found = [OddsOperation("delete", symbol, "", delete[s]) for s, symbol in sources]
        found += [OddsOperation("insert", "", symbol, insert[t]) for t, symbol in targets]
        found += [OddsOperation("substitute", a, b, substitute[s][t]) for s, a in sources for t, b in targets]
        return sorted(found, key=lambda operation: (-operation.log_odds, operation))

    def own_rules(self) -> RuleTable:
        """See `LatticeModel.own_rules`: log-odds are no probabilities; see `operations`."""
        raise NotExplainableError("log-odds have no probabilities of their own: give pairs to count operations in")

    def lattices(self, pairs: Pairs) -> Iterator[tuple[PairBatch, EditLattice]]:
        """See `LatticeModel.lattices`: with `table_scripts` those of the table, without coherence."""
        in_context, first = self.config.table_scripts is not True, 0
        for read, odds in self._reads(pairs):
            place, parts = placed_in(range(first, first + len(read))), (read.expanded(), self.device, odds)
            for batch, lattice, _ in odds_lattices(self.network, *parts, in_context=in_context, place=place):
                yield batch._replace(rows=batch.rows + first), lattice
            first += len(read)

    def summarize_all(self, pairs: PairsLike, *, on_batch: OnBatch = ignore) -> list[ExplanationSummary]:
        """See `LatticeModel.summarize_all`."""
        pairs = Pairs.of(pairs)
        made = super().summarize_all(pairs, on_batch=on_batch)
        return [one._replace(decision=of) for one, of in zip(made, self._decisions(pairs), strict=True)]

    def _explained(self, pair: Pairs, scripts: int) -> Explanation:
        return replace(super()._explained(pair, scripts), decision=self._decisions(pair)[0])

    def _log_probs(self, pairs: Pairs) -> np.ndarray:
        """Log-probabilities of the lattices: what the operations explain, before scale and bias."""
        return np.concatenate([self._explained_odds(*part).log_probs for part in self._reads(pairs)])

    def _explained_odds(self, read: DistinctPairs, odds: Odds | None) -> PairOdds:
        """Log-odds of pairs in the parts of `lattices`: where these are the table's, coherence is in the bias."""
        found = pair_odds(self.network, read, self.device, odds)
        if self.network.coherence is None or self.config.table_scripts is not True:
            return found
        table = pair_odds(self.network, read, self.device, odds, in_context=False)
        return table._replace(biases=found.scores - table.scale * table.log_probs)

    def _named_biases(self, read: DistinctPairs, odds: Odds | None, biases: np.ndarray) -> list[dict[str, float]]:
        """Parts of each pair's bias that have a name: lengths, languages, identity, and what coherence adds."""
        with torch.no_grad():
            odds = self.network.odds() if odds is None else odds
        parts = bias_parts(self.network, read, self.device, odds)
        parts["coherence"] = biases - sum(parts.values(), start=float(odds.bias))
        rows = zip(*(part.tolist() for part in parts.values()), strict=True)
        return [{name: one for name, one in zip(parts, row, strict=True) if abs(one) > ROUNDING} for row in rows]

    def _decisions(self, pairs: Pairs) -> list[Decision]:
        """Decisions in terms of each pair's log-probability: what is no operation's, the bias, is its offset."""
        return [decision for part in self._reads(pairs) for decision in self._decisions_of(*part)]

    def _decisions_of(self, read: DistinctPairs, odds: Odds | None) -> Iterator[Decision]:
        """Decisions; where the calibration is bent, a pair's slope is that of the line from a score of 0 to its own."""
        threshold, calibration, evidence = self.threshold, self.calibration, self._explained_odds(read, odds)
        steepness = calibration.slope * calibration.steepness(evidence.scores)
        needed = float(calibration.logits(np.array(threshold)))
        named = self._named_biases(read, odds, evidence.biases)
        columns = evidence.log_probs, evidence.biases, evidence.scores, steepness, named
        for log_prob, bias, score, slope, parts in zip(*columns, strict=True):
            decision = Decision.of(
                float(log_prob),
                threshold=(threshold - float(bias)) / evidence.scale,
                slope=float(slope) * evidence.scale,
                offset=float(slope * bias) + calibration.intercept,
            )
            beside = tuple((name, float(slope) * value) for name, value in parts.items())
            yield decision._replace(match=bool(score >= threshold), needed=needed, beside=beside)

    def _reads(self, pairs: Pairs, *, told: bool = False) -> Iterator[tuple[DistinctPairs, Odds | None]]:
        """Encoded pairs, in parts, and the log-odds of operations if some symbols are new: by their kinship.

        Parts are halves where a table of all new symbols would be too large: no pair depends on the others. One pair
        that has too many alone has what is known of `<unk>`. Symbols that are new are warned of once.
        """
        sides = Texts.of(pairs.sources).compacted(), Texts.of(pairs.targets).compacted()
        with quiet_about_symbols() if told else nullcontext():
            languages = language_numbers(pairs, self.languages)
            read = self.tokenizers.encode_distinct(*sides, languages=languages)
        if not (read.source.has_unknown or read.target.has_unknown):
            yield read, None
            return
        tokenizers = self.tokenizers.extended_by(*sides, shared=bool(self.config.shared_alphabet))
        if math.prod(len(vocabulary) for vocabulary in tokenizers.vocabularies.values()) <= MOST_EXTENDED:
            yield tokenizers.encode_distinct(*sides, languages=languages), self.odds_for(tokenizers)
        elif len(pairs) == 1:
            yield read, None
        else:
            for rows in np.array_split(np.arange(len(pairs)), 2):
                yield from self._reads(pairs.chosen(rows.tolist()), told=True)

    def odds_for(self, tokenizers: Tokenizers) -> Odds:
        """Log-odds of operations for more symbols, new ones by their kinship and, if there are any, their features."""
        with torch.no_grad():
            return self.network.extended_odds(kinship_of(tokenizers).to(self.device), self._shares(tokenizers))

    def _shares(self, tokenizers: Tokenizers) -> Shares | None:
        """Shares of known symbols in those of other tokenizers, by features."""
        if self.symbol_features is None:
            return None
        known, more = self.tokenizers.vocabularies, tokenizers.vocabularies
        source, target = (self.symbol_features.shares(known[side], more[side]).to(self.device) for side in known)
        return Shares(source, target)

    @classmethod
    def _split(cls, pairs: Pairs, validation: PairsLike | None, *, seed: int) -> tuple[Pairs, Pairs]:
        if all(pairs.labels or ()):  # also where there are none
            got = "only labels 1" if pairs.labels else "no labels"
            expected = "pairs that match and pairs that do not, with labels 1 and 0"
            advice = "From pairs that all match, an edit distance learns: --model edit-distance, LearnableEditDistance."
            raise ArgumentError("labels", got=got, expected=expected, advice=advice)
        return super()._split(pairs, validation, seed=seed)

    @classmethod
    def plan(cls, config: Any, named: Collection[str] | None, pairs: Pairs, validation: Pairs | None) -> Any:
        """See `NetworkModel.plan`: what the pairs decide; with coherence, more steps, unless these are named."""
        config = super().plan(decided(config, pairs), named, pairs, validation)
        if not config.coherence or named is None:
            return config
        steps = {"steps": COHERENT_STEPS, "validate_every": COHERENT_STEPS // COHERENT_VALIDATIONS}
        own = {name: value for name, value in steps.items() if f"train.{name}" not in named}
        return replace(config, train=replace(config.train, **own))

    @classmethod
    def _untrained(cls, pairs: Pairs, config: Any) -> "OddsMatcher":
        tokenizers, languages = cls._alphabets(pairs, config)
        with quiet_about_symbols():  # rare ones, which the training itself tells of
            encoded = cls(cls._network(config, tokenizers, languages), tokenizers, config, languages=languages).encoded(
                pairs
            )
        features = read_features(config, tokenizers)
        network = cls._begun(encoded, tokenizers, config, languages, features)
        model = cls(network, tokenizers, config, languages=languages, criterion=Criterion(0.0, UNCALIBRATED))
        return model._knowing(features)

    def _knowing(self, features: SymbolFeatures | None) -> "OddsMatcher":
        """The same model, which knows these features of symbols."""
        self.symbol_features = features
        return self

    @classmethod
    def _begun(
        cls,
        pairs: EncodedPairs,
        tokenizers: Tokenizers,
        config: OddsConfig,
        languages: Vocabulary | None,
        features: SymbolFeatures | None,
    ) -> OddsNetwork:
        """Network that begins with the log-odds of the pairs, by EM."""
        torch.manual_seed(config.train.seed)
        network = cls._network(config, tokenizers, languages)
        kinship = kinship_of(tokenizers)
        network.begin(odds_by_em(pairs, tokenizers, kinship, config, features), kinship)
        return network

    def _begun_again(self, pairs: EncodedPairs) -> OddsNetwork:
        """Network that begins with what the model knew before these pairs."""
        assert self.started is not None
        return copy.deepcopy(self.started).requires_grad_(True)

    @staticmethod
    def _network(config: OddsConfig, tokenizers: Tokenizers, languages: Vocabulary | None) -> OddsNetwork:
        return OddsNetwork(
            sources=len(tokenizers.source.vocabulary),
            targets=len(tokenizers.target.vocabulary),
            symmetric=config.shared_alphabet is True,
            place=config.place,
            length=config.length,
            languages=0 if languages is None else len(languages),
            features=letter_features(tokenizers) if config.features is True else None,
            identity=config.identity is True,
            coherence=COHERENCE_SIZE if config.coherence is True else 0,
        )

    @property
    def fine_tuning_settings(self) -> OddsConfig:
        """See `Model.fine_tuning_settings`: its own, as the log-odds stay near those that are known (`spread`)."""
        return self.config

    def _extended(self, pairs: Pairs, config: Any) -> "OddsMatcher":
        """See `NetworkModel._extended`: what is known is what EM is in a training from the beginning."""
        check_unchanged(self.config, config)
        tokenizers, languages = self._more_alphabets(pairs, config)
        network = self._network(config, tokenizers, languages)
        with torch.no_grad():
            network.begin_with(self.network, kinship_of(tokenizers), self._shares(tokenizers))
        model = self._with(network, tokenizers, config, languages)._knowing(self.symbol_features)
        model.started = copy.deepcopy(network)
        return model

    def _task(self, training: EncodedPairs, validation: EncodedPairs, device: torch.device) -> OddsTask:
        begun = partial(
            self._begun,
            tokenizers=self.tokenizers,
            config=self.config,
            languages=self.languages,
            features=self.symbol_features,
        )
        if self.started is not None:
            return OddsTask(self.network, self.config, training, validation, device, begun=self._begun_again)
        return OddsTask(self.network, self.config, training, validation, device, begun=begun)

    @staticmethod
    def _tuned(task: Any, deadline: float) -> Criterion:
        return tuned_criterion(task, deadline)

    def _finished(self, trainer: Trainer, task: PairTask | None) -> "OddsMatcher":
        return super()._finished(trainer, task)._knowing(self.symbol_features)

    def contents(self, *, half: bool = False) -> Contents:
        """See `Model.contents`: with the features of symbols, all of them, for symbols that are still to come."""
        made, features = super().contents(half=half), self.symbol_features
        if features is None:
            return made
        values = features.values.half()
        if not half and not torch.equal(values.float(), features.values):  # most features are few numbers
            values = features.values
        tables = {**made.vocabularies, FEATURES: features.vocabulary}, {**made.tensors, FEATURES: values}
        return made._replace(vocabularies=tables[0], tensors=tables[1])

    @classmethod
    def from_saved(cls, saved: SavedModel) -> "OddsMatcher":
        """See `Model.from_saved`: features of symbols come from the folder, not from the table that was given."""
        if not saved.config.get(FEATURES):
            return super().from_saved(saved)
        tensors, symbols = dict(saved.tensors), saved.vocabularies[FEATURES]
        values = tensors.pop(FEATURES).float()
        if values.ndim != 2 or len(values) != len(symbols.symbols):
            raise ArgumentError(FEATURES, got=f"a tensor of shape {tuple(values.shape)}", expected="a row per symbol")
        return super().from_saved(replace(saved, tensors=tensors))._knowing(SymbolFeatures(symbols, values))


def _alphabet_settings(config: AlphabetConfig) -> dict[str, Any]:
    return {field.name: getattr(config, field.name) for field in fields(AlphabetConfig)}
