"""Data sets into the cache, from their public addresses or from a folder.

A file gets its name only when its hash is right. What a broken download leaves behind ends in `.part`.
"""

import hashlib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from nsed.datasets.catalogue import DATASETS
from nsed.datasets.download import OnBytes, download
from nsed.datasets.places import Place, cache_path, find, verify
from nsed.datasets.records import DataFile, DataSet
from nsed.errors import ArgumentError, DataError, DownloadError
from nsed.train.saved_model import replace_file

PART = ".part"


def fetch(name: str, *, folder: str | Path | None = None) -> list[Path]:
    """Where the files of a data set are, after those that are missing have been fetched.

    With `folder` they are copied from there: a folder with the layout of the cache, or with the files under the names
    they were published with. Raises `DownloadError` where that does not work, and says what to put where.
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
    """Where the file is. What is there already stays, unless it is in the cache and its content is wrong."""
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
    """What the disk complains of becomes our complaint."""
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
    """Beside the file, with the name of what is downloaded, so that both sets of one archive can go on with it."""
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
    """What to put where for the files of a data set that are missing."""
    lines = ["Without a network, put these files there:"]
    for file in DATASETS[name].files:
        if find(file) is None:
            what = f"{file.member} of the archive {file.url}" if file.member else file.url
            lines.append(f"  {what}\n    as {cache_path(file)}\n    SHA-256 {file.sha256}")
    first = DATASETS[name].files[0].name
    lines.append(f"Or copy them from a folder that has them: nsed data fetch {name} --from FOLDER")
    return "\n".join([*lines, f"Or let NSED_DATA name a folder that has them, say {first}, below it."])
