"""Pronouncing dictionaries: in the format of CMUdict, and as SIGMORPHON's tasks and WikiPron have them."""

import re
from collections.abc import Iterable
from pathlib import Path

from nsed.errors import ArgumentError, DataError
from nsed.text.pairs import Pairs
from nsed.text.readers.delimited import TAB, ReadOptions, Row, Sources, tsv_rows, wrong_width
from nsed.text.readers.lines import open_text

VARIANT = re.compile(r"\(\d+\)$")
"""What tells further pronunciations of a word from the first."""
COMMENT = ";;;"


def read_cmudict(path: Path, options: ReadOptions) -> Pairs:
    """CMUdict reader: `WORD  PH ON ES` lines; `WORD(2)` is another pronunciation; `;;;` lines and ` #` are comments."""
    if options.columns is not None:
        expected = "nothing: a pronouncing dictionary has no header"
        raise ArgumentError("columns", got=list(options.columns), expected=expected)
    words, phones = [], []
    with open_text(path) as stream:
        for number, line in enumerate(stream, start=1):
            content = "" if line.startswith(COMMENT) else line.split(" #")[0].strip()
            if not content:
                continue
            word, *rest = content.split(maxsplit=1)
            if rest:
                words.append(VARIANT.sub("", word))
                phones.append(rest[0])
            else:
                message = f"expected a word and its phones, found {content[:60]!r}"
                options.reject(DataError(path, message, line=number), [word])
    if not words:
        raise DataError(path, "the file is empty; expected lines with a word and its phones")
    return Pairs(words, phones)


def read_cmudict_sources(path: Path, options: ReadOptions) -> Sources:
    """CMUdict reader of the words alone: each once, in the order of the file."""
    return Sources(list(dict.fromkeys(read_cmudict(path, options).sources)))


def read_pronunciations(path: str | Path) -> Pairs:
    r"""Read pronunciations: words and their sounds, which are tokens, in the order of the file.

    There is no header. A word with several pronunciations has as many lines; lines that say the same twice are kept
    once. Tones and stress stay as they are. Raises `DataError`, with file and line.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "nld.tsv"
    >>> _ = path.write_text("hand\th ɑ n t\nvoet\tv u t\n", encoding="utf-8")
    >>> list(read_pronunciations(path))
    [('hand', 'h ɑ n t'), ('voet', 'v u t')]
    """
    path = Path(path)
    with open_text(path) as stream:
        pairs = dict.fromkeys(_checked(path, tsv_rows(stream)))
    if not pairs:
        raise DataError(path, "the file is empty; expected lines with a word, a tab and its sounds")
    return Pairs.of(pairs)


def _checked(path: Path, rows: Iterable[Row]) -> Iterable[tuple[str, str]]:
    for row in rows:
        if row.cells == [""]:
            continue
        if len(row.cells) != 2:
            raise wrong_width(path, row, "2", TAB)
        word, sounds = row.cells[0].strip(), " ".join(row.cells[1].split())
        if not word or not sounds:
            message = f"expected a word and its sounds, found {TAB.character.join(row.cells)[:60]!r}"
            raise DataError(path, message, line=row.line)
        yield word, sounds
