"""Batch readers: files of pairs or of sources, of any size, in batches of rows; no more than a batch is in memory.

TSV, CSV and lines come in blocks of lines as Arrow parses them, row by row where one needs a closer look; Parquet and
Arrow files in pieces of their tables. A batch says what of its rows can be used and what cannot.
"""

import glob
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv

from nsed.errors import ArgumentError, DataError
from nsed.progress import no_garbage_collection
from nsed.text.pairs import LABELLED, Pairs, parse_label
from nsed.text.readers import READERS, check_columns, reader_for
from nsed.text.readers.delimited import (
    COMMA,
    TAB,
    Layout,
    ReadOptions,
    Reject,
    Row,
    Separator,
    Sources,
    csv_rows,
    empty_file,
    no_rows,
    pair_layout,
    pairs_of,
    pairs_of_columns,
    source_layout,
    sources_of,
    sources_of_columns,
    tsv_rows,
    usable_rows,
    warn_of_one_column,
)
from nsed.text.readers.dictionaries import read_cmudict, read_cmudict_sources
from nsed.text.readers.lines import STDIN, decoded, open_bytes, open_text
from nsed.text.readers.parquet import (
    Rows,
    Used,
    checked_table,
    ipc_pieces,
    pairs_of_table,
    parquet_pieces,
    sound,
    sources_of_table,
)
from nsed.text.texts import Texts


class RowBatch(NamedTuple):
    """Batch of rows of a file: what can be used of them, and what cannot."""

    path: Path
    content: Pairs | Sources
    numbers: Sequence[int]
    """Line, or row, of each usable row in its file, from 1."""
    rejects: list[Reject]
    rows: int
    """Rows of the file that the batch is made of, with those that were rejected; of TSV, lines."""


class BatchOptions(NamedTuple):
    """How to read a file in batches."""

    columns: Sequence[str] | None = None
    """See `nsed.read_pairs`; of sources, the name of one column."""
    skip: bool = False
    """Whether rows that cannot be used are left out, and told with their batch; else the first raises `DataError`."""
    rows: int = 2**16
    """Rows of each batch; the last one of a file may have fewer."""
    labels: bool = True
    """See `ReadOptions.labels`."""


def split_batch(batch: RowBatch) -> tuple[RowBatch, RowBatch]:
    """Halves of a batch; the first has its rejects."""
    half = len(batch.numbers) // 2
    parts = (range(half), range(half, len(batch.numbers)))
    one, other = (chosen_rows(batch, part) for part in parts)
    return one, other._replace(rejects=[], rows=0)


def chosen_rows(batch: RowBatch, rows: Sequence[int]) -> RowBatch:
    """The same batch with some of its usable rows."""
    numbers = [batch.numbers[row] for row in rows]
    return batch._replace(content=_chosen(batch.content, rows), numbers=numbers)


def _chosen(content: Pairs | Sources, rows: Sequence[int]) -> Pairs | Sources:
    if isinstance(content, Pairs):
        return replace(content.chosen(rows), others=_taken(content.others, rows))
    return Sources([content.texts[row] for row in rows], _taken(content.others, rows))


def _taken(others: pa.Table | None, rows: Sequence[int]) -> pa.Table | None:
    return None if others is None else others.take(np.array(rows, dtype=np.int64))


class TextReader(NamedTuple):
    """How a text becomes pairs, or sources."""

    layout: Callable[[Path, Iterable[Row], ReadOptions, Separator], tuple[Layout, Iterator[Row]]]
    of_rows: Callable[[Layout, list[Row], ReadOptions], Pairs | Sources]
    of_columns: Callable[..., Pairs | Sources]
    columns: Sequence[str] | None
    labels: bool = True

    def options(self, rejects: list[Reject] | None) -> ReadOptions:
        """Reading options; with a list, rows that cannot be used go there."""
        return ReadOptions(self.columns, True, None if rejects is None else rejects.append, labels=self.labels)

    def batch(self, layout: Layout, rows: list[Row], *, skip: bool) -> RowBatch:
        """Batch of rows, one by one."""
        rejects: list[Reject] = []
        told = self.options(rejects if skip else None)
        with no_garbage_collection():
            used = list(usable_rows(layout, rows, told))
            content, numbers = self.of_rows(layout, used, told), [row.line for row in used]
        return RowBatch(layout.path, content, numbers, rejects, len(rows))


def csv_batches(path: Path, options: BatchOptions, start: int, read: TextReader) -> Iterator[RowBatch]:
    """Batches of CSV, row by row."""
    with open_text(path) as stream:
        layout, rest = read.layout(path, csv_rows(path, stream), read.options(None), COMMA)
        next(islice(rest, start, start), None)
        count = start
        while some := list(islice(rest, options.rows)):
            yield read.batch(layout, some, skip=options.skip)
            count += len(some)
    if not count:
        raise no_rows(layout, rejected=False)


