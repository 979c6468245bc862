"""`nsed score`, `match`, `transduce` and `align`: a model's answers to pairs, or to sources."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nsed.capabilities import Capability, can
from nsed.cli.arguments import (
    Columns,
    Model,
    ModelPath,
    OnePair,
    Output,
    PairsPath,
    load_model,
    open_output,
    pairs_from,
)
from nsed.cli.console import err, out, progress_bar
from nsed.cli.tables import (
    Header,
    OnError,
    OnErrorOption,
    Rejects,
    RejectsFile,
    RowFormatOption,
    Table,
    TableFile,
    TableOutput,
    answered,
    other_columns,
)
from nsed.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from collections.abc import Callable

    from nsed.models.transduction import Transduction
    from nsed.text import Pairs
    from nsed.text.readers.delimited import Sources


def score(
    model: ModelPath,
    pairs: PairsPath = None,
    pair: OnePair = None,
    columns: Columns = None,
    on_error: OnErrorOption = OnError.STOP,
    rejects: RejectsFile = None,
    format_: RowFormatOption = None,
    header: Header = True,
    output: TableFile = None,
) -> None:
    """Give each pair its log-probability: `source`, `target`, `score`.

    Of an edit distance that is log p(source, target), of a transducer, mixture or seq2seq log p(target | source), of a
    matcher log alpha, of a cross-encoder and of stance the log-probability that the pair matches. The other columns of
    the input follow.
    """
    written, rejected = TableOutput.of(output, format_, header), Rejects(on_error, rejects)
    scorer, data = load_model(model), _kept_pairs(pairs, columns, pair, rejected, written)
    with progress_bar("scoring", len(data)) as bar:
        scores = scorer.score(data, on_batch=bar.advance)
    written.write(_answered_pairs(data, {"score": scores.tolist()}))


def match(
    model: ModelPath,
    pairs: PairsPath = None,
    pair: OnePair = None,
    columns: Columns = None,
    on_error: OnErrorOption = OnError.STOP,
    rejects: RejectsFile = None,
    format_: RowFormatOption = None,
    header: Header = True,
    output: TableFile = None,
) -> None:
    """Decide whether each pair matches: `source`, `target`, `match` (1 or 0), calibrated `probability`.

    The other columns of the input follow. Pairs match from the model's threshold on, the one with the best F1 on
    validation pairs. As a probability it is mostly not one half: the command says, on standard error, which it is.
    Another border is another decision: compare the probabilities with it.
    """
    written, rejected = TableOutput.of(output, format_, header), Rejects(on_error, rejects)
    matcher = load_model(model)
    if not can(matcher, Capability.MATCH):
        expected = "a matcher, or another model that has learned from labelled pairs"
        advice = "An edit distance has a threshold if trained on labelled pairs, or with --validation LABELLED."
        raise ArgumentError("MODEL", got=f"{model}, which makes no decisions", expected=expected, advice=advice)
    data = _kept_pairs(pairs, columns, pair, rejected, written)
    with progress_bar("matching", len(data)) as bar:
        scores = matcher.score(data, on_batch=bar.advance)
    err.print(
        f"match: probability of at least {matcher.threshold_probability:.6f}, the model's threshold", markup=False
    )
    decisions, probabilities = scores >= matcher.threshold, matcher.calibration.probability(scores)
    written.write(_answered_pairs(data, {"match": decisions.tolist(), "probability": probabilities.tolist()}))


def _kept_pairs(
    path: Path | None, columns: str | None, pair: tuple[str, str] | None, rejects: Rejects, output: TableOutput
) -> Pairs:
    """Pairs to answer, with all columns that the output is to have; what it cannot hold is refused now."""
    try:
        data = pairs_from(path, columns, pair, keep_others=True, on_reject=rejects.on_reject)
    finally:
        rejects.report()
    output.check(_answered_pairs(data, {}))
    return data


def _answered_pairs(pairs: Pairs, answers: Table) -> Table:
    return answered({"source": pairs.sources, "target": pairs.targets}, answers, other_columns(pairs))


SourcesPath = Annotated[
    Path,
    typer.Argument(
        help="File with a source per line, or a table, TSV, CSV, Parquet or Arrow, with a column of them, see "
        "--column; - is standard input."
    ),
]
SourceColumn = Annotated[
    str | None,
    typer.Option(
        "--column",
        "--columns",
        help="Name of the source column of a table with a header; by default source, or the first.",
        show_default=False,
    ),
]
Text = Annotated[list[str] | None, typer.Option(help="A source instead of a file; repeatable.", show_default=False)]
Nbest = Annotated[int, typer.Option(min=1, help="Targets per source, best first, a line each.")]
Beam = Annotated[
    int | None, typer.Option(min=1, help="Prefixes followed at once, at most 1,000; 1 is greedy, wider is slower.")
]
Sample = Annotated[
    int | None, typer.Option(min=1, help="Draw so many targets per source by their probability instead.")
]
Seed = Annotated[int, typer.Option(help="For --sample: another number draws other targets.")]
Language = Annotated[
    str | None,
    typer.Option(help="Language of the sources, for a transducer of several languages.", show_default=False),
]
OverridesPath = Annotated[
    Path | None,
    typer.Option(
        "--overrides",
        "--exceptions",
        help="File of pairs whose targets come first, whatever the model says; a fourth column marks them.",
    ),
]


def transduce(
    model: ModelPath,
    sources: SourcesPath = Path("-"),
    text: Text = None,
    column: SourceColumn = None,
    nbest: Nbest = 1,
    beam: Beam = None,
    sample: Sample = None,
    seed: Seed = 0,
    language: Language = None,
    overrides: OverridesPath = None,
    on_error: OnErrorOption = OnError.STOP,
    rejects: RejectsFile = None,
    format_: RowFormatOption = None,
    header: Header = True,
    output: TableFile = None,
) -> None:
    """Give each source its most probable target: `source`, `target`, `log_prob`.

    With `--overrides` a fourth column, `exception`, is 1 where the file gave the target; its `log_prob` is the model's
    own. The model's targets follow, with `--nbest`. The other columns of a table are kept, in each row of a source.
    """
    written, rejected = TableOutput.of(output, format_, header), Rejects(on_error, rejects)
    transducer = _transducer(model, sample, language)
    if overrides is not None and sample is not None:
        raise ArgumentError("--overrides", got=overrides, expected="none beside --sample, which draws from the model")
    given = _sources(sources, text, column, rejected)
    written.check(answered({"source": given.texts}, {}, given.others))
    with progress_bar("transducing", len(given.texts), unit="words") as bar:
        if sample is None:
            options = {"nbest": nbest, "beam": beam, "overrides": overrides}
            found = transducer.transduce(given.texts, **options, on_batch=bar.advance)
        else:
            found = transducer.sample(given.texts, count=sample, seed=seed, on_batch=bar.advance)
    written.write(_answered_sources(given, found, marked=overrides is not None))


def _sources(path: Path, text: list[str] | None, column: str | None, rejects: Rejects) -> Sources:
    from nsed.text.readers import read_sources
    from nsed.text.readers.delimited import Sources
    from nsed.text.readers.lines import STDIN

    if text:
        if column is not None:
            raise ArgumentError("--column", got=column, expected="nothing beside --text")
        return Sources(text)
    if path != STDIN and not path.exists():
        raise DataError(path, f"no such file; a source on the command line goes after --text: --text {path}")
    try:
        return read_sources(path, column=column, on_reject=rejects.on_reject)
    finally:
        rejects.report()


def _answered_sources(given: Sources, found: list[list[Transduction]], *, marked: bool) -> Table:
    """Output rows: as many for each source as it has answers."""
    import numpy as np

    rows = np.array([row for row, best in enumerate(found) for _ in best], dtype=np.int64)
    answers = [one for best in found for one in best]
    mark = {"exception": [one.override for one in answers]} if marked else {}
    named = {"target": [one.text for one in answers], "log_prob": [one.log_prob for one in answers], **mark}
    others = None if given.others is None else given.others.take(rows)
    return answered({"source": [given.texts[row] for row in rows.tolist()]}, named, others)


def _transducer(path: Path, sample: int | None, language: str | None) -> Model:
    model = load_model(path)
    if not can(model, Capability.TRANSDUCE):
        raise ArgumentError("MODEL", got=f"{path}, which scores pairs only", expected="a transducer")
    if sample is not None and not can(model, Capability.SAMPLE):
        raise ArgumentError("--sample", got=sample, expected="nothing: this model does not draw")
    if language is None:
        return model
    if getattr(model, "languages", None) is None:
        raise ArgumentError("--language", got=language, expected="nothing: this model knows no languages")
    return model.for_language(language)


class ScriptFormat(StrEnum):
    """Output format of scripts."""

    TEXT = "text"
    TABLE = "table"
    JSON = "json"
    PHARAOH = "pharaoh"
    OPCODES = "opcodes"


ScriptFormatOption = Annotated[
    ScriptFormat,
    typer.Option(
        "--format",
        help="text: operations in a line; table: source above target; json; pharaoh: i-j pairs from 0; "
        "opcodes: as in difflib and rapidfuzz.",
    ),
]


def align(
    model: ModelPath,
    pairs: PairsPath = None,
    pair: OnePair = None,
    columns: Columns = None,
    format_: ScriptFormatOption = ScriptFormat.TEXT,
    output: Output = None,
) -> None:
    """Show the most probable edit operations of each pair.

    In text, `a` stays, `a→b` is substituted, `-a` deleted and `+b` inserted. A seq2seq model has no operations, only
    links, `--format pharaoh`: for each target symbol the source symbol that its attention looked at most.
    """
    aligner, data = load_model(model), pairs_from(pairs, columns, pair)
    with progress_bar("aligning", len(data)) as bar:
        answer = aligner.links if format_ is ScriptFormat.PHARAOH else aligner.align_all
        found = answer(data, on_batch=bar.advance)
    if format_ is ScriptFormat.TEXT and output is None and out.is_terminal:
        for script in found:
            out.print(script)
        return
    write = _script_writers()[format_]
    with open_output(output) as stream:
        stream.writelines(write(one) + "\n" for one in found)


def _script_writers() -> dict[ScriptFormat, Callable[[Any], str]]:
    from nsed.text import EditScript, pharaoh

    return {
        ScriptFormat.TEXT: EditScript.to_text,
        ScriptFormat.TABLE: lambda script: script.to_table() + "\n",
        ScriptFormat.JSON: EditScript.to_json,
        ScriptFormat.PHARAOH: pharaoh,
        ScriptFormat.OPCODES: lambda script: json.dumps(script.opcodes()),
    }
