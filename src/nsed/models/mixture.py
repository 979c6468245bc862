"""The Mixture: several Transducers that answer as one, whose probability is the mean of theirs."""

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch

from nsed.capabilities import Capability
from nsed.config import bounded, is_whole, shown
from nsed.errors import ArgumentError, CutOutputWarning
from nsed.evaluate.report.answers import answer
from nsed.explain.rule_table import RuleTable
from nsed.models.base import Contents, Model, checked_scores
from nsed.models.decoding import SearchModel
from nsed.models.lattice_model import LATTICE_VERBS, LatticeTransducer, ScoredLattices
from nsed.models.settings import ConfigLike, named_settings, resolve_settings
from nsed.models.transducer import Transducer, TransducerConfig
from nsed.models.transduction import WIDEST_BEAM, Transduction, checked_sources
from nsed.networks.mixture import MixtureDecoder, MixtureMember, mixed_lattice
from nsed.progress import OnBatch, OnStep, OnValidation, ignore
from nsed.text import EncodedStrings, Pairs, StringConfig, Tokenizer, Tokenizers, Vocabulary
from nsed.text.batch import EncodedPairs
from nsed.text.columns import AnswerColumn, Column, column_like
from nsed.text.pairs import PairsLike
from nsed.text.tokenizer import SPECIALS
from nsed.train.checkpoint import hash_of, identity_of
from nsed.train.run_folder import RunFolder
from nsed.train.saved_model import SavedModel
from nsed.types import NEG, UNKNOWN

MOST_MEMBERS = 100
RESCORED_TOGETHER = 2**12
"""Rescoring batch size: words whose candidates are found and scored at once."""
MEMBERS = "members"
"""Folder of the members' trainings, in that of a mixture's."""


@dataclass(frozen=True)
class MixtureConfig(StringConfig):
    """Mixture settings: how the answers of its members become one. The members have their own settings beside it."""

    model: Literal["mixture"] = "mixture"
    """The kind of model that these settings are for."""
    ranking: Literal["mean", "product"] = "mean"
    """Ranking of targets; mean: by the mixture's own probability, the mean of the members'; product: by the product of
    the members' probabilities, which is no model's probability. Scores are the mixture's own in either case."""
    beam: int = bounded(5, low=1, most=WIDEST_BEAM)
    """Beam width: prefixes that are followed at once in decoding."""
    length_penalty: float = bounded(0.0, low=0, most=100)
    """Length penalty: power of the length that log-probabilities are divided by before they are compared."""
    longest_output: int = bounded(64, low=1, most=10_000)
    """Maximum output length: target symbols at most in decoding."""


