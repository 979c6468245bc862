"""`nsed score`, `match`, `transduce`, `align` and `lexicon`: a model's answers to pairs, or to sources."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from enum import StrEnum
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from nsed.capabilities import Capability, can
from nsed.cli.arguments import (
    Columns,
    Language,
    Model,
    ModelPath,
    OnePair,
    Output,
    PairsPath,
    PairsPaths,
    load_model,
    makes_no_decisions,
    open_output,
    pairs_from,
    split_columns,
)
from nsed.cli.console import err, out, progress_bar
from nsed.cli.tables import (
    EngineOption,
    Header,
    Ids,
    JobOutput,
    Master,
    OnError,
    OnErrorOption,
    Overwrite,
    RejectsFile,
    Resume,
    RowFormatOption,
    ShardRows,
    engine_of,
    job_progress,
    report_rejects,
    telling_interruption,
)
from nsed.errors import ArgumentError, DataError
from nsed.progress import reuse_freed_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nsed.jobs import JobSummary, TableJob
    from nsed.text import Pairs
    from nsed.text.readers.delimited import Sources


def score(
    model: ModelPath,
    pairs: PairsPaths = None,
    pair: OnePair = None,
    columns: Columns = None,
    language: Language = None,
    ids: Ids = None,
    on_error: OnErrorOption = OnError.STOP,
    rejects: RejectsFile = None,
    format_: RowFormatOption = None,
    header: Header = True,
    output: JobOutput = None,
    resume: Resume = False,
    overwrite: Overwrite = False,
    shard_rows: ShardRows = None,
    engine: EngineOption = "local",
    master: Master = "local[*]",
) -> None:
    """Score each pair by its log-probability, log-odds or log-likelihood ratio: `source`, `target`, `score`.

    An edit distance gives log p(source, target), a transducer, mixture or seq2seq log p(target | source), a matcher
    network log alpha, a cross-encoder or stance the log-probability of a match. A matcher in odds form gives the
    log-odds of a match, an edit distance with `relative` the log-likelihood ratio of the pair against chance: above 0
    is evidence for a match. Similarities, say of levenshtein, are from 0 to 1. `nsed match` has probabilities.

    The other columns of the input follow. Files may be of any size, `nsed score MODEL 'pairs/*.parquet' -o
    scores.parquet --id id`: what is done is kept in `scores.parquet.parts`, and `--resume` goes on after a kill.
    """
    given, names = _pair_inputs(pairs, pair, columns), split_columns(ids) or []
    job = _job(given, output, columns=split_columns(columns), ids=names, on_error=on_error, rejects=rejects)
    job = replace(job, format=format_, header=header, resume=resume, overwrite=overwrite, shard_rows=shard_rows)
    job = replace(job, engine=engine_of(engine, master))
    job.check()
    scorer = load_model(model, language)
    _run(job, lambda job: job.score(scorer))


def match(
    model: ModelPath,
    pairs: PairsPaths = None,
    pair: OnePair = None,
    columns: Columns = None,
    ids: Ids = None,
    on_error: OnErrorOption = OnError.STOP,
    rejects: RejectsFile = None,
    format_: RowFormatOption = None,
    header: Header = True,
    output: JobOutput = None,
    resume: Resume = False,
    overwrite: Overwrite = False,
    shard_rows: ShardRows = None,
    engine: EngineOption = "local",
    master: Master = "local[*]",
) -> None:
    """Decide whether each pair matches: `source`, `target`, `match` (1 or 0), calibrated `probability`.

    The other columns of the input follow. Pairs match from the model's threshold on, the one with the best F1 on
    validation pairs. As a probability it is mostly not one half: the command says, on standard error, which it is.
    Another border is another decision: compare the probabilities with it. Files may be of any size, as those of `nsed
    score`: `nsed match MODEL pairs.parquet -o matches.parquet`, and `--resume` after a kill.
    """
    given, names = _pair_inputs(pairs, pair, columns), split_columns(ids) or []
    job = _job(given, output, columns=split_columns(columns), ids=names, on_error=on_error, rejects=rejects)
    job = replace(job, format=format_, header=header, resume=resume, overwrite=overwrite, shard_rows=shard_rows)
    job = replace(job, engine=engine_of(engine, master))
    job.check()
    matcher = load_model(model)
    if not can(matcher, Capability.MATCH):
        raise makes_no_decisions(model)
    err.print(
        f"match: probability of at least {matcher.threshold_probability:.6f}, the model's threshold", markup=False
    )
    _run(job, lambda job: job.match(matcher))


def _pair_inputs(
    paths: list[str] | None, pair: tuple[str, str] | None, columns: str | None
) -> Sequence[str | Path] | Pairs:
    """What the user means: files, or a single pair."""
    if paths and pair is None:
        return paths
    return pairs_from(None if not paths else Path(paths[0]), columns, pair)


def _job(
    inputs: Sequence[str | Path] | Pairs | Sources,
    output: str | None,
    *,
    columns: list[str] | None,
    ids: Sequence[str],
    on_error: OnError,
    rejects: Path | None,
) -> TableJob:
    """Job that the user means."""
    from nsed.jobs import TableJob
    from nsed.text import Pairs

    named = None if isinstance(inputs, Pairs) else columns
    return TableJob(inputs, output, named, ids, on_error=on_error.value, rejects=rejects)


def _run(job: TableJob, act: Callable[[TableJob], JobSummary], *, unit: str = "pairs") -> None:
    reuse_freed_memory()
    with telling_interruption():
        summary = act(replace(job, progress=job_progress(unit)))
    report_rejects(summary)


SourcesPaths = Annotated[
    list[str] | None,
    typer.Argument(
        help="Files with a source per line, or tables, TSV, CSV, Parquet or Arrow, with a column of them, see "
        "--column; globs; folders; by default and for - standard input.",
        show_default=False,
    ),
]
SourceColumn = Annotated[
    str | None,
    typer.Option(
        "--column",
        "--columns",
        help="Name of the source column of a table with a header; by default source, or the first. word,lang: for a "
        "transducer of several languages that of their languages too; by default source_language.",
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
OverridesPath = Annotated[
    Path | None,
    typer.Option(
        "--overrides",
        help="File of pairs whose targets come first, whatever the model says; a fourth column marks them.",
    ),
]
FormerOverridesPath = Annotated[Path | None, typer.Option("--exceptions", hidden=True)]
"""The old name of `--overrides`, until 2.0."""


def transduce(
    model: ModelPath,
    sources: SourcesPaths = None,
    text: Text = None,
    column: SourceColumn = None,
    nbest: Nbest = 1,
    beam: Beam = None,
    sample: Sample = None,
    seed: Seed = 0,
    language: Language = None,
    overrides: OverridesPath = None,
    exceptions: FormerOverridesPath = None,
    ids: Ids = None,
    on_error: OnErrorOption = OnError.STOP,
    rejects: RejectsFile = None,
    format_: RowFormatOption = None,
    header: Header = True,
    output: JobOutput = None,
    resume: Resume = False,
    overwrite: Overwrite = False,
    shard_rows: ShardRows = None,
    engine: EngineOption = "local",
    master: Master = "local[*]",
) -> None:
    """Give each source its most probable target: `source`, `target`, `log_prob`.

    With `--overrides` a fourth column, `override`, is 1 where the file gave the target; its `log_prob` is the model's
    own. The model's targets follow, with `--nbest`. The other columns of a table are kept, in each row of a source.
    Files may be of any size, as those of `nsed score`: `nsed transduce g2p-en words.txt -o phones.parquet`, and
    `--resume` after a kill. A transducer of several languages reads a row's own in a column, see `--column`.
    """
    overrides, given = overrides or exceptions, _source_inputs(sources, text, column)
    names, chosen = split_columns(ids) or [], split_columns(column)
    if chosen is not None and len(chosen) > 2:
        raise ArgumentError(
            "--column", got=column, expected="the column of the sources, and perhaps of their languages"
        )
    job = _job(given, output, columns=chosen, ids=names, on_error=on_error, rejects=rejects)
    job = replace(job, format=format_, header=header, resume=resume, overwrite=overwrite, shard_rows=shard_rows)
    job = replace(job, engine=engine_of(engine, master))
    job.check()
    transducer = transducer_from(model, sample, language)
    if overrides is not None and sample is not None:
        raise ArgumentError("--overrides", got=overrides, expected="none beside --sample, which draws from the model")
    if sample is not None:
        _run(job, lambda job: job.sample(transducer, count=sample, seed=seed), unit="words")
    else:
        _run(job, lambda job: job.transduce(transducer, nbest=nbest, beam=beam, overrides=overrides), unit="words")


def _source_inputs(
    paths: list[str] | None, text: list[str] | None, column: str | None
) -> Sequence[str | Path] | Sources:
    from nsed.text.readers.delimited import Sources

    if text:
        if column is not None:
            raise ArgumentError("--column", got=column, expected="nothing beside --text")
        return Sources(text)
    for path in paths or ():
        if path != "-" and not has_magic(path) and not Path(path).exists():
            advice = f"a source on the command line goes after --text: --text {shlex.quote(path)}"
            raise DataError(path, f"no such file; {advice}")
    return paths or ["-"]


def transducer_from(path: Path, sample: int | None, language: str | None) -> Model:
    """Transducer in a folder, for a language where it knows several. Raises `ArgumentError` where it cannot do that."""
    model = load_model(path, language)
    if not can(model, Capability.TRANSDUCE):
        raise ArgumentError("MODEL", got=f"{path}, which scores pairs only", expected="a transducer")
    if sample is not None and not can(model, Capability.SAMPLE):
        raise ArgumentError("--sample", got=sample, expected="nothing: this model does not draw")
    return model


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
    language: Language = None,
    format_: ScriptFormatOption = ScriptFormat.TEXT,
    output: Output = None,
) -> None:
    """Show the most probable edit operations of each pair.

    In text, `a` stays, `a→b` is substituted, `-a` deleted and `+b` inserted. A seq2seq model has no operations, only
    links, `--format pharaoh`: for each target symbol the source symbol that its attention looked at most.
    """
    aligner, data = load_model(model, language), pairs_from(pairs, columns, pair)
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


LexiconFormat = Literal["cmudict", "kaldi", "mfa"]
"""File formats: `nsed.jobs.lexicon.LexiconFormat`."""
WordsPath = Annotated[
    Path, typer.Argument(help="File with a word per line, or a table, see --column; - is standard input.")
]
LexiconFormatOption = Annotated[
    LexiconFormat,
    typer.Option(
        "--format",
        help="cmudict: further pronunciations are word(2); kaldi: lexiconp.txt, with probabilities; mfa: of the "
        "Montreal Forced Aligner, with probabilities.",
    ),
]
Pronunciations = Annotated[int, typer.Option(min=1, help="Pronunciations of a word, at most.")]
MinProbability = Annotated[
    float,
    typer.Option(min=0, max=1, help="Leave out pronunciations that are less probable, but for the best of each word."),
]
FirstPronunciations = Annotated[
    Path | None,
    typer.Option(
        help="File of words with pronunciations that come first, whatever the model says.", show_default=False
    ),
]
OnlyOverrides = Annotated[
    bool, typer.Option("--only-overrides", help="Words of --overrides have no pronunciations of the model.")
]


def lexicon(
    model: ModelPath,
    words: WordsPath = Path("-"),
    column: SourceColumn = None,
    format_: LexiconFormatOption = "cmudict",
    nbest: Pronunciations = 5,
    min_probability: MinProbability = 0.1,
    beam: Beam = None,
    language: Language = None,
    overrides: FirstPronunciations = None,
    only_overrides: OnlyOverrides = False,
    output: Output = None,
) -> None:
    """Write a pronouncing dictionary of a word list, as CMUdict, Kaldi or the Montreal Forced Aligner have it.

    Words are sorted, each once, with their most probable pronunciations, best first: `nsed lexicon g2p-en words.txt
    --format kaldi -o lexiconp.txt --overrides names.dict`. Probabilities, where the format has them, are relative to
    that of the best one of the word, which has 1, as do overrides.
    """
    from nsed.jobs.lexicon import LexiconFormat as Format
    from nsed.jobs.lexicon import lexicon_lines, pronounce, read_words

    listed = read_words(words, column=column, form=Format(format_))
    transducer = transducer_from(model, None, language)
    with progress_bar("pronouncing", len(set(listed)), unit="words") as bar:
        found = pronounce(
            transducer,
            listed,
            nbest=nbest,
            min_probability=min_probability,
            beam=beam,
            overrides=overrides,
            only_overrides=only_overrides,
            on_batch=bar.advance,
        )
    with open_output(output) as stream:
        stream.writelines(line + "\n" for line in lexicon_lines(found, Format(format_)))
    vouched = sum(one.override for one in found)
    err.print(
        f"{len({one.word for one in found}):,} words, {len(found):,} pronunciations, {vouched:,} of them overrides",
        markup=False,
    )
