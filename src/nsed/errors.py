"""Every exception and warning that nsed raises on purpose.

NsedError
├── ArgumentError (ValueError)         an argument of a call is wrong
│   ├── ShapeError                     ... its shape, or a length beyond its table
│   ├── DTypeError                     ... its dtype
│   ├── DeviceError                    ... its device
│   ├── UnknownNameError               ... a name that nobody registered
│   └── TooLongError                   ... a pair of strings that needs too large a table
├── ConfigError (ValueError)           a configuration has one or more faults, all listed
├── DataError (ValueError)             a data file is wrong, with file and line
├── DownloadError                      a data set cannot be fetched, with what to do by hand
├── ModelFileError (ValueError)        a saved model cannot be read
├── MissingExtraError                  a package that is only installed on demand is not there
├── NotExplainableError                this model cannot say how it came to its answer
└── UndecidedError (AttributeError)    this model has no threshold to decide by

UnknownSymbolWarning (UserWarning)     symbols that the vocabulary does not know
└── UnknownLanguageWarning             languages that the model did not learn
CutOutputWarning (UserWarning)         targets that were cut at the longest length allowed
UnknownIdWarning (UserWarning)         labels of records that no table has
DoubtfulLinksWarning (UserWarning)     labels, links or pairs that are probably not what is wanted
ContradictoryLabelsWarning (UserWarning)   pairs to learn from that have both labels
HeaderWarning (UserWarning)            a first row that looks like a header, and is read as data
"""

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

QUOTED, FAULTS = 300, 50
"""Most characters that a message quotes of what it got, and most faults that it lists."""


def abbreviate(text: object, most: int = QUOTED) -> str:
    """Quoted text, shortened: its beginning and how long it is, if it is longer than a message should be.

    >>> abbreviate("colour"), abbreviate("a" * 200_000, most=8)
    ('colour', 'aaaaaaaa... (200000 characters)')
    """
    shown = str(text)
    return shown if len(shown) <= most else f"{shown[:most]}... ({len(shown)} characters)"


class NsedError(Exception):
    """Root of the tree; `except nsed.NsedError` catches whatever nsed complains about.

    It can be pickled: what a process complains of, another one can say.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (type(self), self.args, self.__dict__)


def _unpickled(kind: type[NsedError], args: tuple[Any, ...], state: dict[str, Any]) -> NsedError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class ArgumentError(NsedError, ValueError):
    """An argument is wrong: which one, what came, what was expected.

    >>> raise ArgumentError("smoothing", got=2, expected="a number in [0, 1)")
    Traceback (most recent call last):
    nsed.errors.ArgumentError: smoothing: got 2, expected a number in [0, 1)
    """

    def __init__(self, argument: str, *, got: object, expected: str, advice: str = "") -> None:
        self.argument = argument
        tail = f". {advice}" if advice else ""
        super().__init__(f"{argument}: got {abbreviate(got)}, expected {expected}{tail}")


class ShapeError(ArgumentError):
    """A tensor has the wrong shape, or a length points beyond its table."""


class DTypeError(ArgumentError):
    """A tensor has the wrong element type."""


class DeviceError(ArgumentError):
    """Tensors that belong together live on different devices."""


class UnknownNameError(ArgumentError):
    """A name (of a backend, a model, a reader) that nobody registered."""


class TooLongError(ArgumentError):
    """A pair of strings needs a table larger than the limit."""


class ConfigError(NsedError, ValueError):
    """A configuration is wrong; `faults` lists everything that is, not only the first thing."""

    def __init__(self, where: str, faults: Sequence[str]) -> None:
        self.faults = tuple(faults)
        count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
        lines = [f"  - {fault}" for fault in faults[:FAULTS]]
        lines += [f"  ... and {len(faults) - FAULTS} more"] if len(faults) > FAULTS else []
        super().__init__("\n".join([f"{where}: {count}", *lines]))


class DataError(NsedError, ValueError):
    """A data file is wrong; the message starts with `file:line`.

    >>> raise DataError("pairs.tsv", "expected 2 columns, found 1", line=3)
    Traceback (most recent call last):
    nsed.errors.DataError: pairs.tsv:3: expected 2 columns, found 1
    """

    def __init__(self, path: str | Path, message: str, *, line: int | None = None) -> None:
        self.path, self.line, self.reason = str(path), line, message
        self.header: tuple[str, ...] = ()
        """Columns of a table that is wrong because it has no row."""
        place = str(path) if line is None else f"{path}:{line}"
        super().__init__(f"{place}: {message}")


class DownloadError(NsedError):
    """A file cannot be had from its public address; the message says where to put it by hand."""


class ModelFileError(NsedError, ValueError):
    """A saved model is missing, truncated, altered or of a newer format."""

    def __init__(self, path: str | Path, message: str) -> None:
        self.path = str(path)
        super().__init__(f"{path}: {message}")


class MissingExtraError(NsedError):
    """A package that comes with an extra is not installed.

    >>> raise MissingExtraError("lingpy", extra="cognates")
    Traceback (most recent call last):
    nsed.errors.MissingExtraError: the package lingpy is not installed: pip install 'neural-string-edit-distance[...]'
    """

    def __init__(self, package: str, *, extra: str) -> None:
        super().__init__(f"the package {package} is not installed: pip install 'neural-string-edit-distance[{extra}]'")


class NotExplainableError(NsedError):
    """The model gives an answer but has no edit operations to show for it."""


class UndecidedError(NsedError, AttributeError):
    """The model gives scores but has no threshold, because nothing labelled was there to tune one on.

    An `AttributeError` too: to whoever asks with `getattr` or `hasattr`, the model has no such attribute.
    """


class UnknownSymbolWarning(UserWarning):
    """Symbols that the model never saw in training; sources to transduce have their known kin, others one `<unk>`."""

    side = ""
    """Side of the pairs that they are on: source or target."""


class UnknownLanguageWarning(UnknownSymbolWarning):
    """Languages that a matcher never saw in training: their strings are scored as if no language were given."""


class CutOutputWarning(UserWarning):
    """Targets as long as is allowed: they were probably meant to be longer."""


class UnknownIdWarning(UserWarning):
    """Labels of records that no table has."""


class DoubtfulLinksWarning(UserWarning):
    """Linkage that is probably not what is wanted.

    Labels cannot say how precise links are, one cluster has many of the records, pairs are too long to be compared, or
    the review band beside the links is of an earlier run.
    """


class ContradictoryLabelsWarning(UserWarning):
    """Pairs to learn from that are there with both labels: no matcher can be right about all of them."""


class HeaderWarning(UserWarning):
    """A first row that looks like a header of other names than the usual ones; it is read as data all the same."""


def warn(warning: Warning) -> None:
    """Warn at the line that called nsed, however deep in it something was seen.

    >>> with warnings.catch_warnings(record=True, action="always") as heard:
    ...     warn(HeaderWarning("words.tsv:1: the first row looks like a header"))
    >>> heard[0].category.__name__
    'HeaderWarning'
    """
    frame, depth, outermost = sys._getframe(1), 2, 2
    while frame.f_back is not None:
        frame, depth = frame.f_back, depth + 1
        if frame.f_globals.get("__name__", "").partition(".")[0] == "nsed":
            outermost = depth
    warnings.warn(warning, stacklevel=outermost + 1)
