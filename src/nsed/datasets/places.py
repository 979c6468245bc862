"""Where the files of data sets lie: in the folder that `NSED_DATA` names, or in the cache.

Files in `NSED_DATA` are used where they are and never changed; only the cache is written to. It is the folder that
`NSED_CACHE` names, else `nsed` in that for caches (`XDG_CACHE_HOME`, or `~/.cache`). Both have the same layout.
"""

import hashlib
import os
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from nsed.datasets.records import DataFile
from nsed.errors import DataError

READ_AT_ONCE = 1 << 20


class Place(Enum):
    """Where a file was found."""

    OWN_FOLDER = "in NSED_DATA"
    CACHE = "cached"


class Found(NamedTuple):
    """A file, and where it was found."""

    path: Path
    place: Place


def cache_folder() -> Path:
    """Where fetched files go."""
    if own := os.environ.get("NSED_CACHE"):
        return Path(own).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").expanduser() / "nsed"


def cache_path(file: DataFile) -> Path:
    """Where the file is put, or has to be put by hand."""
    return cache_folder() / file.name


def find(file: DataFile) -> Found | None:
    """The file in `NSED_DATA`, else in the cache; None where neither has it. Its content is not looked at."""
    own = os.environ.get("NSED_DATA")
    if own and (path := Path(own).expanduser() / file.name).is_file():
        return Found(path, Place.OWN_FOLDER)
    return Found(cache_path(file), Place.CACHE) if cache_path(file).is_file() else None


def digest(path: Path) -> str:
    """SHA-256 of a file's content."""
    found = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(READ_AT_ONCE):
            found.update(chunk)
    return found.hexdigest()


def verify(path: Path, file: DataFile) -> Path:
    """The path, if its content is that of the file. Raises `DataError` with both hashes if not."""
    try:
        got = digest(path)
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror}") from None
    if got != file.sha256:
        message = f"this is not {file.name} as published: SHA-256 expected {file.sha256}, got {got}"
        raise DataError(path, message)
    return path
