"""`nsed demo`: learn, decide, transduce and show the operations, on data and weights that come with nsed."""

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from nsed.cli.console import out, progress_bar
from nsed.config import from_mapping
from nsed.datasets.rule_language import matching_pairs, transcribe, transduction_pairs
from nsed.evaluate import matching_score
from nsed.models.base import Model
from nsed.models.matcher import AnyMatcher, Matcher, MatcherConfig
from nsed.models.persistence import load
from nsed.models.transducer import Transducer, TransducerConfig
from nsed.text import Pairs

TRAIN = {"warmup": 20, "validate_every": 30, "learning_rate": 5e-3, "threads": 1, "device": "cpu"}
ENCODER = {"dim": 32, "layers": 1, "dropout": 0.0}
Network = TypeVar("Network", bound=Model)
BLOCKS = "▁▂▃▄▅▆▇█"
NAMES = {"unigram": "unigram (no context)", "cnn": "CNN (neighbours)"}


def show_demo(seed: int) -> None:
    """Everything that `nsed demo` shows, step by step."""
    out.print(
        "[bold]The rule language[/]: A, B, C become a, b, c; an initial B is deleted, a run of As becomes one a.\n"
    )
    _show_matching(seed)
    _show_transduction(seed)
    _show_english()


def _show_matching(seed: int) -> None:
    training, test = matching_pairs(8000, seed=2 * seed + 1), matching_pairs(1500, seed=2 * seed + 2)
    test = _unseen(test, training)
    out.print("[bold]1. Do source and target belong together?[/] Two Matchers, 8,000 labelled pairs.\n")
    for kind, name in NAMES.items():
        matcher, curves = _fit_matcher(training, kind, seed)
        f1 = matching_score(matcher.score(test), np.asarray(test.labels), matcher.threshold).f1
        told_apart, cases = _minimal_pairs(matcher, test)
        out.print(f"   {name:<21} {_drawn(curves)}  F1 {f1:.1%} on {len(test)} unseen pairs")
        out.print(f"   {'':<21} [dim]AACB → acb yes, AACB → aacb no:[/] {told_apart:.0%} of {cases} such cases right")
    out.print("\n   An A is deleted because of the A before it: without context that cannot be learned.\n")


def _show_transduction(seed: int) -> None:
    pairs = transduction_pairs(2600, seed=seed)
    training, test = pairs.chosen(range(2300)), pairs.chosen(range(2300, 2600))
    out.print("[bold]2. What is the target?[/] An exact Transducer, 2,300 pairs.\n")
    transducer, curves = _fit_transducer(training, seed)
    found = [best[0].text for best in transducer.transduce(test.sources)]
    right = np.mean([one == target for one, target in zip(found, test.targets, strict=True)])
    out.print(f"   {NAMES['cnn']:<21} {_drawn(curves)}  {right:.1%} of {len(test)} unseen strings right\n")
    for source in ("BAAACB", "ABBA"):
        _show_answer(transducer, source)
    out.print("\n   The probabilities of all targets of a source sum to one.\n")


def _show_english() -> None:
    out.print("[bold]3. The same, trained on English words[/] (`nsed.load('g2p-en')`, comes with nsed).\n")
    g2p = load("g2p-en")
    for word in ("flagships", "thought"):
        _show_answer(g2p, word)
    out.print("\n   Try: echo hello | nsed transduce g2p-en --nbest 3", markup=False)


def _show_answer(transducer: Transducer, source: str) -> None:
    best = transducer.transduce([source])[0][0]
    script = transducer.align(source, best.text)
    out.print(f"   {source} → [green]{best.text}[/]  p = {np.exp(best.log_prob):.3f}  [dim]{script}[/]")


def _drawn(values: list[float]) -> str:
    """Sparkline of a validation, with where it begins and ends."""
    return f"{values[0]:>4.0%} {curve(values)} {values[-1]:>4.0%}"


def curve(values: Sequence[float]) -> str:
    """Sparkline: one block per value, from the lowest to the highest.

    >>> curve([0.5, 0.75, 1.0])
    '▁▅█'
    """
    low, high = min(values, default=0.0), max(values, default=0.0)
    span = (high - low) or 1.0
    return "".join(BLOCKS[round((value - low) / span * (len(BLOCKS) - 1))] for value in values)


def _fit_matcher(training: Pairs, kind: str, seed: int) -> tuple[AnyMatcher, list[float]]:
    train = {**TRAIN, "steps": 600, "batch_pairs": 128, "seed": seed}
    values = {"feature_dropout": 0.0, "encoder": {"kind": kind, **ENCODER}, "train": train}
    return _watched(Matcher.fit, training, from_mapping(MatcherConfig, values), "f1")


def _fit_transducer(training: Pairs, seed: int) -> tuple[Transducer, list[float]]:
    train = {**TRAIN, "steps": 200, "batch_pairs": 64, "seed": seed, "validate_every": 10}
    values = {"feature_dropout": 0.0, "encoder": {"kind": "cnn", **ENCODER}, "train": train}
    model, errors = _watched(Transducer.fit, training, from_mapping(TransducerConfig, values), "wer")
    return model, [1 - error for error in errors]


def _watched(
    fit: Callable[..., Network], training: Pairs, config: MatcherConfig | TransducerConfig, metric: str
) -> tuple[Network, list[float]]:
    """Train under a progress bar; the model and its learning curve."""
    values: list[float] = []
    with progress_bar("   learning", config.train.steps, unit="steps") as bar:
        model = fit(
            training,
            config=config,
            on_step=bar.reach,
            on_validation=lambda validation: values.append(validation.metrics[metric]),
        )
    return model, values


def _unseen(test: Pairs, training: Pairs) -> Pairs:
    seen = set(training.sources)
    return test.chosen([row for row, source in enumerate(test.sources) if source not in seen])


def _minimal_pairs(matcher: AnyMatcher, test: Pairs) -> tuple[float, int]:
    """Minimal pairs, sources with a run of As: how often the right target is accepted and that with two as is not."""
    sources = [source for source in test.sources if "AA" in source.removeprefix("B")]
    doubled = [re.sub("A+", lambda run: run[0][:2], source.removeprefix("B")).lower() for source in sources]
    right, wrong = (matcher.match(Pairs(sources, targets)) for targets in (list(map(transcribe, sources)), doubled))
    return float((right & ~wrong).mean()), len(sources)