class Mixture(SearchModel, LatticeTransducer):
    """Mixture of exact Transducers: p(target | source) is the mean of its members' probabilities.

    That is an exact model again: over all targets of a source, its probabilities sum to one. Its beam follows the mean
    of the members' prefix probabilities. Where some members read from left to right and others from right to left, no
    prefix is common to both: then `transduce` takes the n-best lists of either direction and ranks their union by exact
    scores. Alignments and explanations are those of `mixed_lattice`: its posteriors are the members' own, weighted by
    how probable each makes the target.
    """

    configs: ClassVar[Mapping[str, type[MixtureConfig]]] = {"mixture": MixtureConfig}
    capabilities = LATTICE_VERBS | {Capability.TRANSDUCE, Capability.SAMPLE}
    config: MixtureConfig

    def __init__(
        self,
        members: Iterable[Model],
        config: MixtureConfig | None = None,
        *,
        tokenizers: Tokenizers | None = None,
        record: Mapping[str, Any] | None = None,
    ) -> None:
        self.members = _checked(listed_models(members))
        self.config = config or _joint_config(self.members)
        self.tokenizers = tokenizers or _joint_tokenizers(self.members)
        self.record = dict(record or {})
        """What training has to tell."""

    @classmethod
    def fit(
        cls,
        pairs: PairsLike,
        *,
        models: int = 5,
        both_directions: bool = False,
        validation: PairsLike | None = None,
        config: ConfigLike | None = None,
        folder: str | Path | None = None,
        on_step: OnStep = ignore,
        on_validation: OnValidation = ignore,
        **settings: Any,
    ) -> "Mixture":
        """Train Transducers one after the other, with seeds from `train.seed` on, and mix them.

        The settings are those of `Transducer.fit`, for each of them. With `both_directions` every second one reads from
        right to left. All are validated with the same pairs. `on_step` counts the steps of all of them. With a folder
        the members train in its folders `members/0`, `members/1`, ...; an interrupted training goes on from the member
        that it was at.
        """
        known, given = Pairs.of(pairs), None if validation is None else Pairs.of(validation)
        first = resolve_settings(Transducer.configs, config, settings)
        assert isinstance(first, TransducerConfig)
        first = Transducer.plan(first, named_settings(config, settings), known, given)
        wanted = member_settings(first, models, both_directions=both_directions)
        data = Transducer._split(known, given, seed=first.train.seed)
        run = None if folder is None else RunFolder(Path(folder))
        with run.lock() if run else nullcontext():
            if run:
                run.begin(first, {"models": models, "both_directions": both_directions, "sha256": _hashes(data)})
            members = []
            for number, own in enumerate(wanted):
                place, done = run.path / MEMBERS / str(number) if run else None, number * first.train.steps
                member = _trained(own, data, place) or Transducer.fit(
                    data[0],
                    validation=data[1],
                    config=own,
                    folder=place,
                    on_step=_after(done, on_step),
                    on_validation=on_validation,
                )
                members.append(member)
                on_step(done + first.train.steps)
            model = cls(members)
            model.record = {"wer": _error_rate(model, data[1]), "member_wer": [one.record["wer"] for one in members]}
            if run:
                model.save(run.path)
                run.discard_checkpoint()
        return model

    @property
    def device(self) -> torch.device:
        """See `SearchModel.device`: that of the members."""
        return self.members[0].device

    def to(self, device: str | torch.device) -> "Mixture":
        """Move the members to a device, cpu, cuda, cuda:1, ..., and return the model itself."""
        for one in self.members:
            one.to(device)
        return self

    @property
    def languages(self) -> Vocabulary | None:
        """Languages that the members know, all the same; None where they know none."""
        return self.members[0].languages

    @property
    def language(self) -> str | None:
        """See `Transducer.language`."""
        return self.members[0].language

    def for_language(self, language: str) -> "Mixture":
        """See `Transducer.for_language`."""
        members = [one.for_language(language) for one in self.members]
        return Mixture(members, self.config, tokenizers=self.tokenizers, record=self.record)

    def ranked_by(self, ranking: Literal["mean", "product"]) -> "Mixture":
        """The same mixture, which ranks targets so: see `MixtureConfig.ranking`."""
        return Mixture(self.members, replace(self.config, ranking=ranking), record=self.record)

    @property
    def backward(self) -> bool:
        """See `SearchModel.backward`: of a mixture of one direction."""
        return self.members[0].backward

    @property
    def decoder(self) -> MixtureDecoder:
        """See `SearchModel.decoder`: of a mixture of one direction."""
        tables = zip(self.members, self._source_numbers, self._target_numbers, strict=True)
        return MixtureDecoder(
            [
                MixtureMember(one.decoder, *(torch.from_numpy(numbers).to(self.device) for numbers in own))
                for one, *own in tables
            ]
        )

    def score(self, pairs: PairsLike, targets: Column | None = None, *, on_batch: OnBatch = ignore) -> AnswerColumn:
        """Log p(target | source) of each pair, in the order given: of the mean of the members' probabilities."""
        encoded = self._encoded(Pairs.given(pairs, targets))
        scores = checked_scores(_log_mean(self._member_scores(encoded, on_batch=on_batch)))
        return column_like(pairs, scores, "score")

    def sample(
        self, sources: Column, *, count: int = 1, seed: int = 0, on_batch: OnBatch = ignore
    ) -> list[list[Transduction]]:
        """See `SearchModel.sample`: each target is drawn from a member that is drawn before, all members alike."""
        texts = checked_sources(sources, count=count)
        drawn: list[list[Transduction]] = [[] for _ in texts]
        random = np.random.default_rng(seed)
        for chosen in random.integers(len(self.members), size=(count, len(texts))):
            for number, one in enumerate(self.members):
                rows, own_seed = np.flatnonzero(chosen == number).tolist(), int(random.integers(2**31))
                for row, found in zip(rows, one.sample([texts[row] for row in rows], seed=own_seed), strict=True):
                    drawn[row] += found
        scored = self._rescored(texts, [[one.symbols for one in few] for few in drawn])
        on_batch(len(texts))
        return [[answer for answer, _ in few] for few in scored]

    def own_rules(self) -> RuleTable:
        """See `LatticeModel.own_rules`: none, the members have theirs."""
        self._refuse("rules of its own, without data,")

    def contents(self, *, half: bool = False) -> Contents:
        """See `Model.contents`: those of all members, under their numbers."""
        parts = [one.contents(half=half) for one in self.members]
        told = [
            {"config": asdict(one.config), "record": dict(part.record)}
            for one, part in zip(self.members, parts, strict=True)
        ]
        return Contents(
            {f"{k}.{name}": value for k, part in enumerate(parts) for name, value in part.vocabularies.items()},
            {f"{k}.{name}": value for k, part in enumerate(parts) for name, value in part.tensors.items()},
            {**self.record, MEMBERS: told},
        )

    @classmethod
    def from_saved(cls, saved: SavedModel) -> "Mixture":
        """See `Model.from_saved`."""
        config = cls.saved_config(saved)
        assert isinstance(config, MixtureConfig)
        members = [
            Transducer.from_saved(
                SavedModel(
                    "transducer",
                    one["config"],
                    of_member(saved.vocabularies, number),
                    of_member(saved.tensors, number),
                    one["record"],
                )
            )
            for number, one in enumerate(saved.record[MEMBERS])
        ]
        return cls(members, config, record={name: value for name, value in saved.record.items() if name != MEMBERS})

    def _transduce(
        self, sources: list[str], *, nbest: int, beam: int | None, on_batch: OnBatch
    ) -> list[list[Transduction]]:
        if self.config.ranking == "mean" and len(self._directions) == 1:
            return super()._transduce(sources, nbest=nbest, beam=beam, on_batch=on_batch)
        width, answers = max(beam or self.beam, nbest), []
        for start in range(0, len(sources), RESCORED_TOGETHER):
            some = sources[start : start + RESCORED_TOGETHER]
            lists = [one._transduce(some, nbest=width, beam=width, on_batch=ignore) for one in self._directions]
            union = [dict.fromkeys(one.symbols for few in found for one in few) for found in zip(*lists, strict=True)]
            ranked = (sorted(few, key=lambda one: -one[1])[:nbest] for few in self._rescored(some, union))
            answers += [[answer for answer, _ in few] for few in ranked]
            on_batch(len(some))
        return answers

    @cached_property
    def _directions(self) -> list["Mixture"]:
        """The members of either direction, as mixtures whose beam follows the mean of their prefix probabilities."""
        config = replace(self.config, ranking="mean")
        groups = [[one for one in self.members if one.backward is backward] for backward in (False, True)]
        return [Mixture(group, config, tokenizers=self.tokenizers) for group in groups if group]

    def _rescored(
        self, sources: Sequence[str], listed: Sequence[Iterable[tuple[str, ...]]]
    ) -> list[list[tuple[Transduction, float]]]:
        """Candidates of each source, with their exact log-probabilities, and what they are ranked by."""
        source, target = self.tokenizers.source, self.tokenizers.target
        candidates = [(row, symbols) for row, few in enumerate(listed) for symbols in few]
        numbers = [source.vocabulary.encode(source.split(text), kin=True) for text in sources]
        scores = self._member_scores(
            EncodedPairs(
                EncodedStrings(numbers[row] for row, _ in candidates),
                EncodedStrings(target.vocabulary.encode(symbols) for _, symbols in candidates),
                languages=self.members[0].language_numbers(None, len(candidates)),
            )
        )
        mean = checked_scores(_log_mean(scores))
        ranking = mean if self.config.ranking == "mean" else scores.sum(0)
        answers: list[list[tuple[Transduction, float]]] = [[] for _ in sources]
        for (row, symbols), log_prob, rank in zip(candidates, mean.tolist(), ranking.tolist(), strict=True):
            answer = Transduction(target.splitter.join(symbols), symbols, log_prob)
            answers[row].append((answer, rank / (len(symbols) + 1) ** self.config.length_penalty))
        return answers

    def _scored(self, pairs: Pairs) -> Iterator[ScoredLattices]:
        encoded = self._encoded(pairs)
        lost = self._lost(encoded.target)
        for found in zip(*(one.scored(own) for one, own in self._own(encoded)), strict=True):
            (batch, *_), lattices = found[0], [lattice for _, lattice, _ in found]
            log_probs = np.stack([scores for *_, scores in found])
            log_probs[lost[:, batch.rows.cpu().numpy()]] = -np.inf
            with torch.no_grad():
                totals = torch.stack([lattice.log_prob.double() for lattice in lattices])
                ends = (torch.from_numpy(log_probs).to(totals) - totals).clamp(min=NEG)
                lattice = mixed_lattice(lattices, ends, batch.lengths)
            yield batch, lattice, _log_mean(log_probs)

    def _encoded(self, pairs: Pairs) -> EncodedPairs:
        languages = self.members[0].language_numbers(pairs.languages, len(pairs))
        return EncodedPairs(*self.tokenizers.encode(pairs, kin=True), languages=languages)

    def _member_scores(self, pairs: EncodedPairs, *, on_batch: OnBatch = ignore) -> np.ndarray:
        """Log p(target | source) of each member, a row, and each pair."""
        scores = np.empty((len(self.members), len(pairs)))
        for number, (one, own) in enumerate(self._own(pairs)):
            for batch, _, found in one.scored(own):
                scores[number, batch.rows.cpu().numpy()] = found
                on_batch(len(batch.rows) if number == len(self.members) - 1 else 0)
        scores[self._lost(pairs.target)] = -np.inf
        return scores

    def _own(self, pairs: EncodedPairs) -> Iterator[tuple[Transducer, EncodedPairs]]:
        """Members, each with the pairs under its own numbers and in its own direction."""
        for one, source, target in zip(self.members, self._source_numbers, self._target_numbers, strict=True):
            strings = pairs.source.renumbered(source), pairs.target.renumbered(target)
            own = EncodedPairs(*strings, languages=pairs.languages)
            yield one, own.turned() if one.backward else own

    def _lost(self, targets: EncodedStrings) -> np.ndarray:
        """Whether a member, a row, has no number for a symbol of each target that others have: it cannot write it."""
        rows = np.repeat(np.arange(len(targets)), targets.lengths)
        lost = np.zeros((len(self.members), len(targets)), dtype=bool)
        for number, numbers in enumerate(self._target_numbers):
            missing = (numbers == UNKNOWN) & (np.arange(len(numbers)) != UNKNOWN)
            lost[number, rows[missing[targets.flat]]] = True
        return lost

    @cached_property
    def _source_numbers(self) -> list[np.ndarray]:
        return [_numbers(self.tokenizers.source, one.tokenizers.source, kin=True) for one in self.members]

    @cached_property
    def _target_numbers(self) -> list[np.ndarray]:
        return [_numbers(self.tokenizers.target, one.tokenizers.target) for one in self.members]


