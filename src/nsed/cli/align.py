"""`nsed align`: the edit script of pairs."""

import json
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any

import typer

from nsed.cli.arguments import Columns, ModelPath, OnePair, Output, PairsPath, load_model, open_output, pairs_from
from nsed.cli.console import out, progress_bar
from nsed.text import EditScript, pharaoh


class Format(StrEnum):
    """How scripts are written."""

    TEXT = "text"
    TABLE = "table"
    JSON = "json"
    PHARAOH = "pharaoh"
    OPCODES = "opcodes"


_WRITE: dict[Format, Callable[[Any], str]] = {
    Format.TEXT: EditScript.to_text,
    Format.TABLE: lambda script: script.to_table() + "\n",
    Format.JSON: EditScript.to_json,
    Format.PHARAOH: pharaoh,
    Format.OPCODES: lambda script: json.dumps(script.opcodes()),
}


def align(
    model: ModelPath,
    pairs: PairsPath = None,
    pair: OnePair = None,
    columns: Columns = None,
    format_: Annotated[
        Format,
        typer.Option(
            "--format",
            help="text: operations in a line; table: source above target; json; pharaoh: i-j pairs from 0; "
            "opcodes: as in difflib and rapidfuzz.",
        ),
    ] = Format.TEXT,
    output: Output = None,
) -> None:
    """Show the most probable edit operations of each pair.

    In text, `a` stays, `a→b` is substituted, `-a` deleted and `+b` inserted. A seq2seq model has no operations, only
    links, `--format pharaoh`: for each target symbol the source symbol that its attention looked at most.
    """
    aligner, data = load_model(model), pairs_from(pairs, columns, pair)
    with progress_bar("aligning", len(data)) as bar:
        answer = aligner.links if format_ is Format.PHARAOH else aligner.align_all
        found = answer(data, on_batch=bar.advance)
    if format_ is Format.TEXT and output is None and out.is_terminal:
        for script in found:
            out.print(script)
        return
    with open_output(output) as stream:
        stream.writelines(_WRITE[format_](one) + "\n" for one in found)
