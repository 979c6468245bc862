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
    RowFormat,
    RowFormatOption,
    load_model,
    open_output,
    pairs_from,
    write_rows,
)
from nsed.cli.console import out, progress_bar
from nsed.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from collections.abc import Callable

    from nsed.models.transduction import Transduction


def score(
    model: ModelPath,
    pairs: PairsPath = None,
    pair: OnePair = None,
    columns: Columns = None,
    format_: RowFormatOption = RowFormat.TSV,
    output: Output = None,
) -> None:
    """Give each pair its log-probability: `source`, `target`, `score`.

    Of an edit distance that is log p(source, target), of a transducer or seq2seq log p(target | source), of a matcher
    log alpha, of a cross-encoder and of stance the log-probability that the pair matches.
    """
    scorer, data = load_model(model), pairs_from(pairs, columns, pair)
    with progress_bar("scoring", len(data)) as bar:
        scores = scorer.score(data, on_batch=bar.advance)
    rows = zip(data.sources, data.targets, scores.tolist(), strict=True)
    write_rows(output, format_, ({"source": s, "target": t, "score": value} for s, t, value in rows))


def match(
    model: ModelPath,
    pairs: PairsPath = None,
    pair: OnePair = None,
    columns: Columns = None,
    format_: RowFormatOption = RowFormat.TSV,
    output: Output = None,
) -> None:
    """Decide whether each pair matches: `source`, `target`, `match` (1 or 0), calibrated `probability`."""
    matcher = load_model(model)
    if not can(matcher, Capability.MATCH):
        expected = "a matcher, or another model of labelled pairs"
        raise ArgumentError("MODEL", got=f"{model}, which makes no decisions", expected=expected)
    data = pairs_from(pairs, columns, pair)
    with progress_bar("matching", len(data)) as bar:
        scores = matcher.score(data, on_batch=bar.advance)
    answers = zip((scores >= matcher.threshold).tolist(), matcher.calibration.probability(scores).tolist(), strict=True)
    rows = zip(data, answers, strict=True)
    write_rows(
        output,
        format_,
        ({"source": s, "target": t, "match": decision, "probability": p} for (s, t), (decision, p) in rows),
    )


Sources = Annotated[Path, typer.Argument(help="File with a source per line; - is standard input.")]
Text = Annotated[list[str] | None, typer.Option(help="A source instead of a file; repeatable.", show_default=False)]
Nbest = Annotated[int, typer.Option(min=1, help="Targets per source, best first, a line each.")]
Beam = Annotated[int | None, typer.Option(min=1, help="Prefixes followed at once; 1 is greedy, wider is slower.")]
Sample = Annotated[
    int | None, typer.Option(min=1, help="Draw so many targets per source by their probability instead.")
]
Seed = Annotated[int, typer.Option(help="For --sample: another number draws other targets.")]
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
    sources: Sources = Path("-"),
    text: Text = None,
    nbest: Nbest = 1,
    beam: Beam = None,
    sample: Sample = None,
    seed: Seed = 0,
    overrides: OverridesPath = None,
    format_: RowFormatOption = RowFormat.TSV,
    output: Output = None,
) -> None:
    """Give each source its most probable target: `source`, `target`, `log_prob`.

    With `--overrides` a fourth column, `exception`, is 1 where the file gave the target; its `log_prob` is the model's
    own. The model's targets follow, with `--nbest`.
    """
    transducer = _transducer(model, sample)
    if overrides is not None and sample is not None:
        raise ArgumentError("--overrides", got=overrides, expected="none beside --sample, which draws from the model")
    strings = text or _lines(sources)
    with progress_bar("transducing", len(strings), unit="words") as bar:
        if sample is None:
            options = {"nbest": nbest, "beam": beam, "overrides": overrides}
            found = transducer.transduce(strings, **options, on_batch=bar.advance)
        else:
            found = transducer.sample(strings, count=sample, seed=seed, on_batch=bar.advance)
    answers = ((source, one) for source, best in zip(strings, found, strict=True) for one in best)
    write_rows(output, format_, (_row(source, one, marked=overrides is not None) for source, one in answers))


def _transducer(path: Path, sample: int | None) -> Model:
    model = load_model(path)
    if not can(model, Capability.TRANSDUCE):
        raise ArgumentError("MODEL", got=f"{path}, which scores pairs only", expected="a transducer")
    if sample is not None and not can(model, Capability.SAMPLE):
        raise ArgumentError("--sample", got=sample, expected="nothing: this model does not draw")
    return model


def _row(source: str, answer: Transduction, *, marked: bool) -> dict[str, object]:
    mark = {"exception": answer.override} if marked else {}
    return {"source": source, "target": answer.text, "log_prob": answer.log_prob, **mark}


def _lines(path: Path) -> list[str]:
    from nsed.text.readers.lines import STDIN, open_text

    if path != STDIN and not path.exists():
        raise DataError(path, f"no such file; a source on the command line goes after --text: --text {path}")
    with open_text(path) as stream:
        return [line.rstrip("\r\n") for line in stream]


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
