"""Readers of data files: text tables, word lists, CLDF, Parquet and Arrow."""

import io
import shutil
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from fuzz.choices import Choices, damaged
from fuzz.execution import check_message
from fuzz.targets import Execute
from nsed.datasets import read_cldf
from nsed.datasets.cldf import read_cldf_table
from nsed.datasets.word_list import doubtful_classes, read_word_list, read_word_table
from nsed.errors import NsedError
from nsed.evaluate.alignment import read_pharaoh
from nsed.jobs.table_files import tsv_lines
from nsed.models.transduction import Overrides
from nsed.networks.kinship import SymbolFeatures
from nsed.text import Pairs, StringConfig, Tokenizers, read_pairs
from nsed.text.edit_script import pharaoh
from nsed.text.readers import read_sources
from nsed.text.readers.batches import BatchOptions, RowBatch, pair_batches, source_batches
from nsed.text.readers.delimited import Reject, Sources, read_symbol_features
from nsed.text.readers.dictionaries import read_pronunciations

ROWS = (3, 100)
"""Rows of a batch: few, so that small files have several, or more than they have."""


def delimited(folder: Path) -> Execute:
    """Text tables by every reader; pairs that are written come back, and batches have what the whole file has."""
    kinds: list[tuple[str, Callable[..., None]]] = [
        *((ending, _check_pairs) for ending in (".tsv", ".csv", ".txt", ".dict")),
        *((ending, partial(_check_pairs, columns=["a", "b"])) for ending in (".tsv", ".csv")),
        *((ending, _check_sources) for ending in (".tsv", ".csv", ".txt", "")),
        (".csv", partial(_check_sources, column="a")),
        (".tsv", _check_overrides),
        (".pharaoh", _check_links),
        (".tsv", _check_pronunciations),
        *((ending, _check_features) for ending in (".tsv", ".csv")),
    ]

    def execute(content: bytes) -> None:
        choices = Choices(content)
        (ending, check), skip, rows = choices.pick(kinds), choices.chance(0.5), choices.pick(ROWS)
        path = folder / f"table{ending}"
        path.write_bytes(choices.rest())
        check(path, skip=skip, rows=rows)

    return execute


Table = tuple[Any, ...]


def _check_pairs(path: Path, *, skip: bool, rows: int, columns: list[str] | None = None) -> None:
    """Pairs of the whole file are those of its batches, whether rows that cannot be used are skipped or not."""
    rejects: list[Reject] = []
    told, options = rejects.append if skip else None, BatchOptions(columns=columns, skip=skip, rows=rows)
    whole = _outcome(lambda: _pair_columns([read_pairs(path, columns=columns, keep_others=True, on_reject=told)]))
    batches = _outcome(lambda: _collected(pair_batches(path, options), _pair_columns))
    if whole is not None and batches is not None:
        assert batches == (whole, [one[:2] for one in rejects]), (batches, whole, rejects)
        _check_written(path, whole)
    else:  # with `skip`, a whole file of which no row can be used is an error, batches without a row are none
        assert whole is batches or skip, f"one complains, the other does not: {whole}, {batches}"


def _check_sources(path: Path, *, skip: bool, rows: int, column: str | None = None) -> None:
    whole = _outcome(lambda: _source_columns([read_sources(path, column=column)]))
    options = BatchOptions(columns=None if column is None else [column], rows=rows)
    batches = _outcome(lambda: _collected(source_batches(path, options), _source_columns))
    assert batches == (whole and (whole, [])), (batches, whole)


def _outcome(read: Callable[[], Any]) -> Any:
    """What is read; None where that is an error that says what is wrong."""
    try:
        return read()
    except NsedError as error:
        check_message(error)
        return None


def _collected(batches: Iterable[RowBatch], columns: Callable[[list[Any]], Table]) -> tuple[Table, list[Any]]:
    found = list(batches)
    return columns([one.content for one in found]), [reject[:2] for one in found for reject in one.rejects]


def _pair_columns(parts: list[Pairs]) -> Table:
    """Columns of pairs, as plain lists."""
    labels = list(chain.from_iterable(map(bool, one.labels or ()) for one in parts))
    names = ("sources", "targets", "source_languages", "target_languages")
    texts = [list(chain.from_iterable(getattr(one, name) or () for one in parts)) for name in names]
    return (*texts, labels, _others(one.others for one in parts if len(one)))


def _source_columns(parts: list[Sources]) -> Table:
    return list(chain.from_iterable(one.texts for one in parts)), _others(one.others for one in parts)


def _others(tables: Iterable[pa.Table | None]) -> list[dict[str, Any]]:
    return list(chain.from_iterable(one.to_pylist() for one in tables if one is not None))