def tsv_batches(path: Path, options: BatchOptions, start: int, read: TextReader) -> Iterator[RowBatch]:
    """Batches of TSV, by lines: a batch has as many, and empty ones, which are no rows, count."""
    with open_bytes(path) as stream:
        lines = _lines(stream)
        yield from _tables(path, _head(lines), lines, options, start, read)


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    """Lines of a file, which end as those of text do; of one with carriage returns alone, as old ones have, at once."""
    first = next(stream, b"")
    if b"\r" not in first.rstrip(b"\r\n"):
        return chain.from_iterable(map(_split, chain([first], stream)))
    whole = (first + stream.read()).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return iter(whole.splitlines(keepends=True))


def _split(line: bytes) -> Sequence[bytes]:
    """Lines of what ends with a line feed: several, where carriage returns are in it."""
    return line.splitlines(keepends=True) if b"\r" in line or not line else (line,)


def _tables(
    path: Path, head: list[bytes], stream: Iterable[bytes], options: BatchOptions, start: int, read: TextReader
) -> Iterator[RowBatch]:
    layout, _ = read.layout(path, tsv_rows(_decoded(path, head, 0)), read.options(None), TAB)
    before = len(head) if layout.header else 0
    lines = iter(stream) if layout.header else chain(head, stream)
    return _blocks(layout, islice(lines, start, None), options, before + start, read)


def _head(stream: Iterable[bytes]) -> list[bytes]:
    """Lines up to the first that is not empty, and with it."""
    head = []
    for line in stream:
        head.append(line)
        if line.strip(b"\r\n\xef\xbb\xbf"):
            break
    return head


def _blocks(
    layout: Layout, lines: Iterator[bytes], options: BatchOptions, number: int, read: TextReader
) -> Iterator[RowBatch]:
    """Batches of lines, the first of which comes after so many others."""
    nothing = layout.header and number == layout.first.line
    while some := list(islice(lines, options.rows)):
        batch = _column_batch(layout, some, number, read)
        if batch is None:
            texts = enumerate(_decoded(layout.path, some, number), start=number + 1)
            rows = [Row(line, text.split(TAB.character)) for line, text in texts if text]
            batch = read.batch(_with_first(layout, rows), rows, skip=options.skip)._replace(rows=len(some))
        yield batch
        number, nothing = number + len(some), nothing and not len(batch.numbers) and not batch.rejects
    if nothing:
        raise no_rows(layout, rejected=False)


def _with_first(layout: Layout, rows: list[Row]) -> Layout:
    """The same layout; its first row, read again with others, is the same object, by which it is known."""
    again = bool(rows) and not layout.header and rows[0].line == layout.first.line
    return layout._replace(first=rows[0]) if again else layout


def _decoded(path: Path, lines: Iterable[bytes], before: int) -> list[str]:
    return [decoded(path, line, number).rstrip("\r\n") for number, line in enumerate(lines, start=before + 1)]


def _column_batch(layout: Layout, lines: list[bytes], before: int, read: TextReader) -> RowBatch | None:
    """Batch of lines as Arrow parses them, all at once; None where one of them needs a closer look."""
    block, width = b"".join(lines), len(layout.first.cells)
    if b"\r" in block or b"\n" in lines or block.startswith(b"\xef\xbb\xbf") or width == 1:
        return None
    try:
        table = _parsed(block, width)
    except pa.ArrowInvalid:  # a row of another width, or no UTF-8
        return None
    if len(table) != len(lines):
        return None
    texts = [Texts.of_arrow(table.column(place)) for place in layout.chosen]
    if len(texts) in LABELLED and any(parse_label(text) is None for text in texts[2].different):
        return None
    others = layout.others
    further = table.select(list(others.values())).rename_columns(list(others)) if others else None
    first = not layout.header and before < layout.first.line
    numbers = range(before + 1, before + 1 + len(lines))
    return RowBatch(layout.path, read.of_columns(layout, texts, further, first=first), numbers, [], len(lines))


def _parsed(block: bytes, width: int) -> pa.Table:
    names = [str(place) for place in range(width)]
    return pyarrow.csv.read_csv(
        pa.BufferReader(block),
        read_options=pyarrow.csv.ReadOptions(use_threads=False, block_size=len(block) + 1, column_names=names),
        parse_options=pyarrow.csv.ParseOptions(delimiter=TAB.character, quote_char=False, ignore_empty_lines=False),
        convert_options=pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.large_string())),
    )


def line_batches(path: Path, options: BatchOptions, start: int, read: TextReader) -> Iterator[RowBatch]:
    """Batches of lines; of TSV, which has a tab in its first line that is not empty, of its sources."""
    with open_bytes(path) as stream:
        rest = _lines(stream)
        head = _head(rest)
        shown = _decoded(path, head, 0)
        if not any(shown):
            raise empty_file(path, "sources")
        if TAB.character in shown[-1]:
            yield from _tables(path, head, rest, options, start, read)
            return
        lines = islice(chain(head, rest), start, None)
        while some := _decoded(path, islice(lines, options.rows), start):
            if not start:
                warn_of_one_column(path, Row(len(head), shown[-1:]), some, TAB)
            yield RowBatch(path, Sources(some), range(start + 1, start + 1 + len(some)), [], len(some))
            start += len(some)


