"""The MatcherMixture: several Matchers that decide as one, whose log-odds are a weighted sum of theirs."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch

from nsed.capabilities import Capability, can
from nsed.config import has_key, probable_key
from nsed.errors import ArgumentError, ConfigError
from nsed.evaluate.calibration import Calibration, logistic_regression
from nsed.explain.decision import ROUNDING, Decision
from nsed.explain.explanation import Explanation, ExplanationSummary
from nsed.explain.rule_table import RuleTable
from nsed.lattice import EditLattice
from nsed.models.base import Contents, Model, checked_scores, checked_start
from nsed.models.edit_distance import LearnableEditDistance, quiet_about_symbols
from nsed.models.lattice_model import LATTICE_VERBS, LatticeModel
from nsed.models.mixture import listed_models, of_member
from nsed.models.odds import OddsMatcher
from nsed.models.odds_training import CALIBRATED_FROM
from nsed.models.pair_model import (
    SHARE,
    Criterion,
    DecidingModel,
    labels_of,
    quiet_about_labels,
    tell_of_contradictions,
)
from nsed.models.persistence import model_class
from nsed.models.settings import ConfigLike, check_unchanged, named_settings, resolve_settings
from nsed.progress import OnBatch, OnStep, OnValidation, ignore
from nsed.text import EditScript, Links, PairBatch, Pairs, StringConfig
from nsed.text.columns import AnswerColumn, Column, column_like
from nsed.text.pairs import PairsLike
from nsed.train.saved_model import SavedModel
from nsed.train.split import labelled_split

MOST_MEMBERS, CERTAIN = 100, 30.0
"""Members at most, and the log-odds above which a member is as sure as it can be."""
MEMBERS, WEIGHTS = "members", "weights"
PARTS = (20, 5)
"""Parts of the pairs of which one is held out to tune by: the first number by which that is enough."""
SLOW = 0.01
"""Learning rate of members in odds form, where pairs are few."""


@dataclass(frozen=True)
class MatcherMixtureConfig(StringConfig):
    """Matcher mixture settings: none of its own; its members have theirs beside it."""

    model: Literal["matcher-mixture"] = "matcher-mixture"
    """The kind of model that these settings are for."""


class MatcherMixture(DecidingModel):
    """Mixture of Matchers, a table and a network, say: its log-odds are a weighted sum of its members' log-odds.

    `of` learns the weights from labelled pairs that no member was trained on, by logistic regression; without any, each
    member counts alike. Alignments, rules and the operations of explanations are those of `lead`, the first member
    that has some. `fit` lets the members of a mixture learn more.
    """

    configs: ClassVar[Mapping[str, type[MatcherMixtureConfig]]] = {"matcher-mixture": MatcherMixtureConfig}
    config: MatcherMixtureConfig

    def __init__(
        self,
        members: Iterable[Any],
        weights: Iterable[float] | None = None,
        *,
        criterion: Criterion | None = None,
        record: Mapping[str, Any] | None = None,
    ) -> None:
        self.members = _checked(listed_models(members))
        even = [1 / len(self.members)] * len(self.members)
        self.weights = _checked_weights(even if weights is None else weights, len(self.members))
        self.criterion = criterion or Criterion(0.0, Calibration(1.0, 0.0))
        self.config = MatcherMixtureConfig()
        self.record = dict(record or {})
        self.lead = next((one for one in self.members if isinstance(one, LatticeModel)), None)
        """The first member that has lattices, whose operations are shown; None where none has."""
        self.tokenizers = (self.lead or self.members[0]).tokenizers

    @classmethod
    def of(cls, members: Iterable[Any], validation: PairsLike) -> "MatcherMixture":
        """Mix Matchers by the weights, threshold and calibration that suit labelled pairs; no weight is negative."""
        known = Pairs.of(validation)
        labels, mixture = labels_of(known, "validation"), cls(members)
        if labels.all() or not labels.any():
            expected = "pairs that match and pairs that do not"
            raise ArgumentError("validation", got="labels of one kind", expected=expected)
        evidence = mixture.member_log_odds(known)
        weights = _weights(evidence, labels)
        return cls(mixture.members, weights, criterion=Criterion.tuned(weights @ evidence, labels))

    @classmethod
    def fit(
        cls,
        pairs: PairsLike,
        labels: Iterable[object] | None = None,
        *,
        start: "MatcherMixture",
        validation: PairsLike | None = None,
        config: ConfigLike | None = None,
        folder: str | Path | None = None,
        on_step: OnStep = ignore,
        on_validation: OnValidation = ignore,
        **settings: Any,
    ) -> "MatcherMixture":
        """Fine-tune a mixture on labelled pairs: each member learns on from them, and what they say together is tuned.

        With at least 100 validation pairs of each label, weights, threshold and calibration are learned anew, as by
        `of`. Without validation pairs, a twentieth or else a fifth of the pairs is held out, if that is as many. From
        fewer, members in odds form learn slowly, and weights, threshold and calibration stay: 200 pairs of a few
        concepts say less of these than the mixture knows.

        Keywords are settings of the members that have them, over their own: `train__steps=50`. One that no member has,
        and a symbol that one cannot learn, is an error before any of them learns. The steps of all of them are counted,
        see `steps`. With a folder, the mixture is saved there in the end.
        """
        checked_start(start, cls.configs)
        check_unchanged(start.config, resolve_settings(cls.configs, config, {}, suggested=start.fine_tuning_settings))
        known = Pairs.of(pairs, labels)
        training, tuned = _tuning_split(known, None if validation is None else Pairs.of(validation))
        tell_of_contradictions(known)
        enough, members = tuned is not None and _have_enough(tuned), list[Any]()
        starts = [_begun(one, training, tuned) for one in start.members]
        for one, begun, given in zip(start.members, starts, _settings_of(start.members, settings), strict=True):
            done = sum(steps_of(before) for before in start.members[: len(members)])
            told = {"on_step": _after(done, on_step), "on_validation": on_validation}
            own = given if enough else {**_slowly(one, given), **given}
            members.append(_learned_on(begun, training, tuned, told, own))
            on_step(done + steps_of(one))
        mixture = cls.of(members, tuned) if enough and tuned is not None else start._with_members(members)
        if folder is not None:
            mixture.save(folder)
        return mixture

    @property
    def steps(self) -> int:
        """Steps of a fine-tuning, at most: those of all members."""
        return sum(steps_of(one) for one in self.members)

    @property
    def fine_tuning_settings(self) -> MatcherMixtureConfig:
        """See `Model.fine_tuning_settings`: its own; the members have theirs. Raises where one cannot learn more."""
        for one in self.members:
            assert one.fine_tuning_settings
        return self.config

    @property
    def capabilities(self) -> frozenset[Capability]:  # type: ignore[override]  # of some members more
        """See `Model.capabilities`: without a member that has operations, there is nothing to align or explain by.

        It learns more where all its members can.
        """
        learns = {Capability.FINE_TUNE} if all(can(one, Capability.FINE_TUNE) for one in self.members) else set()
        decides = frozenset({Capability.SCORE, Capability.MATCH, *learns})
        return decides if self.lead is None else decides | LATTICE_VERBS

    @property
    def device(self) -> torch.device:
        """Device of the members."""
        return next((one.device for one in self.members if hasattr(one, "device")), torch.device("cpu"))

    def to(self, device: str | torch.device) -> "MatcherMixture":
        """Move the members to a device, and return the model itself."""
        for one in self.members:
            if hasattr(one, "to"):
                one.to(device)
        return self

    def score(self, pairs: PairsLike, targets: Column | None = None, *, on_batch: OnBatch = ignore) -> AnswerColumn:
        """Weighted sum of the members' log-odds, before calibration, in the order given."""
        known = Pairs.given(pairs, targets)
        scores = self.weights @ self.member_log_odds(known, on_batch=on_batch)
        return column_like(pairs, checked_scores(scores), "score")

    def member_log_odds(self, pairs: Pairs, *, on_batch: OnBatch = ignore) -> np.ndarray:
        """Calibrated log-odds of each pair (columns) by each member (rows)."""
        found = []
        for number, one in enumerate(self.members):
            scores = np.asarray(one.score(pairs, on_batch=on_batch if number == 0 else ignore), dtype=float)
            found.append(np.clip(one.calibration.logits(scores), -CERTAIN, CERTAIN))
        return np.stack(found)

    def _with_members(self, members: list[Any]) -> "MatcherMixture":
        """Mixture of what members have become, each with the threshold and the calibration that it had."""
        for before, now in zip(self.members, members, strict=True):
            now.criterion = before.criterion
        return MatcherMixture(members, self.weights, criterion=self.criterion)

    @property
    def _lead(self) -> LatticeModel:
        """See `lead`. Raises `NotExplainableError` where there is none."""
        if self.lead is None:
            self._refuse("member with edit operations")
        return self.lead

    def lattices(self, pairs: Pairs) -> Iterator[tuple[PairBatch, EditLattice]]:
        """See `LatticeModel.lattices`: those of the first member that has some."""
        return self._lead.lattices(pairs)

    def own_rules(self) -> RuleTable:
        """See `LatticeModel.own_rules`: those of the first member that has lattices."""
        return self._lead.own_rules()

    def align_all(
        self, pairs: PairsLike, targets: Column | None = None, *, on_batch: OnBatch = ignore
    ) -> list[EditScript]:
        """See `Model.align_all`: those of the first member that has some."""
        return self._lead.align_all(pairs, targets, on_batch=on_batch)

    def links(self, pairs: PairsLike, targets: Column | None = None, *, on_batch: OnBatch = ignore) -> list[Links]:
        """See `Model.links`."""
        return self._lead.links(pairs, targets, on_batch=on_batch)

    def explain_all(self, pairs: PairsLike, *, scripts: int = 3) -> Iterator[Explanation]:
        """Explanations by the first member with operations; what others in odds form say of these is added to each.

        What other members say beyond these operations is a part of its own.
        """
        known, lead = Pairs.of(pairs), self._lead
        scores = np.asarray(self.score(known)).tolist()
        others = [one for one in self.members if isinstance(one, OddsMatcher) and one is not lead]
        others = others if isinstance(lead, OddsMatcher) else []
        explained = (
            replace(one, decision=one.decision or _decision_of(lead, own, one.log_prob))
            for one, own in zip(lead.explain_all(known, scripts=scripts), self._lead_scores(known), strict=True)
        )
        told = zip(*(one.explain_all(known, scripts=1) for one in others), strict=True) if others else repeat(())
        for pair, explanation, score, more in zip(known, explained, scores, told, strict=False):
            parts = [(self._share_of(one), one, found) for one, found in zip(others, more, strict=True)]
            yield replace(explanation, decision=self._mixed(pair, explanation, parts, score))

    def summarize_all(self, pairs: PairsLike, *, on_batch: OnBatch = ignore) -> list[ExplanationSummary]:
        """See `LatticeModel.summarize_all`: by the first member with operations, with the decisions of the mixture."""
        known, lead = Pairs.of(pairs), self._lead
        made, scores = lead.summarize_all(known, on_batch=on_batch), np.asarray(self.score(known)).tolist()
        return [
            one._replace(decision=self._decision(one.decision or _decision_of(lead, own, one.log_prob), score))
            for one, own, score in zip(made, self._lead_scores(known), scores, strict=True)
        ]

    def _lead_scores(self, pairs: Pairs) -> list[float]:
        """Scores of the leading member, by which it decides: they need not be the log-probabilities of its lattices."""
        with quiet_about_symbols():
            return [float(score) for score in np.asarray(self._lead.score(pairs))]

    def _share_of(self, member: Any) -> float:
        """Share of a member's log-odds in those of the mixture."""
        return float(self.calibration.slope * self.weights[self.members.index(member)])

    def _mixed(
        self, pair: tuple[str, str], lead: Explanation, others: list[tuple[float, Any, Explanation]], score: float
    ) -> Decision:
        """Decision of the mixture in terms of the leading member's evidence, and of what others say of the same."""
        assert lead.decision is not None
        whole, share = self._decision(lead.decision, score), self._share_of(self._lead)
        added = added_evidence(pair, (self._lead, lead), others)
        parts = [(share, lead), *((share_of, one) for share_of, _, one in others)]
        named = _named_parts((share_of, one.decision) for share_of, one in parts)
        constants = self.calibration.intercept + sum(share_of * one.constant for share_of, one in parts)
        named["members"] = whole.offset - constants - sum(added) - sum(named.values())
        return whole._replace(beside=tuple(named.items()), added=added)

    def _decision(self, own: Decision, score: float) -> Decision:
        """Decision of the mixture in terms of the leading member's evidence; all else is its offset."""
        threshold, calibration, share = self.threshold, self.calibration, self._share_of(self._lead)
        total, needed = calibration.logits(np.array([score, threshold])).tolist()
        slope, offset = share * own.slope, total - share * (own.log_odds - own.offset)
        at = (needed - offset) / slope if slope else own.threshold
        probability = float(calibration.probability(np.array([score]))[0])
        return Decision(score >= threshold, probability, total, at, slope, offset, needed)

    def contents(self, *, half: bool = False) -> Contents:
        """See `Model.contents`: those of all members, under their numbers, with the weights."""
        parts = [one.contents(half=half) for one in self.members]
        told = [
            {"kind": one.kind, "config": asdict(one.config), "record": dict(part.record)}
            for one, part in zip(self.members, parts, strict=True)
        ]
        decided = {"threshold": self.threshold, "calibration": self.calibration.record, **self.criterion.share_record}
        decided[WEIGHTS] = self.weights.tolist()
        return Contents(
            {f"{k}.{name}": value for k, part in enumerate(parts) for name, value in part.vocabularies.items()},
            {f"{k}.{name}": value for k, part in enumerate(parts) for name, value in part.tensors.items()},
            {**self.record, **decided, MEMBERS: told},
        )

    @classmethod
    def from_saved(cls, saved: SavedModel) -> "MatcherMixture":
        """See `Model.from_saved`."""
        cls.saved_config(saved)
        record = dict(saved.record)
        members = [_member(saved, number, one) for number, one in enumerate(record.pop(MEMBERS))]
        criterion = Criterion.of_record(record.pop("threshold"), *record.pop("calibration")).with_share(record)
        record.pop(SHARE, None)
        return cls(members, record.pop(WEIGHTS), criterion=criterion, record=record)


