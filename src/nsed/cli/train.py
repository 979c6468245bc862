"""`nsed train`: learn a model from a file of pairs."""

from pathlib import Path
from typing import Annotated, Any

import typer

from nsed.baselines import EditDistanceConfig, LearnableEditDistance
from nsed.baselines.learnable_edit_distance import KIND
from nsed.cli.arguments import Columns, split_columns
from nsed.cli.console import Bar, err, progress_bar
from nsed.config import from_mapping, from_yaml, parse_overrides, to_yaml
from nsed.errors import ArgumentError, ModelFileError
from nsed.models.persistence import DESCRIPTION
from nsed.registry import Registry
from nsed.text import Pairs, SymbolKind, read_pairs, reader_for

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
    chosen = {"source_symbols": source_symbols, "target_symbols": target_symbols}
    settings = _settings(config, set_ or [], {k: v for k, v in chosen.items() if v is not None}, pairs)
    if print_config:
        typer.echo(to_yaml(settings), nl=False)
        return
    if pairs is None or output is None:
        raise ArgumentError("PAIRS and OUTPUT", got="less", expected="a file to learn from and a folder for the model")
    start = _start(output, resume=resume, overwrite=overwrite)
    data = read_pairs(pairs, columns=split_columns(columns))
    trained = fit_with_bar(data, settings, start, output)
    err.print(summary(trained, len(data.positives())))
    err.print(f"saved to {output}")


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
        bar.finish()
    return trained


def summary(model: LearnableEditDistance, pairs: int) -> str:
    """What training did, in a line."""
    first, last = model.history[0], model.history[-1]
    ended = "converged" if model.converged else "stopped"
    steps = f"{ended} after {len(model.history)} iterations over {pairs:,} pairs"
    return f"{steps}: log-likelihood per pair {first:.2f} → {last:.2f}"


def _report(bar: Bar, model: LearnableEditDistance) -> None:
    bar.comment(f"iteration {len(model.history)}, log-likelihood {model.history[-1]:.3f}")


def _settings(
    config: Path | None, overrides: list[str], chosen: dict[str, Any], pairs: Path | None
) -> EditDistanceConfig:
    """File, then --set, then the options of their own; what a kind of file suggests comes first."""
    given = parse_overrides(overrides) | chosen
    if config is not None:
        return from_yaml(EditDistanceConfig, config, given)
    suggested: dict[str, SymbolKind] = {"target_symbols": reader_for(pairs).target_symbols} if pairs else {}
    return from_mapping(EditDistanceConfig, suggested | given, where="settings")


def _start(output: Path, *, resume: bool, overwrite: bool) -> LearnableEditDistance | None:
    """The model to continue with, if that is wanted; a folder that has one is not overwritten by accident."""
    exists = (output / DESCRIPTION).exists()
    if resume:
        return LearnableEditDistance.load(output) if exists else None
    if exists and not overwrite:
        raise ModelFileError(output, "there is a model here already: continue it with --resume, or --overwrite it")
    return None
