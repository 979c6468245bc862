"""How each kind of model is trained from the command line: under a progress bar, or controls at once."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from nsed.baselines.classifier import PairClassifier
from nsed.baselines.classifier_config import CrossEncoderConfig, StanceConfig
from nsed.baselines.lingpy import Entry, LexStat, LexStatConfig, Sca, ScaConfig
from nsed.baselines.lookup import Lookup, LookupConfig
from nsed.baselines.majority import Majority, MajorityConfig
from nsed.baselines.phonetisaurus import Phonetisaurus, PhonetisaurusConfig
from nsed.baselines.seq2seq import Seq2Seq
from nsed.baselines.seq2seq_config import Seq2SeqConfig
from nsed.baselines.similarity import JaroWinkler, JaroWinklerConfig, Levenshtein, LevenshteinConfig
from nsed.cli.console import progress_bar
from nsed.config import Config
from nsed.datasets.word_list import read_word_list
from nsed.errors import ArgumentError, ModelFileError
from nsed.models.edit_distance import EditDistanceConfig, LearnableEditDistance
from nsed.models.matcher import Matcher
from nsed.models.matcher_config import MatcherConfig
from nsed.models.transducer import Transducer
from nsed.models.transducer_config import TransducerConfig
from nsed.registry import Registry
from nsed.text import Pairs
from nsed.train.run_folder import RunFolder
from nsed.train.saved_model import DESCRIPTION

Network = TypeVar("Network", Matcher, PairClassifier, Seq2Seq, Transducer)


class Order(NamedTuple):
    """What the user wants trained."""

    pairs: Pairs
    validation: Pairs | None
    settings: Any
    output: Path
    resume: bool
    start: Any = None
    """The model that learns more, of the kind that the settings are for; None for a new one."""


@dataclass(frozen=True)
class Recipe:
    """The settings of a kind of model, and its training, which saves the model and sums itself up in a line."""

    config: type[Config]
    train: Callable[[Order], str]


def train_edit_distance(order: Order) -> str:
    """EM; the model is saved after every iteration."""
    if order.validation is not None:
        raise ArgumentError("--validation", got="a file", expected="none: EM needs no validation")
    resumes = order.resume and (order.output / DESCRIPTION).exists()
    start = LearnableEditDistance.load(order.output) if resumes else order.start and order.start.restarted(order.pairs)
    return summary(fit_edit_distance(order.pairs, order.settings, start, order.output), len(order.pairs.positives()))


def fit_edit_distance(
    pairs: Pairs,
    settings: EditDistanceConfig,
    start: LearnableEditDistance | None = None,
    output: Path | None = None,
) -> LearnableEditDistance:
    """EM under a progress bar, saving after every iteration if there is a folder to save to."""
    count = len(pairs.positives())
    with progress_bar("training", count * settings.iterations) as bar:
        if start is not None:
            bar.advance(count * len(start.history))

        def after(model: LearnableEditDistance) -> None:
            bar.comment(f"iteration {len(model.history)}, log-likelihood {model.history[-1]:.3f}")
            if output is not None:
                model.save(output)

        return LearnableEditDistance.fit(pairs, config=settings, start=start, on_iteration=after, on_batch=bar.advance)


def summary(model: LearnableEditDistance, pairs: int) -> str:
    """What EM did, in a line."""
    first, last = model.history[0], model.history[-1]
    ended = "converged" if model.converged else "stopped"
    steps = f"{ended} after {_many(len(model.history), 'iteration')} over {_many(pairs, 'pair')}"
    return f"{steps}: log-likelihood per pair {first:.2f} → {last:.2f}"


def train_transducer(order: Order) -> str:
    """Gradient descent on pairs; validation counts wrong words."""
    return _summary_of(_train_network(order, Transducer.fit, "wer").record, "wer")


def train_seq2seq(order: Order) -> str:
    """As a transducer."""
    return _summary_of(_train_network(order, Seq2Seq.fit, "wer").record, "wer")


def train_matcher(order: Order) -> str:
    """Gradient descent on labelled pairs; validation is F1 at the best threshold."""
    return _summary_of(_train_network(order, Matcher.fit, "f1").record, "f1")


def train_classifier(order: Order) -> str:
    """Like a matcher."""
    return _summary_of(_train_network(order, PairClassifier.fit, "f1").record, "f1")


def _train_network(order: Order, fit: Callable[..., Network], metric: str) -> Network:
    """Train under a progress bar; the state is saved at every validation, and dropped when all is done."""
    run = RunFolder(order.output)
    if not order.resume:
        shutil.rmtree(run.checkpoint, ignore_errors=True)
    elif not (run.checkpoint / DESCRIPTION).exists():
        raise ModelFileError(order.output, "there is no unfinished training here to resume")
    fit = partial(fit, start=order.start) if order.start else fit
    with progress_bar("training", order.settings.train.steps, unit="steps") as bar:
        return fit(
            order.pairs,
            validation=order.validation,
            config=order.settings,
            folder=order.output,
            on_step=bar.reach,
            on_validation=lambda v: bar.comment(f"loss {v.loss:.3f}, validation {metric} {v.metrics[metric]:.1%}"),
        )


def _summary_of(record: Mapping[str, Any], metric: str) -> str:
    best = f"validation {metric} {record[metric]:.1%} at step {record['best_step']:,}"
    return f"trained {_many(record['steps'], 'step')}; {best}"


def _many(count: int, thing: str) -> str:
    return f"{count:,} {thing}" + ("" if count == 1 else "s")


def control(fit: Callable[..., Any]) -> Callable[[Order], str]:
    """The training of a control or peer, which takes no steps and has no progress to show."""
    return lambda order: _save_at_once(
        order, lambda: fit(order.pairs, validation=order.validation, config=order.settings)
    )


def train_lexstat(order: Order) -> str:
    """LexStat learns from a word list beside the pairs."""
    if not order.settings.word_list:
        raise ArgumentError("word_list", got="nothing", expected="a word list to learn from: --set word_list=FILE")
    words = [Entry(word.language, word.concept, word.tokens) for word in read_word_list(order.settings.word_list)]
    options = {"words": words, "validation": order.validation, "config": order.settings}
    return _save_at_once(order, lambda: LexStat.fit(order.pairs, **options))


def _save_at_once(order: Order, fit: Callable[[], Any]) -> str:
    if order.resume:
        raise ArgumentError("--resume", got="a model that is made at once", expected="nothing: there is no way back in")
    fit().save(order.output)
    return f"{order.settings.model}: made of {len(order.pairs):,} pairs"


RECIPES: Registry[Recipe] = Registry("--model")
RECIPES.register("cross-encoder", Recipe(CrossEncoderConfig, train_classifier))
RECIPES.register("edit-distance", Recipe(EditDistanceConfig, train_edit_distance))
RECIPES.register("jaro-winkler", Recipe(JaroWinklerConfig, control(JaroWinkler.fit)))
RECIPES.register("levenshtein", Recipe(LevenshteinConfig, control(Levenshtein.fit)))
RECIPES.register("lexstat", Recipe(LexStatConfig, train_lexstat))
RECIPES.register("lookup", Recipe(LookupConfig, control(Lookup.fit)))
RECIPES.register("majority", Recipe(MajorityConfig, control(Majority.fit)))
RECIPES.register("matcher", Recipe(MatcherConfig, train_matcher))
RECIPES.register("phonetisaurus", Recipe(PhonetisaurusConfig, control(Phonetisaurus.fit)))
RECIPES.register("sca", Recipe(ScaConfig, control(Sca.fit)))
RECIPES.register("seq2seq", Recipe(Seq2SeqConfig, train_seq2seq))
RECIPES.register("stance", Recipe(StanceConfig, train_classifier))
RECIPES.register("transducer", Recipe(TransducerConfig, train_transducer))