def _member(saved: SavedModel, number: int, told: Mapping[str, Any]) -> Model:
    vocabularies, tensors = of_member(saved.vocabularies, number), of_member(saved.tensors, number)
    made = SavedModel(told["kind"], told["config"], vocabularies, tensors, told["record"])
    member: Model = model_class(told["kind"]).from_saved(made)
    return member


def steps_of(member: Any) -> int:
    """Steps of a member's fine-tuning, at most."""
    settings = member.fine_tuning_settings
    return int(settings.iterations if isinstance(member, LearnableEditDistance) else settings.train.steps)


def _after(done: int, on_step: OnStep) -> OnStep:
    """Step callback that counts on from steps that are done."""
    return lambda step: on_step(done + step)


def _begun(member: Any, training: Pairs, validation: Pairs | None) -> Any:
    """Member that learns on. Raises `ArgumentError` where it cannot, from symbols that a table has no place for."""
    return member.restarted(training, validation=validation) if isinstance(member, LearnableEditDistance) else member


def _learned_on(
    begun: Any, training: Pairs, validation: Pairs | None, told: Mapping[str, Any], settings: Mapping[str, Any]
) -> Any:
    """Member that has learned more."""
    told = {} if isinstance(begun, LearnableEditDistance) else told
    with quiet_about_labels():
        return type(begun).fit(training, start=begun, validation=validation, **told, **settings)


