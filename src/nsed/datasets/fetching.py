"""Data set download and loading by name: from public addresses into the cache, or the folder that `NSED_DATA` names."""

import hashlib
import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from nsed.datasets.catalogue import DATASETS, DataFile, DataSet
from nsed.datasets.protocols import PROTOCOLS, SplitOptions
from nsed.datasets.splits import Splits
from nsed.datasets.word_list import CLASSES, Word, read_word_list
from nsed.errors import ArgumentError, DataError, DownloadError
from nsed.train.saved_model import replace_file

READ_AT_ONCE = 1 << 20


class Place(Enum):
    """File origin: where a file was found."""

    OWN_FOLDER = "in NSED_DATA"
    CACHE = "cached"


class FoundFile(NamedTuple):
    """Located file, and where it was found."""

    path: Path
    place: Place


def cache_folder() -> Path:
    """Cache folder, where fetched files go."""
    if own := os.environ.get("NSED_CACHE"):
        return Path(own).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").expanduser() / "nsed"


def cache_path(file: DataFile) -> Path:
    """Cache path, where the file is put, or has to be put by hand."""
    return cache_folder() / file.name


def find(file: DataFile) -> FoundFile | None:
    """Locate the file in `NSED_DATA`, else in the cache; None where neither has it. Its content is not looked at."""
    own = os.environ.get("NSED_DATA")
    if own and (path := Path(own).expanduser() / file.name).is_file():
        return FoundFile(path, Place.OWN_FOLDER)
    return FoundFile(cache_path(file), Place.CACHE) if cache_path(file).is_file() else None


def digest(path: Path) -> str:
    """SHA-256 of a file's content."""
    found = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(READ_AT_ONCE):
            found.update(chunk)
    return found.hexdigest()


def verify(path: Path, file: DataFile) -> Path:
    """Verify the SHA-256 of the file and return its path. Raises `DataError` with both hashes if it differs."""
    try:
        got = digest(path)
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror}") from None
    if got != file.sha256:
        message = f"this is not {file.name} as published: SHA-256 expected {file.sha256}, got {got}"
        raise DataError(path, message)
    return path


DOWNLOADED_AT_ONCE, TIMEOUT = 1 << 16, 30.0
PARTIAL, NOTHING_LEFT = 206, 416

OnBytes = Callable[[int, int | None], None]
"""Download progress callback: told how many bytes are there, and how many there will be if that is known."""


def download(url: str, part: Path, *, on_bytes: OnBytes) -> None:
    """Resume the download of the file `part` until it is complete; after a fault it stays for the next call to go on.

    Raises `DownloadError`, which says why.
    """
    start = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": "nsed"} | ({"Range": f"bytes={start}-"} if start else {})
    try:
        with urlopen(Request(url, headers=headers), timeout=TIMEOUT) as answer:
            _append(answer, part, start if answer.status == PARTIAL else 0, on_bytes)
    except HTTPError as error:
        error.close()
        if error.code != NOTHING_LEFT or not start:  # else it is complete, or its hash will show that it is not
            raise DownloadError(f"the server says: {error.code} {error.reason}") from None
    except (OSError, HTTPException, ValueError) as error:  # ValueError: not an address at all
        raise DownloadError(str(getattr(error, "reason", error)) or type(error).__name__) from None


def _append(answer: HTTPResponse, part: Path, start: int, on_bytes: OnBytes) -> None:
    """Append what comes after the first `start` bytes (HTTP range); a server that knows no ranges starts at 0."""
    length = answer.headers.get("Content-Length")
    total = start + int(length) if length else None
    done = start
    with part.open("ab" if start else "wb") as stream:
        on_bytes(done, total)
        while chunk := answer.read(DOWNLOADED_AT_ONCE):
            stream.write(chunk)
            done += len(chunk)
            on_bytes(done, total)
    if total is not None and done < total:
        raise DownloadError(f"the connection broke after {done:,} of {total:,} bytes; the next try goes on from there")


PART = ".part"


def fetch(name: str, *, folder: str | Path | None = None) -> list[Path]:
    """Download what is missing of a data set; the paths of its files.

    With `folder` they are copied from there: a folder with the layout of the cache, or with the files under the names
    they were published with. Raises `DownloadError` where that does not work, and says what to put where.

    >>> fetch("rules")
    Traceback (most recent call last):
    nsed.errors.ArgumentError: NAME: got rules, expected a data set with files; this one is made by nsed. ...
    """
    return [fetch_file(file, name, folder=folder) for file in files_of(name)]


def files_of(name: str) -> tuple[DataFile, ...]:
    """The files of a data set. Raises `ArgumentError` for one that has none to be fetched."""
    dataset: DataSet = DATASETS[name]
    if not dataset.files:
        where = f"comes with the package `{dataset.package}`" if dataset.package else "is made by nsed"
        expected = f"a data set with files; this one {where}"
        raise ArgumentError("NAME", got=name, expected=expected, advice=f"nsed data export {name} FOLDER writes it.")
    return dataset.files


def fetch_file(
    file: DataFile, name: str, *, folder: str | Path | None = None, on_bytes: OnBytes = lambda done, total: None
) -> Path:
    """Download a file; its path. What is there already stays, unless it is in the cache and its content is wrong."""
    found = find(file)
    if found and not (found.place is Place.CACHE and _is_wrong(found.path, file)):
        return verify(found.path, file)
    with _writing(file):
        cache_path(file).parent.mkdir(parents=True, exist_ok=True)
        if folder is not None:
            _copy(file, Path(folder))
        else:
            _download(file, name, on_bytes)
    return cache_path(file)


