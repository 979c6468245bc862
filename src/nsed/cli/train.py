"""`nsed train`: learn a model from a file of pairs."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from nsed.baselines import EditDistanceConfig, LearnableEditDistance
from nsed.baselines.learnable_edit_distance import KIND
from nsed.cli.arguments import Columns, split_columns
from nsed.cli.console import Bar, err, progress_bar
from nsed.config import from_mapping, merged, parse_overrides, read_yaml, to_yaml
from nsed.errors import ArgumentError, ModelFileError
from nsed.models.persistence import DESCRIPTION
from nsed.registry import Registry
from nsed.text import Pairs, read_pairs, reader_for

MODELS: Registry[type[EditDistanceConfig]] = Registry("--model")
MODELS.register(KIND, EditDistanceConfig)


def train(
    pairs: Annotated[
        Path | None,
        typer.Argument(help="File of pairs: TSV, CSV, CMUdict .dict, Parquet or Arrow.", show_default=False),
    ] = None,
    output: Annotated[Path | None, typer.Argument(help="Folder for the model.", show_default=False)] = None,
    model: Annotated[str, typer.Option(help="Kind of model.")] = KIND,
    source_symbols: Annotated[
        str | None, typer.Option(help="What sources are made of: graphemes, or tokens between spaces.")
    ] = None,
    target_symbols: Annotated[
        str | None, typer.Option(help="What targets are made of; by default graphemes, in a .dict tokens.")
    ] = None,
    columns: Columns = None,
    config: Annotated[Path | None, typer.Option(help="YAML file with settings; see --print-config.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="A single setting, key=value; repeatable.")] = None,
    print_config: Annotated[bool, typer.Option("--print-config", help="Show all settings as YAML and stop.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the training in the folder.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the model in the folder.")] = False,
) -> None:
    """Learn edit operations from a file of pairs.

    The model is saved after every iteration; an interrupted training goes on with `--resume`. Where a third column has
    labels (1 or 0), only the positive pairs are learned from.
    """
    MODELS[model]
    start = _start(output, resume=resume, overwrite=overwrite) if output else None
    chosen = {"source_symbols": source_symbols, "target_symbols": target_symbols}
    given = parse_overrides(set_ or []) | {name: value for name, value in chosen.items() if value is not None}
    settings = _settings(start, pairs, config, given)
    if print_config:
        typer.echo(to_yaml(settings), nl=False)
        return
    if pairs is None or output is None:
        expected = "a file to learn from and a folder for the model"
        raise ArgumentError("PAIRS and OUTPUT", got="one of them" if pairs else "nothing", expected=expected)
    data = read_pairs(pairs, columns=split_columns(columns))
    trained = fit_with_bar(data, settings, start, output)
    err.print(summary(trained, len(data.positives())))
    err.print(f"saved to {output}", markup=False)


def fit_with_bar(
    pairs: Pairs,
    settings: EditDistanceConfig,
    start: LearnableEditDistance | None = None,
    output: Path | None = None,
) -> LearnableEditDistance:
    """Train under a progress bar, saving after every iteration if there is a folder to save to."""
    count = len(pairs.positives())
    with progress_bar("training", count * settings.iterations) as bar:
        if start is not None:
            bar.advance(count * len(start.history))

        def after(model: LearnableEditDistance) -> None:
            _report(bar, model)
            if output is not None:
                model.save(output)

        trained = LearnableEditDistance.fit(
            pairs, config=settings, start=start, on_iteration=after, on_batch=bar.advance
        )
    return trained


def summary(model: LearnableEditDistance, pairs: int) -> str:
    """What training did, in a line."""
    first, last = model.history[0], model.history[-1]
    ended = "converged" if model.converged else "stopped"
    steps = f"{ended} after {_many(len(model.history), 'iteration')} over {_many(pairs, 'pair')}"
    return f"{steps}: log-likelihood per pair {first:.2f} → {last:.2f}"


def _many(count: int, thing: str) -> str:
    return f"{count:,} {thing}" + ("" if count == 1 else "s")


def _report(bar: Bar, model: LearnableEditDistance) -> None:
    bar.comment(f"iteration {len(model.history)}, log-likelihood {model.history[-1]:.3f}")


def _settings(
    start: LearnableEditDistance | None, pairs: Path | None, config: Path | None, given: dict[str, Any]
) -> EditDistanceConfig:
    """Options go over the file, the file over what was there: the training to resume, or what the data suggests."""
    values: dict[Any, Any] = {"target_symbols": reader_for(pairs).target_symbols} if pairs else {}
    if start is not None:
        values = asdict(start.config)
    if config is not None:
        values |= read_yaml(config)
    return from_mapping(EditDistanceConfig, merged(values, given), where=str(config or "settings"))


def _start(output: Path, *, resume: bool, overwrite: bool) -> LearnableEditDistance | None:
    """The model to continue with, if that is wanted; a folder that has one is not overwritten by accident."""
    try:
        output.mkdir(parents=True, exist_ok=True)
        exists = (output / DESCRIPTION).exists()
    except OSError as error:
        raise ModelFileError(output, f"cannot be a folder for the model: {error.strerror}") from None
    if resume:
        return LearnableEditDistance.load(output) if exists else None
    if exists and not overwrite:
        raise ModelFileError(output, "there is a model here already: continue it with --resume, or --overwrite it")
    return None
