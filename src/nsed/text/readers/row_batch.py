"""Row batches: some rows of a file, what can be used of them and what cannot."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from nsed.text.pairs import Pairs
from nsed.text.readers.delimited import Reject, Sources


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
