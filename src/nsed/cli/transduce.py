"""`nsed transduce`: the most probable targets of sources."""

from pathlib import Path
from typing import Annotated

import typer

from nsed.baselines.lookup import Lookup
from nsed.baselines.majority import Majority
from nsed.baselines.phonetisaurus import Phonetisaurus
from nsed.baselines.seq2seq import Seq2Seq
from nsed.cli.arguments import ModelPath, Output, RowFormat, RowFormatOption, load_model, write_rows
from nsed.cli.console import progress_bar
from nsed.errors import ArgumentError
from nsed.models.transducer import Transducer
from nsed.models.transduction import Transduction
from nsed.text.readers.lines import open_text


def transduce(
    model: ModelPath,
    sources: Annotated[Path, typer.Argument(help="File with a source per line; - is standard input.")] = Path("-"),
    text: Annotated[
        list[str] | None, typer.Option(help="A source instead of a file; repeatable.", show_default=False)
    ] = None,
    nbest: Annotated[int, typer.Option(min=1, help="Targets per source, best first, a line each.")] = 1,
    beam: Annotated[
        int | None, typer.Option(min=1, help="Prefixes followed at once; 1 is greedy, wider is slower.")
    ] = None,
    sample: Annotated[
        int | None, typer.Option(min=1, help="Draw so many targets per source by their probability instead.")
    ] = None,
    seed: Annotated[int, typer.Option(help="For --sample: another number draws other targets.")] = 0,
    exceptions: Annotated[
        Path | None,
        typer.Option(
            help="File of pairs whose targets come first, whatever the model says; a fourth column marks them."
        ),
    ] = None,
    format_: RowFormatOption = RowFormat.TSV,
    output: Output = None,
) -> None:
    """Give each source its most probable target: `source`, `target`, `log_prob`.

    With `--exceptions` a fourth column, `exception`, is 1 where the file gave the target; its `log_prob` is the model's
    own. The model's targets follow, with `--nbest`.
    """
    transducer = load_model(model)
    if not isinstance(transducer, Transducer | Seq2Seq | Lookup | Majority | Phonetisaurus):
        raise ArgumentError("MODEL", got=f"{model}, which scores pairs only", expected="a transducer")
    if exceptions is not None and sample is not None:
        raise ArgumentError("--exceptions", got=exceptions, expected="none beside --sample, which draws from the model")
    strings = text or _lines(sources)
    with progress_bar("transducing", len(strings), unit="words") as bar:
        if sample is None:
            found = transducer.transduce(strings, nbest=nbest, beam=beam, overrides=exceptions, on_batch=bar.advance)
        elif not isinstance(transducer, Transducer | Seq2Seq):
            raise ArgumentError("--sample", got=sample, expected="nothing: this model does not draw")
        else:
            found = transducer.sample(strings, count=sample, seed=seed, on_batch=bar.advance)
    answers = ((source, one) for source, best in zip(strings, found, strict=True) for one in best)
    write_rows(output, format_, (_row(source, one, marked=exceptions is not None) for source, one in answers))


def _row(source: str, answer: Transduction, *, marked: bool) -> dict[str, object]:
    mark = {"exception": answer.override} if marked else {}
    return {"source": source, "target": answer.text, "log_prob": answer.log_prob, **mark}


def _lines(path: Path) -> list[str]:
    with open_text(path) as stream:
        return [line.rstrip("\r\n") for line in stream]
