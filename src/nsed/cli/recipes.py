"""Training recipes of the command line: by steps under a progress bar, by EM, or at once."""

import time
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch

from nsed.baselines.lingpy import Entry, LexStat
from nsed.capabilities import Capability, can
from nsed.cli.console import err, progress_bar
from nsed.datasets.word_list import read_word_list
from nsed.errors import ArgumentError
from nsed.models.base import NetworkModel
from nsed.models.edit_distance import EditDistanceConfig, LearnableEditDistance, training_parts
from nsed.models.matcher_mixture import MatcherMixture
from nsed.models.mixture import Mixture
from nsed.models.persistence import MODEL_KINDS, model_class
from nsed.models.transducer import Transducer
from nsed.registry import Registry
from nsed.text import Pairs, StringConfig, choose_symbols
from nsed.train.run_folder import RunFolder

KINDS: Registry[str] = Registry("--model")
"""Model kinds by the name that users choose them by."""
for _kind in MODEL_KINDS:
    KINDS.register(_kind, _kind)


class Distillation(NamedTuple):
    """Distillation of a student: the teacher, and words that only it has answers for."""

    teacher: Any
    words: list[str]


class TrainingRequest(NamedTuple):
    """Training request: what the user wants trained."""

    pairs: Pairs
    validation: Pairs | None
    settings: Any
    output: Path
    resume: bool
    start: Any = None
    """Starting model for fine-tuning, of the kind that the settings are for; None for a new one."""
    models: int = 1
    """Members of a mixture, or 1 for a model of its own."""
    both_directions: bool = False
    """Whether every second member of a mixture reads from right to left."""
    distillation: Distillation | None = None
    """Distillation: from whom a student learns."""
    begun: float | None = None
    """When the command began, by `time.monotonic`: what it has spent since counts among the minutes of one model."""


def config_of(kind: str) -> type[StringConfig]:
    """Config class of a kind of model. Raises `UnknownNameError` for one that there is not."""
    config: type[StringConfig] = model_class(KINDS[kind]).configs[kind]
    return config


def plan_training(settings: Any, named: Collection[str] | None, pairs: Pairs | None, validation: Pairs | None) -> Any:
    """Settings with what follows from the pairs, if any: symbols, and a Transducer's recipe for what is not `named`."""
    if pairs is None:
        return settings
    model = model_class(settings.model)
    if issubclass(model, NetworkModel):
        return model.plan(settings, named, pairs, validation)
    if model is MatcherMixture:  # its members have their own symbols
        return settings
    return choose_symbols(settings, pairs)


def notes_of(settings: Any) -> list[str]:
    """What was chosen from the pairs, and why, a line each."""
    recipe = getattr(getattr(settings, "train", None), "recipe", "")
    return [note for note in (settings.symbols_note, recipe) if note]


def train_model(request: TrainingRequest) -> str:
    """Train and save a model as its kind is trained; what was done, in a line."""
    model = model_class(request.settings.model)
    if request.models > 1:
        return train_mixture(request)
    if issubclass(model, NetworkModel):
        return _summary_of(_train_network(request, model.fit, model.validation_metric).record, model.validation_metric)
    if model is LearnableEditDistance:
        return train_edit_distance(request)
    if model is LexStat:
        return train_lexstat(request)
    if model is MatcherMixture:
        return train_matcher_mixture(request)
    return _save_at_once(
        request, lambda: model.fit(request.pairs, validation=request.validation, config=request.settings)
    )


def train_edit_distance(request: TrainingRequest) -> str:
    """Train by EM; the model is saved after every iteration, and with its threshold where there are labels."""
    run = RunFolder(request.output)
    if request.resume and not (run.is_unfinished or run.has_model):
        raise run.nothing_to_resume()
    resumes = request.resume and not run.is_unfinished  # unfinished is what has not come to its first iteration
    start = (
        LearnableEditDistance.load(request.output)
        if resumes
        else request.start and request.start.restarted(request.pairs, validation=request.validation)
    )
    model = fit_edit_distance(request.pairs, request.settings, start, request.output, validation=request.validation)
    model.save(request.output)
    return summary(model, len(training_parts(request.pairs, request.validation)[0]))


def fit_edit_distance(
    pairs: Pairs,
    settings: EditDistanceConfig,
    start: LearnableEditDistance | None = None,
    output: Path | None = None,
    *,
    validation: Pairs | None = None,
) -> LearnableEditDistance:
    """Train by EM under a progress bar, saving after every iteration if there is a folder to save to."""
    count = len(training_parts(pairs, validation)[0])
    with progress_bar("training", settings.iterations, unit="iterations") as bar:
        if start is not None:
            bar.reach(len(start.history))

        def after(model: LearnableEditDistance) -> None:
            bar.reach(len(model.history))
            bar.comment(f"log-likelihood {model.history[-1]:.3f}")
            if output is not None:
                _save(model, output)

        return LearnableEditDistance.fit(
            pairs,
            validation=validation,
            config=settings,
            start=start,
            on_iteration=after,
            on_batch=lambda done: bar.advance(done / count),
        )


def summary(model: LearnableEditDistance, pairs: int) -> str:
    """EM summary in a line."""
    first, last = model.history[0], model.history[-1]
    ended = "converged" if model.converged else "stopped"
    steps = f"{ended} after {_many(len(model.history), 'iteration')} over {_many(pairs, 'pair')}"
    decides = f"; matches from probability {model.threshold_probability:.3f} on" if can(model, Capability.MATCH) else ""
    return f"{steps}: log-likelihood per pair {first:.2f} → {last:.2f}{decides}"


