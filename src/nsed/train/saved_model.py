"""Model serialisation: one folder with `model.json` and one safetensors file. No pickle is ever read.

`model.json` names the weights file, whose name contains the hash of its content, and is replaced last and atomically: a
process killed at any moment leaves a folder that holds either the old model or the new one.
"""

import errno
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import load as parse_tensors
from safetensors.torch import save as format_tensors
from torch import Tensor

from nsed.config import shortened, shown
from nsed.errors import ModelFileError, NsedError
from nsed.text import Vocabulary

FORMAT = 1
DESCRIPTION = "model.json"
WEIGHTS = re.compile(r"weights-[0-9a-f]{12}\.safetensors(\.part)?")
"""Names of weights files, and of those that were being written; others beside them are not ours."""


@dataclass(frozen=True)
class SavedModel:
    """Serialised model: its kind, settings, vocabularies and tensors."""

    kind: str
    config: Mapping[str, Any]
    vocabularies: Mapping[str, Vocabulary]
    tensors: Mapping[str, Tensor]
    record: Mapping[str, Any] = field(default_factory=dict)
    """Training metadata: data, iterations, scores."""


def write_model(path: str | Path, model: SavedModel) -> None:
    """Save to a folder, which is made if need be, atomically."""
    folder, content = Path(path), format_tensors({name: t.contiguous() for name, t in model.tensors.items()})
    weights = f"weights-{_digest(content)[:12]}.safetensors"
    description = {
        "format": FORMAT,
        "kind": model.kind,
        "weights": weights,
        "sha256": _digest(content),
        "config": dict(model.config),
        "vocabularies": {name: list(vocabulary.symbols) for name, vocabulary in model.vocabularies.items()},
        "record": dict(model.record),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        replace_file(folder / weights, content)
        replace_file(folder / DESCRIPTION, json.dumps(description, indent=1).encode())
        remove_orphans(folder)
    except OSError as error:
        raise NsedError(f"{path}: the model cannot be saved: {error.strerror}") from error


def read_model(path: Path) -> SavedModel:
    """Load what `write_model` wrote. Raises `ModelFileError` for whatever else is there."""
    description = read_description(path)
    weights = description["weights"]
    if not _is_whole(path / weights) or _digest_of(path / weights) != description["sha256"]:
        raise ModelFileError(path, f"{shortened(weights)} is truncated or altered: its hash is not the saved one")
    try:
        tensors = parse_tensors(_read(path / weights))
    except (SafetensorError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise ModelFileError(path, f"{shortened(weights)} is not readable: {shortened(str(error))}") from None
    vocabularies = {name: _vocabulary(path, name, of) for name, of in description["vocabularies"].items()}
    return SavedModel(description["kind"], description["config"], vocabularies, tensors, description["record"])


_TYPES = {"kind": str, "weights": str, "sha256": str, "config": dict, "vocabularies": dict, "record": dict}
LARGEST_DESCRIPTION = 2**25
"""Maximum size of `model.json` in bytes: a vocabulary of a million symbols has half of it."""


def read_description(folder: Path) -> dict[str, Any]:
    """Model description: everything that was saved but the tensors."""
    content = _read(folder / DESCRIPTION, most=LARGEST_DESCRIPTION)
    try:
        description = json.loads(content)
    except (ValueError, RecursionError):
        description = None
    if not isinstance(description, dict) or not isinstance(description.get("format"), int):
        raise ModelFileError(folder, f"{DESCRIPTION} is truncated or not a model description")
    if description["format"] > FORMAT:
        message = (
            f"format {shown(description['format'])} is newer than this nsed, which reads up to {FORMAT}: upgrade it"
        )
        raise ModelFileError(folder, message)
    wrong = [name for name, kind in _TYPES.items() if not isinstance(description.get(name), kind)]
    if wrong or Path(description["weights"]).name != description["weights"]:
        raise ModelFileError(folder, f"{DESCRIPTION} is incomplete or altered: {', '.join(wrong) or 'weights'}")
    return description


def _vocabulary(folder: Path, name: str, symbols: object) -> Vocabulary:
    strings = [symbol for symbol in symbols if isinstance(symbol, str)] if isinstance(symbols, list) else None
    if strings is None or strings != symbols or len(set(strings)) < len(strings):
        message = f"vocabularies: {shown(name)}: expected a list of strings, each of them once"
        raise ModelFileError(folder, f"{DESCRIPTION} is incomplete or altered: {message}")
    return Vocabulary(tuple(strings))


def remove_orphans(folder: Path) -> None:
    """Remove orphaned weights, which the model in the folder does not name: those of earlier saves, whole or not."""
    try:
        named = read_description(folder)["weights"]
    except ModelFileError:  # whatever these weights are, they may be all that is left
        return
    for path in folder.glob("weights-*"):
        if WEIGHTS.fullmatch(path.name) and path.name != named:
            path.unlink(missing_ok=True)


def _read(path: Path, *, most: int | None = None) -> bytes:
    with _opened(path) as stream:
        content = stream.read() if most is None else stream.read(most + 1)
    if most is not None and len(content) > most:
        raise ModelFileError(path.parent, f"{path.name} is too large: expected at most {most:,} bytes")
    return content


def _is_whole(path: Path) -> bool:
    """Whether a file has a header of safetensors and the size that this tells; others, of any size, are not read."""
    with _opened(path):
        try:
            with safe_open(path, "pt"):
                return True
        except (SafetensorError, OSError):
            return False


def _digest_of(path: Path) -> str:
    """SHA-256 of a file, of any size, without having it in memory."""
    with _opened(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def _opened(path: Path) -> Iterator[BufferedReader]:
    """Open a regular file: whoever reads another one, say a pipe, may wait for ever."""
    try:
        if path.exists() and not path.is_file():
            raise OSError(errno.EINVAL, "Is a directory" if path.is_dir() else "Not a regular file")
        with path.open("rb") as stream:
            yield stream
    except (OSError, ValueError) as error:  # ValueError: NUL in the name
        reason = error.strerror if isinstance(error, OSError) else str(error)
        message = f"no saved model here: {shortened(path.name)} cannot be read: {reason}{_hint(path.parent)}"
        raise ModelFileError(path.parent, message) from None


def _hint(folder: Path) -> str:
    """Suggestion: what may have been meant."""
    unfinished = (folder / "checkpoint").is_dir()
    return " (the training here is not finished: go on with nsed train --resume)" if unfinished else ""


def replace_file(path: Path, content: bytes) -> None:
    """Replace a file atomically: write beside it, make sure it is on the disk (fsync), then put it in its place."""
    beside = path.with_name(path.name + ".part")
    try:
        with beside.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)  # a full disk should not stay full because of us
        raise


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
