"""Provenance of a job: hashes of its model and its inputs, by which the same job is known again."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.dataset
import torch

from nsed.errors import DataError
from nsed.text.readers.batches import TABLES
from nsed.text.readers.lines import STDIN

CHUNK = 2**20


class InputFile(NamedTuple):
    """Input file: what it is, and about how many rows it has."""

    path: str
    size: int
    sha256: str
    rows: int
    """Rows of a binary table; lines of a text, with its header and empty ones."""


def describe_inputs(paths: Sequence[Path]) -> list[InputFile]:
    """Sizes, hashes and rows of files; of standard input, nothing is known. Raises `DataError` for what is no file."""
    return [_described(path) for path in paths]


def _described(path: Path) -> InputFile:
    if path == STDIN:
        return InputFile(str(path), 0, "", 0)
    digest, size, lines = hashlib.sha256(), 0, 0
    try:
        with path.open("rb") as stream:
            while chunk := stream.read(CHUNK):
                digest.update(chunk)
                size, lines = size + len(chunk), lines + chunk.count(b"\n")
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror}") from None
    return InputFile(str(path), size, digest.hexdigest(), count_rows(path, lines))


def count_rows(path: Path, lines: int = 0) -> int:
    """Rows of a binary table, as its own description says; of others, the lines that are known of it."""
    ending = path.suffix.lower()
    if ending not in TABLES:
        return lines
    try:
        return int(pyarrow.dataset.dataset(path, format="parquet" if ending == ".parquet" else "ipc").count_rows())
    except (OSError, ValueError):  # whoever reads it says what is wrong
        return 0


def model_hash(model: Any) -> str | None:
    """SHA-256 of all that a model consists of; None of a model that is not ours, of which nobody knows."""
    if not hasattr(model, "contents"):
        return None
    contents, digest = model.contents(), hashlib.sha256()
    plain = {
        "kind": model.kind,
        "config": asdict(model.config),
        "vocabularies": {name: list(vocabulary.symbols) for name, vocabulary in contents.vocabularies.items()},
        "record": dict(contents.record),
    }
    digest.update(json.dumps(plain, sort_keys=True, default=str).encode())
    for name, tensor in sorted(contents.tensors.items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