def member_settings(first: TransducerConfig, models: int, *, both_directions: bool = False) -> list[TransducerConfig]:
    """Settings of the members: seeds from the first one's on; of both directions, every second one the other way."""
    if not is_whole(models, low=1) or models > MOST_MEMBERS:
        expected = f"a whole number, at least 1 and at most {MOST_MEMBERS}"
        raise ArgumentError("models", got=repr(models), expected=expected)
    if first.train.devices > 1:
        advice = "To train members side by side, start a training for each, and mix them: nsed mix."
        raise ArgumentError("train.devices", got=first.train.devices, expected="1 for a mixture", advice=advice)
    other: Literal["forward", "backward"] = "forward" if first.direction == "backward" else "backward"
    return [
        replace(
            first,
            train=replace(first.train, seed=first.train.seed + number),
            direction=other if both_directions and number % 2 else first.direction,
        )
        for number in range(models)
    ]


def _trained(settings: TransducerConfig, data: tuple[Pairs, Pairs], folder: Path | None) -> Transducer | None:
    """Member whose training has come to its end in an earlier run, with the same settings and pairs; else None."""
    run = None if folder is None else RunFolder(folder)
    if run is None or run.is_unfinished or not run.has_model or run.facts.get("sha256") != _hashes(data):
        return None
    with run.lock():  # which tidies up, if the run was killed while it did so
        model = Transducer.load(run.path)
    return model if identity_of(model.config, *data) == identity_of(settings, *data) else None


