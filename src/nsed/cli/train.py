"""`nsed train`: learn a model from a file of pairs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nsed.capabilities import Capability, can
from nsed.cli.arguments import Columns, Model, load_model, split_columns
from nsed.cli.console import complain, err, warn
from nsed.errors import ArgumentError, ModelFileError

if TYPE_CHECKING:
    from nsed.cli.recipes import TrainingRequest
    from nsed.config import Config
    from nsed.text import Pairs, StringConfig
    from nsed.train.run_folder import RunFolder

INTERRUPTED = 130
"""SIGINT exit status, after Ctrl-C, as shells have it."""


TrainingPairs = Annotated[
    Path | None,
    typer.Argument(help="File of pairs: TSV, CSV, CMUdict .dict, Parquet or Arrow.", show_default=False),
]
ModelFolder = Annotated[Path | None, typer.Argument(help="Folder for the model.", show_default=False)]
ModelKind = Annotated[
    str | None,
    typer.Option(
        help="edit-distance (a table of operations), transducer, or for labelled pairs odds (a table of "
        "log-odds, in a minute) or matcher (a network). To compare with: "
        "seq2seq, cross-encoder, stance; lookup, majority, levenshtein, jaro-winkler; sca, lexstat, phonetisaurus. "
        "By default what the settings say, or odds for labelled pairs and edit-distance for others, as is then said.",
        show_default=False,
    ),
]
ValidationPairs = Annotated[
    Path | None,
    typer.Option(
        help="For networks: pairs to choose the best step by; without, some of the pairs are held out. "
        "For similarities and edit distances: labelled pairs to tune the threshold on; without, the pairs themselves, "
        "of an edit distance some that are held out."
    ),
]
SourceSymbols = Annotated[
    str | None,
    typer.Option(
        help="What sources are made of: graphemes, tokens between spaces, or letters (of tokens). By default tokens "
        "where they are segments with spaces between them, say phones, as is then said; else graphemes."
    ),
]
TargetSymbols = Annotated[
    str | None, typer.Option(help="What targets are made of; by default as for sources, in a .dict tokens.")
]
ConfigPath = Annotated[Path | None, typer.Option(help="YAML file with settings; see --print-config.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", help="A single setting, say encoder.kind=cnn; repeatable.")
]
PrintConfig = Annotated[bool, typer.Option("--print-config", help="Show all settings as YAML and stop.")]
StartPath = Annotated[
    Path | None,
    typer.Option(
        "--from",
        help="A saved or shipped model that is to learn these pairs too; its settings are kept, but it learns "
        "slowly and in few steps, until all is right.",
        show_default=False,
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue the training in the folder.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the model in the folder.")]


def train(
    pairs: TrainingPairs = None,
    output: ModelFolder = None,
    model: ModelKind = None,
    validation: ValidationPairs = None,
    source_symbols: SourceSymbols = None,
    target_symbols: TargetSymbols = None,
    columns: Columns = None,
    config: ConfigPath = None,
    set_: Settings = None,
    print_config: PrintConfig = False,
    from_: StartPath = None,
    resume: Resume = False,
    overwrite: Overwrite = False,
) -> None:
    """Learn from a file of pairs.

    The training saves itself as it goes; after an interruption, a kill too, it goes on with `--resume`. A third column
    may have labels, 1 or 0: odds, matcher, cross-encoder and stance need them, the others learn from the positive pairs
    only.
    With labels of both kinds, in the file or in that of `--validation`, an edit distance decides too: see `nsed match`.

    **Settings to begin with**: of cognates, in any family, those of `configs/cognates-ie/concepts-cnn.yaml`, which
    docs/cognate-sets.md shows with figures of two families; of other tasks the default settings of a model.

    With `--from` a trained model learns more, say corrected words. Without `--validation` networks then hold nothing
    out.
    """
    from nsed.cli.recipes import TrainingRequest, config_of
    from nsed.config import from_mapping, parse_overrides, to_yaml
    from nsed.text import read_pairs

    chosen = {"model": model, "source_symbols": source_symbols, "target_symbols": target_symbols}
    given = parse_overrides(set_ or []) | {name: value for name, value in chosen.items() if value is not None}
    before = _settings_of(output, model) if output and resume else None
    start = None if from_ is None else _start(from_)
    values = _values(before, _suggested(pairs, start), config, given)
    names = split_columns(columns)
    if pairs and start is None and "model" not in values:
        values = {**values, "model": _suited(read_pairs(pairs, columns=names))}
    settings = from_mapping(config_of(_kind(values, start)), values, where=str(config or "settings"))
    if print_config:
        typer.echo(to_yaml(settings), nl=False)
        return
    if pairs is None or output is None:
        expected = "a file to learn from and a folder for the model"
        raise ArgumentError("PAIRS and OUTPUT", got="one of them" if pairs else "nothing", expected=expected)
    data, checked = read_pairs(pairs, columns=names), read_pairs(validation, columns=names) if validation else None
    if tokens := _tokens_in(data, settings, values):
        settings = from_mapping(type(settings), {**values, **tokens}, where=str(config or "settings"))
    request = TrainingRequest(data, checked, settings, output, resume, start)
    try:
        _carry_out(request, overwrite=overwrite)
    except KeyboardInterrupt:
        again = f" --from {from_}" if from_ else ""
        complain(f"interrupted; go on with: nsed train {pairs} {output} --resume{again}")
        raise typer.Exit(INTERRUPTED) from None


def _carry_out(request: TrainingRequest, *, overwrite: bool) -> None:
    from nsed.cli.recipes import train_model
    from nsed.train.run_folder import RunFolder
    from nsed.train.strategy import is_first_process

    if not is_first_process():
        train_model(request)
        return
    run = RunFolder(request.output)
    with run.lock():
        if not request.resume:
            _prepare(run, request.settings, keep=not overwrite)
        done = train_model(request)
        run.write_settings(request.settings)
    err.print(done, markup=False)
    err.print(f"saved to {request.output}", markup=False)


def _start(path: Path) -> Model:
    model = load_model(path)
    if not can(model, Capability.FINE_TUNE):
        expected = "an edit-distance, a matcher or a transducer: others cannot learn more"
        raise ArgumentError("--from", got=f"{path}, a {type(model).__name__}", expected=expected)
    return model


def _kind(values: dict[Any, Any], start: Model | None) -> str:
    """Model kind that is wanted; that of the model to start from, if there is one."""
    kind = str(values.get("model", "edit-distance"))
    if start is not None and kind != start.config.model:
        raise ArgumentError("--model", got=kind, expected=f"{start.config.model}, as the model to start from is one")
    return kind


def _suited(data: Pairs) -> str:
    """Model kind that suits the pairs, which is said, with the reason."""
    if len(set(data.labels or ())) == 2:
        err.print("labels of both kinds: a matcher in odds form learns from them (--model odds)", markup=False)
        return "odds"
    err.print("no labels of both kinds: a table of edit operations, by EM (--model edit-distance)", markup=False)
    return "edit-distance"


def _suggested(pairs: Path | None, start: Model | None) -> dict[str, Any]:
    """Default settings that nobody has to give: those of the model to start from, or what the data suggests."""
    from nsed.text import reader_for

    if start is not None:
        return asdict(start.fine_tuning_settings)
    kind = reader_for(pairs).target_symbols if pairs else "graphemes"
    return {} if kind == "graphemes" else {"target_symbols": kind}


def _tokens_in(data: Pairs, settings: StringConfig, values: dict[Any, Any]) -> dict[str, str]:
    """Symbol kinds that nobody chose, where strings are segments with spaces between them: tokens, which is said."""
    from nsed.text.symbols import looks_segmented
    from nsed.text.texts import Texts

    columns = {"source_symbols": data.sources, "target_symbols": data.targets}
    open_ = [name for name in columns if name not in values and getattr(settings, name) == "graphemes"]
    found = [name for name in open_ if looks_segmented(Texts.of(columns[name]).different)]
    if found:
        sides = " and ".join(f"{name.removesuffix('_symbols')}s" for name in found)
        options = " ".join(f"--{name.replace('_', '-')} tokens" for name in found)
        warn(
            f"{sides} are segments with spaces between them, and read as tokens ({options}); as graphemes, the spaces "
            "would be symbols too"
        )
    return dict.fromkeys(found, "tokens")


def _values(
    before: dict[Any, Any] | None, suggested: dict[str, Any], config: Path | None, given: dict[str, Any]
) -> dict[Any, Any]:
    """Config precedence: options over the file, the file over the training to resume, or over what suggests itself."""
    from nsed.config import flat, merged, read_yaml

    values: dict[Any, Any] = suggested if before is None else before
    if config is not None:
        values = merged(values, dict(flat(read_yaml(config))))
    return merged(values, given)


def _settings_of(output: Path, kind: str | None) -> dict[Any, Any]:
    """Settings of the training to resume. Raises `ModelFileError` where none was begun, or one of another kind."""
    from nsed.config import read_yaml
    from nsed.train.run_folder import SETTINGS, RunFolder

    if not (output / SETTINGS).exists():
        raise RunFolder(output).nothing_to_resume()
    values = read_yaml(output / SETTINGS)
    if kind not in (None, values.get("model")):
        begun = f"the training here is that of a model of kind {values.get('model')}, not {kind}"
        raise ModelFileError(output, f"{begun}: with --overwrite instead of --resume another one begins")
    return values


def _prepare(run: RunFolder, settings: Config, *, keep: bool) -> None:
    """Prepare the run folder and write the settings; what is there already is not overwritten by accident."""
    if keep and run.is_unfinished:
        message = "there is an unfinished training here: continue it with --resume, or --overwrite it"
        raise ModelFileError(run.path, message)
    if keep and run.has_model:
        message = "there is a model here already: continue it with --resume, or --overwrite it"
        raise ModelFileError(run.path, message)
    run.prepare(settings)