def _is_wrong(path: Path, file: DataFile) -> bool:
    try:
        verify(path, file)
    except DataError:
        return True
    return False


@contextmanager
def _writing(file: DataFile) -> Iterator[None]:
    """Disk errors as `DataError`: what the disk complains of becomes our complaint."""
    try:
        yield
    except OSError as error:
        raise DataError(cache_path(file), f"cannot be written: {error.strerror}") from None


def _copy(file: DataFile, folder: Path) -> None:
    tried = [folder / file.name, folder / file.public_name]
    source = next((path for path in tried if path.is_file()), None)
    if source is None:
        raise DataError(folder, f"neither {tried[0]} nor {tried[1]} is there")
    replace_file(cache_path(file), verify(source, file).read_bytes())


def _download(file: DataFile, name: str, on_bytes: OnBytes) -> None:
    part = _part(file)
    try:
        download(file.url, part, on_bytes=on_bytes)
    except DownloadError as error:
        raise DownloadError(f"{file.name} cannot be fetched from {file.url}: {error}\n{by_hand(name)}") from None
    try:
        content = _content(file, part)
        _check(file, content)
    finally:
        # complete, but perhaps not what it should be: nothing of it is worth going on with
        part.unlink(missing_ok=True)
    replace_file(cache_path(file), content)


def _part(file: DataFile) -> Path:
    """Partial download path: beside the file, named after the download, so that both sets of one archive share it."""
    return cache_path(file).with_name(urlsplit(file.url).path.rsplit("/", 1)[-1] + PART)


def _content(file: DataFile, part: Path) -> bytes:
    if file.member is None:
        return part.read_bytes()
    try:
        with zipfile.ZipFile(part) as archive:
            return archive.read(file.member)
    except (zipfile.BadZipFile, KeyError) as error:
        message = f"{file.url} is no archive with {file.member}: {error}. Nothing was kept."
        raise DownloadError(message) from None


def _check(file: DataFile, content: bytes) -> None:
    got = hashlib.sha256(content).hexdigest()
    if got != file.sha256:
        what = f"{file.member} in {file.url}" if file.member else file.url
        message = f"{what} is not what it was: SHA-256 expected {file.sha256}, got {got}. Nothing was kept."
        raise DownloadError(message)


def by_hand(name: str) -> str:
    """Manual download instructions: what to put where for the files of a data set that are missing."""
    lines = ["Without a network, put these files there:"]
    for file in DATASETS[name].files:
        if find(file) is None:
            what = f"{file.member} of the archive {file.url}" if file.member else file.url
            lines.append(f"  {what}\n    as {cache_path(file)}\n    SHA-256 {file.sha256}")
    first = DATASETS[name].files[0].name
    lines.append(f"Or copy them from a folder that has them: nsed data fetch {name} --from FOLDER")
    return "\n".join([*lines, f"Or let NSED_DATA name a folder that has them, say {first}, below it."])


PROTOCOL = "concepts"
"""Default split protocol of word lists: nothing of it leaks."""


def names() -> list[str]:
    """Data set names.

    >>> [name for name in names() if name.startswith("cognates")]
    ['cognates-aa', 'cognates-ie']
    """
    return list(DATASETS)


def load(name: str, *, protocol: str | None = None, options: SplitOptions | None = None) -> Splits:
    """Load training, validation and test pairs of a data set; nothing is downloaded.

    `g2p-cmudict`: as published, but validation without the words that training has. `translit-ar2en`: as published.
    Word lists (`cognates-ie`, `cognates-aa`): split by a protocol of `nsed.datasets.protocols`, by default `concepts`;
    `published` reads their classes from `COGNATE_CLASS`, as the paper did, the others from `COGID`.
    `cmudict`, `rules` and `febrl4`: by word, by source or by person.

    >>> training, validation, test = load("rules")
    >>> len(training), len(validation), len(test)
    (10200, 600, 1200)
    """
    dataset = DATASETS[name]
    if dataset.parts is None:
        chosen = PROTOCOLS[protocol or PROTOCOL]
        return chosen.split(load_words(name, class_column=chosen.own_column), options or SplitOptions())
    for argument, value in (("protocol", protocol), ("options", options)):
        if value is not None:
            raise ArgumentError(argument, got=value, expected=f"nothing: {name} is no word list")
    return dataset.parts(paths_of(name))


def load_words(name: str, *, class_column: str = CLASSES) -> list[Word]:
    """Load the words of a word list, for a protocol of `nsed.datasets.protocols`.

    >>> load_words("rules")
    Traceback (most recent call last):
    nsed.errors.ArgumentError: name: got 'rules', expected a word list: cognates-aa, cognates-ie
    """
    if DATASETS[name].parts is not None:
        lists = ", ".join(each for each in DATASETS if DATASETS[each].parts is None)
        raise ArgumentError("name", got=repr(name), expected=f"a word list: {lists}")
    return read_word_list(*paths_of(name), class_column=class_column)


def paths_of(name: str) -> list[Path]:
    """File paths of a data set. Raises `DataError` where one is missing or is not as published."""
    return [_path(file, name) for file in DATASETS[name].files]


def _path(file: DataFile, name: str) -> Path:
    found = find(file)
    if found is None:
        message = f"{name} is not here yet: nsed data fetch {name}, or nsed.datasets.fetch({name!r}), fetches it"
        raise DataError(cache_path(file), message)
    return verify(found.path, file)