def _settings_of(members: list[Any], settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Settings of each member, of those given the ones that it has.

    Raises `ConfigError` for one that no member has, and for a wrong value; it names the member.
    """
    own = [
        {name: value for name, value in settings.items() if has_key(type(one.config), name.replace("__", "."))}
        for one in members
    ]
    for name in settings:
        if not any(name in some for some in own):
            own[_likest(members, name)][name] = settings[name]
    for number, (one, some) in enumerate(zip(members, own, strict=True), start=1):
        try:
            resolved = resolve_settings(type(one).configs, None, some, suggested=one.fine_tuning_settings)
            if not isinstance(one, LearnableEditDistance):
                check_unchanged(one.config, resolved)
        except ConfigError as error:
            raise ConfigError(f"settings of member {number} of {len(members)}, {one.kind}", error.faults) from None
    return own


def _likest(members: list[Any], name: str) -> int:
    """Place of the member with settings like one that none has, and whose error says what was meant."""
    outer, known = name.partition("__")[0], [type(one.config) for one in members]
    alike = [has_key(config, outer) or bool(probable_key(outer, config)) for config in known]
    return alike.index(max(alike))


def _slowly(member: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Slow learning rate of a member in odds form, unless one is given: from few pairs it learns less than it knows."""
    is_given = "train.learning_rate" in (named_settings(None, given) or ())
    return {"train__learning_rate": SLOW} if isinstance(member, OddsMatcher) and not is_given else {}


def _tuning_split(pairs: Pairs, validation: Pairs | None) -> tuple[Pairs, Pairs | None]:
    """Pairs to learn from, and those to tune by: given ones, or some held out, if these are enough; None if not."""
    if validation is not None:
        return labelled_split(pairs, validation, seed=0)
    for parts in PARTS:
        training, apart = labelled_split(pairs, None, seed=0, parts=parts)
        if _have_enough(apart):
            return training, apart
    return pairs, None


def _have_enough(pairs: Pairs) -> bool:
    """Whether there are enough pairs of each label to choose weights by."""
    matches = int(labels_of(pairs).sum())
    return min(matches, len(pairs) - matches) >= CALIBRATED_FROM


def _checked(members: list[Any]) -> list[Any]:
    if not 1 <= len(members) <= MOST_MEMBERS:
        raise ArgumentError("members", got=len(members), expected=f"1 to {MOST_MEMBERS} models that match")
    for one in members:
        if not can(one, Capability.MATCH) or isinstance(one, MatcherMixture):
            got = f"a model of kind {one.kind!r}"
            raise ArgumentError("members", got=got, expected="models that match: odds, matcher, edit-distance, ...")
    return members


def _checked_weights(weights: object, members: int) -> np.ndarray:
    """Weights as an array. Raises `ArgumentError` where they are not as many as the members, or no weights."""
    try:
        found = np.array(list(weights) if isinstance(weights, Iterable) else weights, dtype=float)
    except (TypeError, ValueError):  # of what is no number
        found = np.zeros(0)
    if found.shape != (members,) or not np.isfinite(found).all() or (found < 0).any():
        raise ArgumentError("weights", got=weights, expected=f"{members} numbers of at least 0, one for each member")
    return found


def _decision_of(member: Any, score: float, log_prob: float) -> Decision:
    """Decision of an edit distance, whose explanations have none, in terms of a pair's log-probability.

    What its score has beside this, how improbable both strings are by chance, is a part of the offset.
    """
    criterion: Criterion = member.criterion
    decision, more = criterion.decision(score), score - log_prob
    beside = (("chance", decision.slope * more),) if abs(decision.slope * more) > ROUNDING else ()
    offset = decision.offset + decision.slope * more
    return decision._replace(threshold=decision.threshold - more, offset=offset, beside=beside)


def _weights(evidence: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Weights of members, which sum to one, by logistic regression again and again without those that are negative."""
    weights, kept = np.zeros(len(evidence)), np.arange(len(evidence))
    while len(kept):
        features = np.stack([*evidence[kept], np.ones(len(labels))], axis=1)
        found = logistic_regression(features, labels.astype(float))[:-1]
        if (found >= 0).all():
            weights[kept] = found
            break
        kept = kept[found >= 0]
    even = np.full(len(evidence), 1 / len(evidence))
    return weights / weights.sum() if weights.any() else even


def _named_parts(decisions: Iterable[tuple[float, Decision | None]]) -> dict[str, float]:
    """Parts of the offsets of decisions that have a name, in sum, each by its share."""
    named: dict[str, float] = {}
    for share, decision in decisions:
        for name, value in decision.beside if decision else ():
            named[name] = named.get(name, 0.0) + share * value
    return named


Place = tuple[int | None, int | None]
"""Tokens of source and target that an operation reads and writes, from 0; a character is its own token."""


def added_evidence(
    pair: tuple[str, str], lead: tuple[Any, Explanation], others: Iterable[tuple[float, Any, Explanation]]
) -> tuple[float, ...]:
    """What other members' best scripts say of each operation of the leading one's: of those on the same tokens.

    Several operations on the same tokens, letters of one, share it. What has none there is not in it, and nothing is of
    members that cut strings into other tokens.
    """
    member, explanation = lead
    cut = tokens_of(member, pair)
    places = places_of(explanation, *cut)
    alike, added = Counter(places), np.zeros(len(places))
    for share, other, found in others:
        other_cut = tokens_of(other, pair)
        if any(one[-1:] != of_lead[-1:] for one, of_lead in zip(other_cut, cut, strict=True)):
            continue
        said = dict.fromkeys(places, 0.0)
        for place, part in zip(places_of(found, *other_cut), found.contributions, strict=False):
            if place in said:
                said[place] += part.value
        added += [share * said[place] / alike[place] for place in places]
    return tuple(added.tolist())


def tokens_of(member: Any, pair: tuple[str, str]) -> tuple[list[int], list[int]]:
    """Number of the token that each symbol is in, of source and target."""
    source, target = (one.splitter for one in (member.tokenizers.source, member.tokenizers.target))
    return source.tokens(pair[0]), target.tokens(pair[1])


def places_of(explanation: Explanation, source: list[int], target: list[int]) -> list[Place]:
    """Tokens that each operation of the best script is on."""
    return [
        (source[edit.i] if edit.kind != "insert" else None, target[edit.j] if edit.kind != "delete" else None)
        for edit in explanation.script
    ]