def _train_network(request: TrainingRequest, fit: Callable[..., NetworkModel], metric: str) -> NetworkModel:
    """Train a network under a progress bar; it saves checkpoints as it goes, which are dropped when all is done."""
    if request.resume:
        _check_resumed(RunFolder(request.output), request.settings.train.threads or torch.get_num_threads())
    fit = partial(fit, start=request.start) if request.start else fit
    if request.distillation is not None:
        return _train_student(request, request.distillation, metric)
    with progress_bar("training", request.settings.train.steps, unit="steps") as bar:
        return fit(
            request.pairs,
            spent=0.0 if request.begun is None else time.monotonic() - request.begun,
            validation=request.validation,
            config=request.settings,
            folder=request.output,
            on_step=bar.reach,
            on_validation=lambda v: bar.comment(f"loss {v.loss:.3f}, validation {metric} {v.metrics[metric]:.1%}"),
        )


def _train_student(request: TrainingRequest, distillation: Distillation, metric: str) -> Transducer:
    """Train a student under two progress bars, of the teacher's answers and of its own steps."""
    steps = request.settings.train.steps
    words = len({*request.pairs.sources, *distillation.words})
    with progress_bar("teaching", words, unit="words") as told, progress_bar("training", steps, unit="steps") as bar:
        return Transducer.distill(
            request.pairs,
            teacher=distillation.teacher,
            words=distillation.words,
            validation=request.validation,
            config=request.settings,
            start=request.start,
            folder=request.output,
            on_batch=told.advance,
            on_step=bar.reach,
            on_validation=lambda v: bar.comment(f"loss {v.loss:.3f}, validation {metric} {v.metrics[metric]:.1%}"),
        )


def train_mixture(request: TrainingRequest) -> str:
    """Train the members of a mixture one after the other, and say how good each of them and all of them are."""
    run = RunFolder(request.output)
    if request.resume and not run.is_unfinished:
        raise run.nothing_to_resume()
    with progress_bar("training", request.settings.train.steps * request.models, unit="steps") as bar:
        model = Mixture.fit(
            request.pairs,
            models=request.models,
            both_directions=request.both_directions,
            validation=request.validation,
            config=request.settings,
            folder=request.output,
            on_step=bar.reach,
            on_validation=lambda v: bar.comment(f"loss {v.loss:.3f}, validation wer {v.metrics['wer']:.1%}"),
        )
    rates = ", ".join(f"{rate:.1%}" for rate in model.record["member_wer"])
    return f"trained {_many(request.models, 'model')}; validation wer {model.record['wer']:.1%}, of each alone {rates}"


def train_matcher_mixture(request: TrainingRequest) -> str:
    """Let the members of a mixture of Matchers learn more, and say what they count for."""
    if request.resume and RunFolder(request.output).is_unfinished:
        err.print("nothing is saved of a mixture before its members have learned: it begins again", markup=False)
    with progress_bar("training", request.start.steps, unit="steps") as bar:

        def fit() -> MatcherMixture:
            return MatcherMixture.fit(
                request.pairs,
                start=request.start,
                validation=request.validation,
                config=request.settings,
                on_step=bar.reach,
                on_validation=lambda v: bar.comment(f"loss {v.loss:.3f}"),
            )

        _save_at_once(request, fit)
    model = MatcherMixture.load(request.output)
    weights = ", ".join(f"{weight:.2f}" for weight in model.weights)
    decides = f"matches from probability {model.threshold_probability:.3f} on"
    return f"trained {_many(len(model.members), 'member')} with weights {weights}; {decides}"


def _check_resumed(run: RunFolder, now: int) -> None:
    """Check that there is a training to resume, and say with how many threads it goes on if not with those of now."""
    if not run.is_unfinished:
        raise run.nothing_to_resume()
    if run.threads not in (None, now):
        why = "their number changes the last bits of the weights"
        err.print(f"going on with {_many(run.threads, 'thread')} as it began, not with {now}: {why}", markup=False)


def _summary_of(record: Mapping[str, Any], metric: str) -> str:
    best = f"validation {metric} {record[metric]:.1%} at step {record['best_step']:,}"
    return f"trained {_many(record['steps'], 'step')}; {best}"


def _many(count: int, thing: str) -> str:
    return f"{count:,} {thing}" + ("" if count == 1 else "s")


def train_lexstat(request: TrainingRequest) -> str:
    """Train LexStat from a word list beside the pairs."""
    if not request.settings.word_list:
        raise ArgumentError("word_list", got="nothing", expected="a word list to learn from: --set word_list=FILE")
    words = [Entry(word.language, word.concept, word.tokens) for word in read_word_list(request.settings.word_list)]
    options = {"words": words, "validation": request.validation, "config": request.settings}
    return _save_at_once(request, lambda: LexStat.fit(request.pairs, **options))


def _save_at_once(request: TrainingRequest, fit: Callable[[], Any]) -> str:
    if request.resume and not RunFolder(request.output).is_unfinished:
        advice = "With --overwrite instead of --resume it is made again."
        got, expected = "a model that is made at once", "nothing: there is no way back in"
        raise ArgumentError("--resume", got=got, expected=expected, advice=advice)
    _save(fit(), request.output)
    return f"{request.settings.model}: made of {len(request.pairs):,} pairs"


def _save(model: Any, output: Path) -> None:
    """Save a model of a training without checkpoints: from now on the folder is its own."""
    model.save(output)
    RunFolder(output).discard_checkpoint()
