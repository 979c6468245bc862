"""Exceptions: sources whose targets a person has settled, whatever a model makes of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nsed.errors import DataError
from nsed.text.pairs import Pairs
from nsed.text.readers import read_pairs
from nsed.text.readers.lines import STDIN, open_text
from nsed.text.tokenizer import Coders

_BINARY = (".parquet", ".arrow", ".feather")


@dataclass(frozen=True)
class Exceptions:
    """Pairs that a person vouches for. A source may have several targets: they are given in the order of the file.

    >>> exceptions = Exceptions(Pairs.of([("Leigh", "L IY"), ("read", "R IY D"), ("read", "R EH D")]))
    >>> len(exceptions)
    3
    """

    pairs: Pairs
    path: Path | None = None
    """The file they are from, if they are from one."""

    @classmethod
    def read(cls, path: str | Path, *, columns: Sequence[str] | None = None) -> "Exceptions":
        """From any file of pairs, see `read_pairs`; of labelled pairs, those that match."""
        return cls(read_pairs(path, columns=columns), Path(path))

    def __len__(self) -> int:
        return len(self.pairs)

    def by_source(self, coders: Coders) -> dict[tuple[str, ...], list[str]]:
        """The targets of each source, whose symbols are as a model reads them: its Unicode form, its case.

        Raises `DataError`, with file and line, for a target that a source has twice.
        """
        targets: dict[tuple[str, ...], list[str]] = {}
        seen: dict[tuple[tuple[str, ...], tuple[str, ...]], int] = {}
        for row, (source, target) in enumerate(self.pairs):
            if self.pairs.labels is not None and not self.pairs.labels[row]:
                continue
            key = coders.source.split(source), coders.target.split(target)
            if key in seen:
                raise self._twice(seen[key], row)
            seen[key] = row
            targets.setdefault(key[0], []).append(target)
        return targets

    def _twice(self, first: int, again: int) -> DataError:
        lines = _lines(self.path, len(self.pairs))
        source, target = self.pairs.sources[again], self.pairs.targets[again]
        message = f"{source!r} has the target {target!r} already, in line {lines[first]}: delete one of them"
        return DataError(self.path or "exceptions", message, line=lines[again])


def _lines(path: Path | None, count: int) -> Sequence[int]:
    """The line of each pair of a text file; elsewhere, or where pairs are no lines, its number."""
    if path is None or path == STDIN or path.suffix.lower() in _BINARY:
        return range(1, count + 1)
    with open_text(path) as stream:
        lines = [number for number, line in enumerate(stream, 1) if line.strip() and not line.startswith(";;;")]
    return lines[-count:] if len(lines) - count in (0, 1) else range(1, count + 1)  # with or without a header