def _after(done: int, on_step: OnStep) -> OnStep:
    """Step callback that counts on from steps that are done."""
    return lambda step: on_step(done + step)


def _error_rate(model: Mixture, pairs: Pairs) -> float:
    """WER of greedy outputs, as the members were validated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CutOutputWarning)
        return answer(model, pairs, beam=1).errors.score().wer


def _hashes(data: tuple[Pairs, Pairs]) -> dict[str, str]:
    return {"training": hash_of(data[0]), "validation": hash_of(data[1])}


def listed_models(members: object) -> list[Any]:
    """Members as a list. Raises `ArgumentError` for what are no models, names of some, say."""
    if isinstance(members, str) or not isinstance(members, Iterable):
        raise ArgumentError("members", got=shown(members), expected=f"a list of {LOADED}")
    listed = list(members)
    for place, one in enumerate(listed):
        if not isinstance(one, Model):
            raise ArgumentError("members", got=f"{shown(one)} at place {place}", expected=LOADED)
    return listed


LOADED = "models, as nsed.load reads them; nsed.load(['a', 'b']) mixes those of two folders or names"


def _checked(members: list[Model]) -> list[Transducer]:
    """Members, of which a mixture can be made. Raises `ArgumentError` where not."""
    if not members:
        raise ArgumentError("members", got="no model", expected="at least one transducer")
    checked: list[Transducer] = []
    for place, one in enumerate(members):
        if not isinstance(one, Transducer):
            got = f"a model of kind {one.kind!r} at place {place}"
            raise ArgumentError("members", got=got, expected="transducers only, or only models that match")
        if one.config.normalisation != "outgoing":
            got = f"normalisation {one.config.normalisation} at place {place}"
            raise ArgumentError("members", got=got, expected="outgoing: only exact probabilities have an exact mean")
        checked.append(one)
        for name in _STRINGS:
            first, own = getattr(checked[0].config, name), getattr(one.config, name)
            if own != first:
                got = f"{name} {own} at place {place}"
                raise ArgumentError("members", got=got, expected=f"{first}, as the first has it: the same strings")
        if one.languages != checked[0].languages:
            raise ArgumentError("members", got=f"other languages at place {place}", expected="those of the first")
    return checked


_STRINGS = [field.name for field in fields(StringConfig)]
"""Settings of strings, which all members have alike."""


def _joint_config(members: Sequence[Transducer]) -> MixtureConfig:
    """Settings of a mixture that nobody gave: the widest search of its members."""
    strings = {name: getattr(members[0].config, name) for name in _STRINGS}
    return MixtureConfig(
        **strings,
        beam=max(one.config.beam for one in members),
        length_penalty=members[0].config.length_penalty,
        longest_output=max(one.config.longest_output for one in members),
    )


def _joint_tokenizers(members: Sequence[Transducer]) -> Tokenizers:
    """Tokenizers with all symbols that some member knows."""
    own = [one.tokenizers for one in members]
    return Tokenizers(_joint([one.source for one in own]), _joint([one.target for one in own]))


def _joint(tokenizers: Sequence[Tokenizer]) -> Tokenizer:
    vocabulary = tokenizers[0].vocabulary
    for one in tokenizers[1:]:
        vocabulary = vocabulary.extended(one.vocabulary.symbols)
    return replace(tokenizers[0], vocabulary=vocabulary)


def _numbers(joint: Tokenizer, own: Tokenizer, *, kin: bool = False) -> np.ndarray:
    """A member's own number of each symbol of the mixture, special ones included; with `kin`, or of its kin."""
    specials = range(len(SPECIALS))
    return np.array([*specials, *own.vocabulary.encode(joint.vocabulary.symbols, kin=kin)], dtype=np.int64)


def _log_mean(log_probs: np.ndarray) -> np.ndarray:
    """Logarithm of the mean probability over the members, the rows."""
    mean: np.ndarray = np.logaddexp.reduce(log_probs, axis=0) - math.log(len(log_probs))
    return mean


def of_member(parts: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Parts of one member of a saved mixture, whose names begin with its number."""
    start = f"{number}."
    return {name.removeprefix(start): value for name, value in parts.items() if name.startswith(start)}
