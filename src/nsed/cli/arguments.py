"""Command line arguments that several commands share, and how they become pairs and output.

This file and those of the commands import what they work with when they work: help is there at once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TextIO

import typer

from nsed.capabilities import Capability, can
from nsed.errors import ArgumentError
from nsed.jobs.table_files import replacing, tsv_lines

if TYPE_CHECKING:
    from nsed.text import Pairs

Model = Any
"""A model of any kind: `nsed.capabilities.can` says what may be asked of it."""
ModelPath = Annotated[
    Path,
    typer.Argument(help="Folder of a saved model, or the name of a shipped one (see nsed models).", show_default=False),
]
PairsPath = Annotated[
    Path | None,
    typer.Argument(
        help="File of pairs: TSV, CSV, CMUdict .dict, Parquet or Arrow; - is TSV on standard input.",
        show_default=False,
    ),
]
PairsPaths = Annotated[
    list[str] | None,
    typer.Argument(
        help="Files of pairs: TSV, CSV, CMUdict .dict, Parquet or Arrow; globs; folders of them; - is TSV on standard "
        "input.",
        show_default=False,
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        help="Names of the source, target and, optionally, label column of a file with a header, say word,ipa; "
        "then perhaps those of the two languages, say word,ipa,lang,lang."
    ),
]
OnePair = Annotated[
    tuple[str, str] | None,
    typer.Option("--pair", help="A single pair instead of a file: --pair SOURCE TARGET.", show_default=False),
]
Language = Annotated[
    str | None,
    typer.Option(
        help="Language of all sources, and of pairs that do not say theirs, for a transducer of several languages.",
        show_default=False,
    ),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write here instead of to standard output.")]
SymbolKind = Literal["graphemes", "codepoints", "tokens", "letters", "phones", "sound-classes", "dolgopolsky"]
"""What strings can be made of: `nsed.text.SymbolKind`."""


def load_model(path: Path, language: str | None = None) -> Model:
    """Load the model in a folder, of whatever kind; of an unfinished training, that is said.

    With a language, it is for that one. Raises `ArgumentError` where the model is no transducer of several.
    """
    from nsed.cli.console import warn
    from nsed.models.persistence import load

    model = load(path)
    if getattr(model, "record", {}).get("unfinished"):
        warn(f"{path}: the training here is not finished: go on with nsed train --resume")
    if language is None:
        return model
    if not knows_languages(model):
        raise ArgumentError(
            "--language", got=language, expected="nothing: this model knows no languages to choose from"
        )
    return model.for_language(language)


def load_other(path: Path, language: str | None) -> Model:
    """Load a model to compare with; it is for that language where it knows several, else as it is."""
    model = load_model(path)
    return model.for_language(language) if language is not None and knows_languages(model) else model


def knows_languages(model: Model) -> bool:
    """Whether a model is a transducer of several languages."""
    return can(model, Capability.TRANSDUCE) and getattr(model, "languages", None) is not None


def tell_whose_operations(model: Model) -> None:
    """Say whose operations are shown of a mixture that shows those of one of its members."""
    from nsed.cli.console import err

    lead = getattr(model, "lead", None)
    if lead is not None:
        number = model.members.index(lead) + 1
        told = f"operations are those of member {number} of {len(model.members)}, of kind {lead.kind}"
        err.print(f"{told}, the first of the mixture that has some", markup=False)


def makes_no_decisions(model: Path) -> ArgumentError:
    """Error for a model without a threshold, where one that decides is wanted."""
    expected = "a matcher, or another model that has learned from labelled pairs"
    advice = "An edit distance has a threshold if trained on labelled pairs, or with --validation LABELLED."
    return ArgumentError("MODEL", got=f"{model}, which makes no decisions", expected=expected, advice=advice)


def pairs_from(
    path: Path | None,
    columns: str | None,
    pair: tuple[str, str] | None,
) -> Pairs:
    """Pairs that the user means: a file, or a single one."""
    from nsed.text import Pairs, read_pairs

    if (path is None) == (pair is None):
        got = "neither" if path is None else "both"
        raise ArgumentError("PAIRS or --pair", got=got, expected="one of them")
    if pair is not None:
        if sys.argv.count("--pair") > 1:  # of several, an option of two words has the last one
            advice = "Several pairs come as a file, or by a pipe: two columns with a tab between them, - for the file."
            raise ArgumentError("--pair", got=f"{sys.argv.count('--pair')} of them", expected="one", advice=advice)
        if columns is not None:
            raise ArgumentError("--columns", got=columns, expected="nothing beside --pair")
        return Pairs.of([pair])
    assert path is not None
    return read_pairs(path, columns=split_columns(columns))


def split_columns(columns: str | None) -> list[str] | None:
    """Column names between commas."""
    return None if columns is None else [name.strip() for name in columns.split(",")]


BINARY = (".parquet", ".arrow", ".feather")
"""Endings of tables that are no text."""


@contextmanager
def open_output(path: Path | None) -> Iterator[TextIO]:
    """Output stream of text: a file, which is there only when it is complete, or standard output."""
    if path is None:
        yield sys.stdout
        return
    if path.suffix.lower() in BINARY:
        expected = "the name of a text file: this command writes text only"
        raise ArgumentError("--output", got=path, expected=expected)
    with replacing(path) as beside, beside.open("w", encoding="utf-8", errors="backslashreplace") as stream:
        yield stream


def write_tsv(stream: TextIO, rows: Iterable[Iterable[object]], *, otherwise: str = "") -> None:
    """Write TSV, tab-separated lines; `otherwise` is advice for text that cannot be written so."""
    stream.writelines(tsv_lines(rows, otherwise=otherwise))


def since_before(counts: Mapping[str, int]) -> str:
    """What has become of the clusters of an earlier run, in words.

    >>> since_before({"kept": 7, "split": 1, "merged": 0, "new": 2})
    'since --previous: 7 ids kept, 2 new; 1 cluster split, 0 merged'
    """
    split = f"{counts['split']:,} cluster{'' if counts['split'] == 1 else 's'} split"
    return f"since --previous: {counts['kept']:,} ids kept, {counts['new']:,} new; {split}, {counts['merged']:,} merged"
