"""`nsed train`: learn a model from a file of pairs."""

from __future__ import annotations

import shlex
import shutil
import time
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nsed.capabilities import Capability, can
from nsed.cli.arguments import Columns, Model, load_model, split_columns
from nsed.cli.console import complain, err
from nsed.errors import ArgumentError, ConfigError, ModelFileError, NsedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nsed.cli.recipes import Distillation, TrainingRequest
    from nsed.text import Pairs, StringConfig
    from nsed.train.run_folder import RunFolder

MEMBERS = "members"
"""Folder of the members' trainings, in that of a mixture: `nsed.models.mixture.MEMBERS`."""
INTERRUPTED = 130
"""SIGINT exit status, after Ctrl-C, as shells have it."""
FEW = 50
"""Pairs from which on a network learns by default."""


TrainingPairs = Annotated[
    Path | None,
    typer.Argument(help="File of pairs: TSV, CSV, CMUdict .dict, Parquet or Arrow.", show_default=False),
]
ModelFolder = Annotated[Path | None, typer.Argument(help="Folder for the model.", show_default=False)]
ModelKind = Annotated[
    str | None,
    typer.Option(
        help="edit-distance (a table of operations), transducer (with --models a mixture of several), or for "
        "labelled pairs odds (a table of log-odds, in a minute) or matcher (a network). To compare with: "
        "seq2seq, cross-encoder, stance; lookup, majority, levenshtein, jaro-winkler; sca, lexstat, phonetisaurus. "
        "A matcher-mixture is made of trained ones, by nsed mix. "
        "By default what the settings say; else odds for labelled pairs, edit-distance where both sides share an "
        "alphabet, transducer where not, as is then said.",
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
        help="What sources are made of: graphemes, codepoints, tokens between spaces, letters (of tokens), or "
        "phones (letters with their modifiers). By default auto: tokens where they are segments with spaces between "
        "them, phones of these for odds; codepoints in Hangul, abugidas and the like; else graphemes, as is then said."
    ),
]
TargetSymbols = Annotated[
    str | None, typer.Option(help="What targets are made of; by default as for sources, in a .dict tokens.")
]
ConfigPath = Annotated[Path | None, typer.Option(help="YAML file with settings; see --print-config.")]
Minutes = Annotated[
    float | None,
    typer.Option(
        help="For networks: a budget of time, in which the learning rate comes to its end too; of a Transducer, more "
        "than its recipe's steps are done in it. It is kept to a tenth from a minute on, loading and saving included; "
        "where kernels are still to be compiled, nothing takes less than about a quarter of a minute. With --models "
        "they are for each of the models.",
        show_default=False,
    ),
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", help="A single setting, say encoder.kind=cnn; repeatable.")
]
PrintConfig = Annotated[
    bool, typer.Option("--print-config", help="Show all settings as YAML and stop; with PAIRS those for them.")
]
StartPath = Annotated[
    Path | None,
    typer.Option(
        "--from",
        help="A saved or shipped model that is to learn these pairs too; its settings are kept, but it learns "
        "slowly and in few steps, until all is right.",
        show_default=False,
    ),
]
Models = Annotated[
    int | None,
    typer.Option(
        "--models",
        min=1,
        max=100,
        help="Transducers to train, one after the other, with seeds from train.seed on: a mixture, whose probability "
        "is the mean of theirs. They stay in OUTPUT/members.",
        show_default="1",
    ),
]
BothDirections = Annotated[
    bool,
    typer.Option(
        "--both-directions", help="For --models: every second one reads and writes strings from right to left."
    ),
]
TeacherPath = Annotated[
    Path | None,
    typer.Option(
        "--teacher",
        help="Distillation: a model that transduces, say a mixture; the new transducer learns its most probable "
        "targets, weighted by their probabilities, besides the targets of the pairs.",
        show_default=False,
    ),
]
WordsPath = Annotated[
    Path | None,
    typer.Option(
        "--words",
        help="For --teacher: file of more words, without targets, for the teacher to answer; one per line, or the "
        "source column of a table.",
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
    minutes: Minutes = None,
    config: ConfigPath = None,
    set_: Settings = None,
    print_config: PrintConfig = False,
    from_: StartPath = None,
    models: Models = None,
    both_directions: BothDirections = False,
    teacher: TeacherPath = None,
    words: WordsPath = None,
    resume: Resume = False,
    overwrite: Overwrite = False,
) -> None:
    """Train a model on a file of pairs.

    A third column may have labels, 1 or 0: where both occur, a matcher in odds form is trained, in a minute. Without
    them it is an edit distance (a table of operations) where both sides share an alphabet, else a transducer; `--model`
    chooses another; an edit distance, too, decides after training on labels. Checkpoints are saved on the way: after an
    interruption, also a kill, `--resume` goes on.

    **Settings** follow from the pairs and the device, and are shown; `--set` and other options change single ones; a
    file of `--config` with settings of `encoder` or `train` is taken as it is. For cognates see docs/cognate-sets.md.

    `--from` fine-tunes a trained model, say on corrected words; without `--validation`, networks hold out nothing.
    `--models 5` trains five transducers, a mixture with fewer errors than one; `--teacher` distils one into a new one.
    """
    begun = time.monotonic()  # before torch is loaded, which takes seconds of the minutes that are given
    from nsed.cli.recipes import TrainingRequest, config_of, plan_training
    from nsed.models.settings import named_settings
    from nsed.text import read_pairs

    symbols = {"source_symbols": source_symbols, "target_symbols": target_symbols}
    given = _given(set_, {"model": model, "train.minutes": minutes, **symbols})
    before = _settings_of(output, model) if output and resume else None
    start = None if from_ is None else _start(from_)
    values = _values(before, _suggested(pairs, start), config, given)
    names = split_columns(columns)
    data = read_pairs(pairs, columns=names) if pairs and (output or print_config) else None
    if data is not None and start is None and "model" not in values:
        values = {**values, "model": _suited(data, values, writes=bool(models or teacher))}
    kind = _with_minutes(config_of(_kind(values, start)), minutes)
    settings = _resolved(kind, values, where=str(config or "settings"))
    checked = read_pairs(validation, columns=names) if validation else None
    settings = plan_training(settings, None if before or start else named_settings(config, given), data, checked)
    if print_config:
        return _print_config(settings)
    if pairs is None or data is None or output is None:
        raise _nothing_to_do(pairs)
    several = _several(output, settings.model, models, both_directions=both_directions, resume=resume)
    taught = _distillation(teacher, words)
    request = TrainingRequest(data, checked, settings, output, resume, start, *several, taught, begun)
    with _interruptible(_how_to_go_on(pairs, output, {"--from": from_, "--teacher": teacher, "--words": words})):
        _carry_out(request, overwrite=overwrite)


def _print_config(settings: StringConfig) -> None:
    from nsed.config import to_yaml

    typer.echo(to_yaml(settings), nl=False)


def _nothing_to_do(pairs: Path | None) -> ArgumentError:
    expected = "a file to learn from and a folder for the model"
    return ArgumentError("PAIRS and OUTPUT", got="one of them" if pairs else "nothing", expected=expected)


@contextmanager
def _interruptible(advice: str) -> Iterator[None]:
    """What to say after Ctrl-C: how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        complain(advice)
        raise typer.Exit(INTERRUPTED) from None


def _given(settings: list[str] | None, options: dict[str, Any]) -> dict[str, Any]:
    """Settings that the user gave one by one: options over `--set`."""
    from nsed.config import parse_overrides

    return parse_overrides(settings or []) | {name: value for name, value in options.items() if value is not None}


def _how_to_go_on(pairs: Path, output: Path, named: dict[str, Path | None]) -> str:
    again = [part for option, path in named.items() if path for part in (option, str(path))]
    return f"interrupted; go on with: {shlex.join(['nsed', 'train', str(pairs), str(output), '--resume', *again])}"


def _carry_out(request: TrainingRequest, *, overwrite: bool) -> None:
    from nsed.cli.recipes import notes_of, train_model
    from nsed.train.run_folder import RunFolder
    from nsed.train.strategy import is_first_process

    _check_alone(request)
    if not is_first_process():
        train_model(request)
        return
    for note in notes_of(request.settings):
        err.print(note, markup=False)
    run = RunFolder(request.output)
    with run.lock(), nullcontext() if request.resume else _prepared(run, request, keep=not overwrite):
        done = train_model(request)
        run.write_settings(request.settings)
    err.print(done, markup=False)
    err.print(f"saved to {request.output}", markup=False)


def _with_minutes(kind: type[StringConfig], minutes: float | None) -> type[StringConfig]:
    """Kind of settings, which may have minutes. Raises `ArgumentError` where nothing is trained by steps."""
    if minutes is not None and "train" not in kind.__dataclass_fields__:
        raise ArgumentError("--minutes", got=minutes, expected=f"none with {kind.model}, which has no network to train")
    return kind


def _resolved(kind: type[StringConfig], values: dict[Any, Any], *, where: str) -> StringConfig:
    """Settings of a kind. Raises `ConfigError`, which says of a key that only other kinds have which ones these are."""
    from nsed.config import from_mapping

    try:
        return from_mapping(kind, values, where=where)
    except ConfigError as error:
        raise ConfigError(where, [_with_kinds(fault) for fault in error.faults]) from None


def _with_kinds(fault: str) -> str:
    """Fault of an unknown key, with the kinds that have it, or one that was probably meant."""
    from nsed.cli.recipes import KINDS, config_of
    from nsed.config import has_key, probable_key

    name, unknown, listed = fault.partition(": no such key; known: ")
    meant: dict[str, list[str]] = {}
    trained = [kind for kind in KINDS if not kind.endswith("mixture")]  # these are made of other models
    for kind in trained if unknown and "." not in name else ():
        key = name if has_key(config_of(kind), name) else probable_key(name, config_of(kind))
        meant.setdefault(key or "", []).append(kind)
    meant.pop("", None)
    if not meant:
        return fault
    key = name if name in meant else max(meant, key=lambda one: len(meant[one]))
    it = f"it is {'one' if key == name else repr(key)} of --model {', '.join(meant[key])}"
    return f"{name}: no such key; {it}; known here: {listed}"


def _several(output: Path, kind: str, models: int | None, *, both_directions: bool, resume: bool) -> tuple[int, bool]:
    """How many models to train, and whether in both directions; of a training to resume, as it began."""
    from nsed.train.run_folder import RunFolder

    begun = RunFolder(output).facts if resume else {}
    if resume and not begun and (output / MEMBERS).is_dir() and models is None:  # killed before it wrote how many
        raise ArgumentError("--models", got="nothing", expected="as many as the mixture in this folder is to have")
    if begun and models not in (None, begun.get("models", 1)):
        expected = f"{begun.get('models', 1)}, as many as this training has, or nothing"
        raise ArgumentError("--models", got=models, expected=expected)
    count = begun.get("models", models or 1)
    both = begun.get("both_directions", both_directions)
    if kind == "mixture" or (count > 1 and kind != "transducer"):
        raise ArgumentError(
            "--model", got=kind, expected="transducer, with --models 5, say: a mixture is made of these"
        )
    if both and count == 1:
        raise ArgumentError("--both-directions", got="a single model", expected="--models 2 or more beside it")
    return count, both


def _distillation(teacher: Path | None, words: Path | None) -> Distillation | None:
    """Teacher, and the words that only it has answers for."""
    from nsed.cli.recipes import Distillation
    from nsed.text.readers import read_sources

    if teacher is None:
        if words is not None:
            raise ArgumentError("--words", got=words, expected="nothing without --teacher, who answers for them")
        return None
    model = load_model(teacher)
    if not can(model, Capability.TRANSDUCE):
        raise ArgumentError("--teacher", got=f"{teacher}, which scores pairs only", expected="a model that transduces")
    return Distillation(model, list(read_sources(words).texts) if words else [])


def _check_alone(request: TrainingRequest) -> None:
    """Raise `ArgumentError` where a mixture or a student is wanted together with what it cannot be.

    A student may start from a trained model.
    """
    ways = {"--from": request.start, "--models": request.models > 1, "--teacher": request.distillation}
    named = [option for option, wanted in ways.items() if wanted]
    if len(named) > 1 and named != ["--from", "--teacher"]:
        raise ArgumentError(named[1], got=f"it beside {named[0]}", expected="one of them at a time")
    if request.distillation and request.settings.model != "transducer":
        got = f"a student of kind {request.settings.model}"
        raise ArgumentError("--teacher", got=got, expected="--model transducer beside it")


def _start(path: Path) -> Model:
    model = load_model(path)
    if not can(model, Capability.FINE_TUNE):
        expected = (
            "odds, an edit-distance, a matcher, a transducer or a matcher-mixture of such: others cannot learn more"
        )
        raise ArgumentError("--from", got=f"{path}, a {type(model).__name__}", expected=expected)
    return model


def _kind(values: dict[Any, Any], start: Model | None) -> str:
    """Model kind that is wanted; that of the model to start from, if there is one, as mixtures of Matchers need one."""
    kind = str(values.get("model", "edit-distance"))
    if start is not None and kind != start.config.model:
        raise ArgumentError("--model", got=kind, expected=f"{start.config.model}, as the model to start from is one")
    if kind == "matcher-mixture" and start is None:
        raise ArgumentError("--model", got=kind, expected="odds or matcher: nsed mix makes one of several")
    return kind


def _suited(data: Pairs, values: dict[Any, Any], *, writes: bool) -> str:
    """Model kind that suits the pairs, and the settings and options that were given; it is said, with the reason."""
    from nsed.models.edit_distance import EditDistanceConfig
    from nsed.models.matcher import MatcherConfig
    from nsed.models.odds_training import OddsConfig
    from nsed.models.transducer import TransducerConfig
    from nsed.text import AlphabetConfig, choose_symbols
    from nsed.text.symbols import have_one_alphabet

    cut = {name: values[name] for name in AlphabetConfig.__dataclass_fields__.keys() & values.keys()}
    labelled = len(set(data.labels or ())) == 2
    if writes:
        kind, why = "transducer", "--models and --teacher are for these"
    elif labelled and _says_more(values, MatcherConfig, OddsConfig):
        kind, why = "matcher", "labels of both kinds and settings of a network: a matcher that is one"
    elif labelled:
        kind, why = "odds", "labels of both kinds: a matcher in odds form learns from them"
    elif _says_more(values, EditDistanceConfig, AlphabetConfig):
        kind, why = "edit-distance", "settings of an edit distance: a table of edit operations, by EM"
    elif _says_more(values, TransducerConfig, EditDistanceConfig):
        kind, why = "transducer", "settings of a network, and no labels of both kinds: a transducer"
    elif len(data) < FEW:
        kind, why = (
            "edit-distance",
            f"fewer than {FEW} pairs, not of both labels: a table of edit operations, by EM",
        )
    elif have_one_alphabet(data, choose_symbols(AlphabetConfig(**cut), data)):
        kind, why = "edit-distance", "no labels of both kinds, one alphabet: a table of edit operations, by EM"
    else:
        kind, why = "transducer", "no labels of both kinds, two alphabets: a transducer learns to write the targets"
    err.print(f"{why} (--model {kind})", markup=False)
    return kind


def _says_more(values: dict[Any, Any], kind: type[StringConfig], plain: type[StringConfig]) -> bool:
    """Whether some values are settings that one kind has and a plainer one lacks; budgets of a training say nothing."""
    own = kind.__dataclass_fields__.keys() - plain.__dataclass_fields__.keys() - {"train"}
    return not own.isdisjoint(values)


def _suggested(pairs: Path | None, start: Model | None) -> dict[str, Any]:
    """Default settings that nobody has to give: those of the model to start from, or what the data suggests."""
    from nsed.text import reader_for

    if start is not None:
        return asdict(start.fine_tuning_settings)
    kind = reader_for(pairs).target_symbols if pairs else "graphemes"
    return {} if kind == "graphemes" else {"target_symbols": kind}


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


@contextmanager
def _prepared(run: RunFolder, request: TrainingRequest, *, keep: bool) -> Iterator[None]:
    """Prepare the run folder and write the settings; what is there already is not overwritten by accident."""
    if keep and run.is_unfinished:
        message = "there is an unfinished training here: continue it with --resume, or --overwrite it"
        raise ModelFileError(run.path, message)
    if keep and run.has_model:
        raise _finished(run)
    from nsed.train.run_folder import FACTS

    members = run.path / MEMBERS
    with run.prepared(request.settings):
        shutil.rmtree(members, ignore_errors=True)  # of an earlier mixture
        if request.models > 1:
            members.mkdir()
        try:
            yield
        except NsedError:
            with suppress(OSError):  # where a member has begun, it is not empty
                members.rmdir()
                (run.path / FACTS).unlink(missing_ok=True)  # nothing has begun, whatever a mixture has said of it
            raise


def _finished(run: RunFolder) -> ModelFileError:
    """Error for a folder with a finished model: a table goes on with more iterations, a network learns on elsewhere."""
    from nsed.train.saved_model import read_description

    kind = read_description(run.path)["kind"]
    if kind == "edit-distance":
        advice = "continue it with --resume, or --overwrite it"
    else:
        advice = "choose another folder, or --overwrite it"
    if kind in ("odds", "matcher", "transducer"):
        advice += f"; with --from {shlex.quote(str(run.path))} and another folder, it learns more there"
    return ModelFileError(run.path, f"there is a model here already: {advice}")