def pair_reader(columns: Sequence[str] | None, *, labels: bool) -> TextReader:
    """Text reader of pairs."""
    return TextReader(pair_layout, pairs_of, pairs_of_columns, columns, labels)


def source_reader(columns: Sequence[str] | None) -> TextReader:
    """Text reader of sources."""
    return TextReader(source_layout, sources_of, sources_of_columns, columns)


def input_files(inputs: str | Path | Iterable[str | Path]) -> list[Path]:
    """Files that are meant: those named, those of globs, and all tables of folders, each sorted by name.

    In folders, names that begin with `.` or `_` are left out. Raises `DataError` where there is nothing.
    """
    given = [inputs] if isinstance(inputs, str | Path) else list(inputs)
    found = [file for one in given for file in _files_of(Path(one))]
    if found.count(STDIN) and len(found) > 1:
        raise ArgumentError("inputs", got="- and other files", expected="standard input alone, or files")
    if not found:
        raise ArgumentError("inputs", got="none", expected="at least one file")
    return found


def _files_of(path: Path) -> list[Path]:
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix.lower() in READERS and file.name[0] not in "._")
        if not files:
            raise DataError(path, f"no table in this folder; expected files that end in {', '.join(READERS)}")
        return files
    if path == STDIN or path.exists() or not glob.has_magic(str(path)):
        return [path]
    matched = sorted(map(Path, glob.glob(str(path), recursive=True)))
    if not matched:
        raise DataError(path, "no file has a name like this")
    return [file for one in matched for file in _files_of(one)]


def pair_batches(path: Path, options: BatchOptions, *, start: int = 0) -> Iterator[RowBatch]:
    """Batches of a file of pairs, with all of its columns, from a row on: the first `start` rows are left out.

    Raises `DataError` as `nsed.read_pairs` does, for rows that cannot be used too unless they are to be skipped.
    """
    ending, columns = path.suffix.lower(), options.columns
    check_columns(columns)
    if ending in TABLES:
        return _table_batches(path, options, start, pairs_of_table)
    if ending == ".dict":
        return _dictionary_batches(path, options, start, read_cmudict)
    reader_for(path)  # raises for endings that nobody knows
    read = pair_reader(columns, labels=options.labels)
    return (csv_batches if ending == ".csv" else tsv_batches)(path, options, start, read)


def source_batches(path: Path, options: BatchOptions, *, start: int = 0) -> Iterator[RowBatch]:
    """Batches of a file of sources, a line each or a column of a table, see `nsed.text.readers.read_sources`."""
    ending, columns = path.suffix.lower(), options.columns
    if ending in TABLES:
        return _table_batches(path, options, start, sources_of_table)
    if ending == ".dict":
        return _dictionary_batches(path, options, start, read_cmudict_sources)
    read = source_reader(columns)
    if ending == ".csv":
        return csv_batches(path, options, start, read)
    return (line_batches if columns is None else tsv_batches)(path, options, start, read)


TABLES = {".parquet": parquet_pieces, ".arrow": ipc_pieces, ".feather": ipc_pieces}
"""Binary tables by their endings: how to read their rows in pieces."""


def _dictionary_batches(
    path: Path, options: BatchOptions, start: int, read: Callable[[Path, ReadOptions], Pairs | Sources]
) -> Iterator[RowBatch]:
    """Batches of a pronouncing dictionary, which is small enough to be read as a whole."""
    rejects: list[Reject] = []
    content = read(path, ReadOptions(options.columns, True, rejects.append if options.skip else None))
    count = len(content.texts if isinstance(content, Sources) else content)
    for first in range(start, count, options.rows):
        rows = range(first, min(first + options.rows, count))
        chosen = _chosen(content, rows)
        yield RowBatch(path, chosen, range(first + 1, rows.stop + 1), [] if first else rejects, len(rows))


def _table_batches(
    path: Path,
    options: BatchOptions,
    start: int,
    content: Callable[[Rows, ReadOptions], Used[Pairs]] | Callable[[Rows, ReadOptions], Used[Sources]],
) -> Iterator[RowBatch]:
    if not path.is_file():
        raise DataError(path, "cannot be read: No such file")
    first = start
    with sound(path):
        pieces = TABLES[path.suffix.lower()](path, start=start, rows=options.rows)
        for table in _cut(map(checked_table, pieces), options.rows):
            rejects: list[Reject] = []
            told = ReadOptions(options.columns, True, rejects.append if options.skip else None, labels=options.labels)
            used = content(Rows(path, table, first), told)
            yield RowBatch(path, used.content, used.numbers.tolist(), rejects, len(table))
            first += len(table)
    if not first:
        raise DataError(path, "there are columns but no row below them")


def _cut(pieces: Iterable[pa.Table], rows: int) -> Iterator[pa.Table]:
    """The same rows in tables of so many each, and of what is left: whatever pieces a file has."""
    held: list[pa.Table] = []
    for piece in pieces:
        held.append(piece)
        while sum(map(len, held)) >= rows:
            whole = pa.concat_tables(held)
            yield whole.slice(0, rows)
            held = [whole.slice(rows)]
    if sum(map(len, held)):
        yield pa.concat_tables(held)
