"""Deduplicated string columns (dictionary-encoded), which know which of their strings are the same, as Arrow tells."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from operator import eq
from typing import overload

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from nsed.errors import ArgumentError
from nsed.text.columns import (
    Column,
    checked_column,
    checked_strings,
    encode_rows,
    is_arrow,
    no_string,
    not_one_column,
    to_arrow,
)


class Texts(Sequence[str]):
    """Dictionary-encoded strings: the different ones, and for each row which one it is.

    >>> texts = Texts.of_arrow(pa.array(["colour", "grey", "colour"]))
    >>> texts.different, texts.rows.tolist(), texts[2]
    (['colour', 'grey'], [0, 1, 0], 'colour')
    """

    def __init__(self, different: list[str], rows: np.ndarray) -> None:
        self.different, self.rows = different, rows

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Texts":
        """Dictionary encoding of any strings, numbered in the order in which they first occur.

        >>> Texts.of(["b", "a", "b"])
        Texts(3 rows, 2 different)
        """
        if isinstance(texts, Texts):
            return texts
        numbers: dict[str, int] = {}
        rows = np.array([numbers.setdefault(text, len(numbers)) for text in texts], dtype=np.int64)
        return cls(list(numbers), rows)

    def mapped(self, change: Callable[[str], str]) -> "Texts":
        """Map every different string, once."""
        return Texts([change(text) for text in self.different], self.rows)

    def compacted(self) -> "Texts":
        """The same column without the strings that none of its rows has, as a slice of a column may have them.

        >>> Texts(["colour", "grey", "gray"], np.array([2, 0, 2])).compacted().different
        ['colour', 'gray']
        """
        found = np.bincount(self.rows, minlength=len(self.different)) > 0
        if found.all():
            return self
        numbers = np.cumsum(found) - 1
        return Texts([self.different[place] for place in np.flatnonzero(found).tolist()], numbers[self.rows])

    @classmethod
    def of_arrow(cls, column: pa.Array | pa.ChunkedArray, *, name: str = "column") -> "Texts":
        """Dictionary encoding of an Arrow column of strings. Raises `ArgumentError` where a row has none."""
        if pa.types.is_struct(column.type):
            raise not_one_column(name, (field.name for field in column.type))
        if not len(column):
            return cls([], np.zeros(0, dtype=np.int64))
        if not _is_text(column.type):
            raise no_string(name, (value.as_py() for value in column), kind=f" of Arrow's type {column.type}")
        column = _plain(column)  # dictionaries may hold strings that do not occur, or none
        if column.null_count:
            raise no_string(name, (value.as_py() for value in column))
        return cls(*encode_rows(column))

    @classmethod
    def of_column(cls, column: Column, *, name: str = "column") -> "Texts":
        """Dictionary encoding of any column: list or iterable, Arrow array, pandas or polars Series, numpy array.

        Raises `ArgumentError`, which begins with the name, for a single string, for a table, and where a row has no
        string.

        >>> Texts.of_column(np.array(["b", "a", "b"]))
        Texts(3 rows, 2 different)
        """
        if isinstance(column, Texts):
            return column
        checked = checked_column(column, name)
        arrow = to_arrow(checked)
        if arrow is not None and (is_arrow(checked) or (_is_text(arrow.type) and not arrow.null_count)):
            return cls.of_arrow(arrow, name=name)
        return cls.of(checked_strings(checked, name))

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> "Texts": ...
    def __getitem__(self, place: int | slice) -> "str | Texts":
        if isinstance(place, slice):
            return Texts(self.different, self.rows[place])
        return self.different[int(self.rows[place])]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]  # equal to lists, which have none

    def __repr__(self) -> str:
        return f"Texts({len(self)} rows, {len(self.different)} different)"

    def __iter__(self) -> Iterator[str]:
        return map(self.different.__getitem__, self.rows.tolist())


def _plain(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Plain `large_string` array of the same strings; a dictionary of views, as polars has, is made plain first."""
    if pa.types.is_dictionary(column.type) and pa.types.is_string_view(column.type.value_type):
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        plain = (chunk.dictionary.cast(pa.large_string()) for chunk in chunks)
        pairs = zip(chunks, plain, strict=True)
        column = pa.chunked_array([pa.DictionaryArray.from_arrays(chunk.indices, one) for chunk, one in pairs])
    return column.cast(pa.large_string())


def _is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def to_tensors(columns: Mapping[str, Texts]) -> dict[str, Tensor]:
    """Tensor serialisation of each column: characters of its different strings, their lengths, and each row's code."""
    return {f"{name}.{part}": tensor for name, texts in columns.items() for part, tensor in _parts(texts).items()}


def from_tensors(tensors: Mapping[str, Tensor], name: str) -> Texts:
    """Column of that name, from its tensors. Raises `ArgumentError` for others than `to_tensors` made.

    >>> from_tensors(to_tensors({"word": Texts.of(["naïve", "", "naïve"])}), "word")
    Texts(3 rows, 2 different)
    """
    parts = {part: tensors[f"{name}.{part}"] for part in _PARTS}
    for part, kind in _PARTS.items():
        if parts[part].dtype != kind or parts[part].dim() != 1:
            raise ArgumentError(f"{name}.{part}", got=parts[part].dtype, expected=f"one row of {kind}")
    characters = parts["characters"].numpy().tobytes().decode("utf-8", "surrogatepass")
    lengths, rows = parts["lengths"].tolist(), parts["rows"].numpy().astype(np.int64)
    if min(lengths, default=0) < 0 or sum(lengths) != len(characters):
        raise ArgumentError(f"{name}.lengths", got="other lengths", expected="those of its strings")
    if len(rows) and not 0 <= rows.min() <= rows.max() < len(lengths):
        raise ArgumentError(f"{name}.rows", got="rows without a string", expected=f"numbers below {len(lengths)}")
    return Texts([characters[start:end] for start, end in pairwise(accumulate(lengths, initial=0))], rows)


_PARTS = {"characters": torch.uint8, "lengths": torch.int32, "rows": torch.int32}


def _parts(texts: Texts) -> dict[str, Tensor]:
    characters = bytearray("".join(texts.different).encode("utf-8", "surrogatepass"))
    return {
        "characters": torch.tensor(np.frombuffer(characters, dtype=np.uint8)),
        "lengths": torch.tensor([len(text) for text in texts.different], dtype=torch.int32),
        "rows": torch.from_numpy(texts.rows.astype(np.int32)),
    }
