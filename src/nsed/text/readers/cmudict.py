"""Pronouncing dictionaries in the format of CMUdict: a word, then its phones."""

import re
from collections.abc import Sequence
from pathlib import Path

from nsed.errors import ArgumentError, DataError
from nsed.text.pairs import Pairs
from nsed.text.readers.lines import open_text

_VARIANT = re.compile(r"\(\d+\)$")


def read_cmudict(path: Path, columns: Sequence[str] | None = None) -> Pairs:
    """`WORD  PH ON ES` lines; `WORD(2)` is another pronunciation of WORD; `;;;` lines and ` #` are comments."""
    if columns is not None:
        raise ArgumentError("columns", got=list(columns), expected="nothing: a pronouncing dictionary has no header")
    words, phones = [], []
    with open_text(path) as stream:
        for number, line in enumerate(stream, start=1):
            content = "" if line.startswith(";;;") else line.split(" #")[0].strip()
            if content:
                word, *rest = content.split(maxsplit=1)
                if not rest:
                    raise DataError(path, f"expected a word and its phones, found {content[:60]!r}", line=number)
                words.append(_VARIANT.sub("", word))
                phones.append(rest[0])
    if not words:
        raise DataError(path, "the file is empty; expected lines with a word and its phones")
    return Pairs(words, phones)
