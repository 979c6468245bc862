"""`nsed evaluate`: how good a model is on pairs with known answers."""

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from nsed.baselines import Lookup, Majority, Phonetisaurus
from nsed.baselines.pair_scorer import PairScorer
from nsed.cli.arguments import Columns, Model, ModelPath, Output, load_model, open_output, split_columns
from nsed.cli.console import out, progress_bar
from nsed.cli.warnings_of_data import warnings_of
from nsed.errors import ArgumentError
from nsed.evaluate import (
    Interval,
    average_precision,
    best_threshold,
    brier_score,
    expected_calibration_error,
    f1_interval,
    matching_score,
    mean_interval,
    roc_auc,
    word_errors,
)
from nsed.text import Pairs, read_pairs
from nsed.train import Matcher, Transducer

Writer = Transducer | Lookup | Majority | Phonetisaurus


def evaluate(
    model: ModelPath,
    pairs: Annotated[Path, typer.Argument(help="File of pairs; a matcher needs labels, 1 or 0.", show_default=False)],
    columns: Columns = None,
    beam: Annotated[int | None, typer.Option(min=1, help="For transducers: prefixes followed at once.")] = None,
    validation: Annotated[
        Path | None, typer.Option(help="Labelled pairs to tune the threshold on, where the model has none.")
    ] = None,
    output: Output = None,
) -> None:
    """Measure a model on pairs with known answers: error rates of a transducer, F1 of whatever scores labelled pairs.

    A source that occurs several times may be answered in any of its ways. Intervals are those of a bootstrap, 95 %.
    With `--output` the figures go there as JSON.
    """
    loaded, names = load_model(model), split_columns(columns)
    data = read_pairs(pairs, columns=names)
    if isinstance(loaded, Writer) and data.labels is None:
        figures = transduction_figures(loaded, data, beam)
    else:
        figures = matching_figures(loaded, data, read_pairs(validation, columns=names) if validation else None)
    _show(figures)
    warned = warnings_of(pairs)
    for line in warned:
        out.print(line, style="yellow", markup=False)
    if output is not None:
        with open_output(output) as stream:
            json.dump({"model": str(model), "pairs": pairs.name, **figures, "warnings": warned}, stream, indent=1)


def transduction_figures(model: Writer, pairs: Pairs, beam: int | None) -> dict[str, Any]:
    """Error rates over different sources."""
    references: dict[str, list[tuple[str, ...]]] = {}
    for source, target in pairs:
        references.setdefault(source, []).append(model.coders.target.split(target))
    with progress_bar("transducing", len(references), unit="words") as bar:
        found = model.transduce(list(references), beam=beam, on_batch=bar.advance)
    outputs = [best[0].symbols if best else () for best in found]
    errors = word_errors(outputs, list(references.values()))
    intervals = {"cer_interval": mean_interval(errors.rates), "wer_interval": mean_interval(errors.wrong)}
    width = {"beam": beam or model.config.beam} if isinstance(model, Transducer | Phonetisaurus) else {}
    return {**width, **errors.score()._asdict(), **intervals}


def matching_figures(model: Model, pairs: Pairs, validation: Pairs | None) -> dict[str, Any]:
    """Precision, recall and F1 at the model's threshold, or at the best one of the validation pairs; then the rest."""
    labels = _labels(pairs, "PAIRS")
    if validation is not None:
        threshold = best_threshold(model.score(validation), _labels(validation, "--validation")).threshold
    elif isinstance(model, Matcher | PairScorer):
        threshold = model.threshold
    else:
        expected = "labelled pairs to tune the threshold on: this model has none"
        raise ArgumentError("--validation", got="nothing", expected=expected)
    with progress_bar("scoring", len(pairs)) as bar:
        scores = model.score(pairs, on_batch=bar.advance)
    decisions = matching_score(scores, labels, threshold)._asdict()
    decisions["f1_interval"] = f1_interval(scores, labels, threshold)
    promises = (
        _promises(model.calibration.probability(scores), labels) if isinstance(model, Matcher | PairScorer) else {}
    )
    return {"pairs_scored": len(pairs), **decisions, **_ranking(scores, labels), **promises}


def _ranking(scores: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """What needs no threshold, but labels of both kinds."""
    if labels.all() or not labels.any():
        return {}
    return {"average_precision": average_precision(scores, labels), "roc_auc": roc_auc(scores, labels)}


def _promises(probabilities: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """How far calibrated probabilities are from what was true."""
    error = expected_calibration_error(probabilities, labels)
    return {"brier_score": brier_score(probabilities, labels), "expected_calibration_error": error}


def _labels(pairs: Pairs, name: str) -> np.ndarray:
    if pairs.labels is None:
        raise ArgumentError(name, got="pairs without labels", expected="a third column with 1 or 0")
    return np.asarray(pairs.labels, dtype=bool)


RATES = {"cer", "corpus_cer", "wer", "precision", "recall", "f1", "average_precision", "roc_auc"}
ERRORS = {"brier_score", "expected_calibration_error"}


def _show(figures: dict[str, Any]) -> None:
    table = Table("figure", "value", box=None, pad_edge=False)
    for name, value in figures.items():
        table.add_row(name.replace("_", " "), _written(name, value))
    out.print(table)


def _written(name: str, value: Any) -> str:
    if isinstance(value, Interval):
        return f"{value.low:.2%} to {value.high:.2%}"
    if name in RATES:
        return f"{value:.2%}"
    return f"{value:.4f}" if name in ERRORS else f"{value:,}"
