"""`nsed lexicon`: a pronouncing dictionary of a word list."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from nsed.cli.answers import Beam, Language, SourceColumn, transducer_from
from nsed.cli.arguments import ModelPath, Output, open_output
from nsed.cli.console import err, progress_bar

LexiconFormat = Literal["cmudict", "kaldi", "mfa"]
"""File formats: `nsed.jobs.lexicon.LexiconFormat`."""
WordsPath = Annotated[
    Path, typer.Argument(help="File with a word per line, or a table, see --column; - is standard input.")
]
FormatOption = Annotated[
    LexiconFormat,
    typer.Option(
        "--format",
        help="cmudict: further pronunciations are word(2); kaldi: lexiconp.txt, with probabilities; mfa: of the "
        "Montreal Forced Aligner, with probabilities.",
    ),
]
NbestOption = Annotated[int, typer.Option(min=1, help="Pronunciations of a word, at most.")]
MinProbability = Annotated[
    float,
    typer.Option(min=0, max=1, help="Leave out pronunciations that are less probable, but for the best of each word."),
]
OverridesPath = Annotated[
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
    format_: FormatOption = "cmudict",
    nbest: NbestOption = 5,
    min_probability: MinProbability = 0.1,
    beam: Beam = None,
    language: Language = None,
    overrides: OverridesPath = None,
    only_overrides: OnlyOverrides = False,
    output: Output = None,
) -> None:
    """Write a pronouncing dictionary of a word list, as CMUdict, Kaldi or the Montreal Forced Aligner have it.

    Words are sorted, each once, with their most probable pronunciations, best first: `nsed lexicon g2p-en words.txt
    --format kaldi -o lexiconp.txt --overrides names.dict`. Probabilities, where the format has them, are relative to
    that of the best one of the word, which has 1, as do overrides.
    """
    from nsed.jobs.lexicon import LexiconFormat as Format
    from nsed.jobs.lexicon import lexicon_lines, pronounce
    from nsed.text.readers import read_sources

    transducer, listed = transducer_from(model, None, language), read_sources(words, column=column).texts
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