def _check_written(path: Path, columns: Table) -> None:
    """Pairs that are written as TSV, below a header, are read back."""
    rows = list(zip(columns[0], columns[1], strict=True))
    written = path.with_name("written.tsv")
    try:
        lines = list(tsv_lines([("source", "target"), *rows]))
    except NsedError:  # a tab or a line break in a quoted cell
        return
    written.write_text("".join(lines), encoding="utf-8", newline="")
    assert list(read_pairs(written)) == rows


def _check_overrides(path: Path, **_: int) -> None:
    read = Overrides.read(path)
    found = read.by_source(Tokenizers.plain(StringConfig()))
    assert sum(map(len, found.values())) == len(read)


def _check_links(path: Path, **_: int) -> None:
    links = read_pharaoh(path)
    path.write_text("".join(pharaoh(one) + "\n" for one in links), encoding="utf-8")
    assert read_pharaoh(path) == links


def _check_pronunciations(path: Path, **_: int) -> None:
    pairs = read_pronunciations(path)
    assert all(source.strip() and target.split() for source, target in pairs)


def _check_features(path: Path, **_: int) -> None:
    read = read_symbol_features(path)
    made = SymbolFeatures.of(read)
    assert bool(((made.values >= 0) & (made.values <= 1)).all())
    assert all(made.row_of(symbol) is not None for symbol in read)


def word_lists(folder: Path) -> Execute:
    """Word lists of LingPy: with and without classes, with all columns."""
    path = folder / "words.tsv"

    def execute(content: bytes) -> None:
        path.write_bytes(content)
        words = _outcome(lambda: read_word_list(path))
        table = read_word_table(path)
        assert len(table.words(None)) == len(list(table.provenance()))
        known = table.words(all_classes=False) if table.has_column("COGID") else []
        doubtful_classes(known)
        if words is not None:
            assert words == known
            assert all(word.language and word.concept and word.tokens and word.cognate_class for word in words)

    return execute


BETWEEN = b"--8<--\n"
"""What stands between the files of a CLDF data set in one input: metadata, forms, cognate sets."""


def cldf(folder: Path) -> Execute:
    """CLDF word lists: without metadata where that part is empty."""

    def execute(content: bytes) -> None:
        metadata, forms, cognates, *_ = [*content.split(BETWEEN), b"", b""]
        data = folder / "cldf"
        shutil.rmtree(data, ignore_errors=True)
        data.mkdir()
        for name, part in (("x-metadata.json", metadata), ("forms.csv", forms), ("cognates.csv", cognates)):
            if part.strip():
                (data / name).write_bytes(part)
        words = _outcome(lambda: read_cldf(data))
        table = read_cldf_table(data)
        if words is not None:
            assert {word.id for word in words} <= {row.cells[5] for row in table.rows}

    return execute


def columnar(folder: Path) -> Execute:
    """Parquet and Arrow files of all kinds, damaged; batches have what the whole file has."""
    files = sorted(_tables())

    def execute(content: bytes) -> None:
        choices = Choices(content)
        name, sound = choices.pick(files)
        path = folder / f"damaged{Path(name).suffix}"
        path.write_bytes(damaged(choices, sound))
        whole = _outcome(lambda: _pair_columns([read_pairs(path)]))
        batches = _outcome(lambda: _collected(pair_batches(path, BatchOptions(rows=16)), _pair_columns))
        if whole is not None and batches is not None:
            assert batches[0][:5] == whole[:5]

    return execute


def _tables() -> Iterator[tuple[str, bytes]]:
    """Small files, by name: codecs and versions, types of strings, dictionaries, labels, batches."""
    rows = 40
    words = pa.array([f"wörd{row % 7}, written out at some length" for row in range(rows)])
    kinds = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string()), pa.binary()]
    labels = [[row % 2 for row in range(rows)], [row % 2 == 0 for row in range(rows)], ["yes", "no"] * (rows // 2)]
    labels += [pa.nulls(rows), pa.array([1.0] * rows, pa.float16()), pa.array([20] * rows, pa.date32())]
    for number in range(30):
        source = words.dictionary_encode() if number % 5 == 3 else words.cast(kinds[number % 5])
        table = pa.table({"source": source, "target": words, "label": labels[number % 6], "n": [[1]] * rows})
        codec = ["uncompressed", "lz4", "zstd"][number % 3]
        pa.feather.write_feather(table, stream := io.BytesIO(), compression=codec, chunksize=16)
        yield f"{number}.arrow", stream.getvalue()
        if not pa.types.is_string_view(source.type):
            version = ["1.0", "2.0"][number % 2]
            compression = {"uncompressed": "none"}.get(codec, codec)
            options = {"compression": compression, "data_page_version": version, "row_group_size": 16}
            pa.parquet.write_table(table, stream := io.BytesIO(), **options)
            yield f"{number}.parquet", stream.getvalue()
