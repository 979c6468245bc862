"""Batches of TSV, CSV and lines: blocks of lines as Arrow parses them, row by row where one needs a closer look."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.csv

from nsed.progress import no_garbage_collection
from nsed.text.pairs import LABELLED, Pairs, parse_label
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
)
from nsed.text.readers.lines import decoded, open_bytes, open_text
from nsed.text.readers.row_batch import BatchOptions, RowBatch
from nsed.text.texts import Texts


class TextReader(NamedTuple):
    """How a text becomes pairs, or sources."""

    layout: Callable[[Path, Iterable[Row], ReadOptions, Separator], tuple[Layout, Iterator[Row]]]
    of_rows: Callable[[Layout, list[Row], ReadOptions], Pairs | Sources]
    of_columns: Callable[..., Pairs | Sources]
    columns: Sequence[str] | None

    def options(self, rejects: list[Reject] | None) -> ReadOptions:
        """Reading options; with a list, rows that cannot be used go there."""
        return ReadOptions(self.columns, True, None if rejects is None else rejects.append)

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
    """Lines of a file; of one with carriage returns alone, as old ones have, all at once."""
    first = next(stream, b"")
    if b"\r" not in first.rstrip(b"\r\n"):
        return chain([first] if first else [], stream)
    whole = (first + stream.read()).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return iter(whole.splitlines(keepends=True))


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
        number, nothing = number + len(some), False
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
            yield RowBatch(path, Sources(some), range(start + 1, start + 1 + len(some)), [], len(some))
            start += len(some)


def pair_reader(columns: Sequence[str] | None) -> TextReader:
    """Text reader of pairs."""
    return TextReader(pair_layout, pairs_of, pairs_of_columns, columns)


def source_reader(columns: Sequence[str] | None) -> TextReader:
    """Text reader of sources."""
    return TextReader(source_layout, sources_of, sources_of_columns, columns)
