"""Model folders: `model.json` (kind, settings, vocabularies, record) and one safetensors file, as `nsed` saves them."""

import hashlib
import json
from collections.abc import Collection, Mapping
from errno import EINVAL
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

FORMAT = 1
"""Newest format of folders that this runtime reads."""
DTYPES = {"F16": np.float16, "F32": np.float32, "F64": np.float64}


LARGEST_DESCRIPTION, LARGEST_HEADER = 2**25, 10**8
"""Bytes of `model.json`, and of the header of a weights file, at most."""
LONGEST_MESSAGE = 1000


class ModelFolderError(ValueError):
    """A model folder cannot be read, or holds what this runtime cannot run; the message says what to do."""

    def __init__(self, path: str | Path, message: str) -> None:
        shown = message if len(message) <= LONGEST_MESSAGE else f"{message[:LONGEST_MESSAGE]} ..."
        super().__init__(f"{path}: {shown}")


class OtherKindError(ValueError):
    """A model, or a part of one, is of a kind that this runtime does not run; the message says what does."""

    def __init__(self, what: str, kinds: Collection[str]) -> None:
        advice = "load it with the full package: pip install neural-string-edit-distance, nsed.load(folder)"
        super().__init__(f"holds {what}; nsed-lite runs {', '.join(kinds)}: {advice}")


class Weights:
    """Tensors by name, each of which some layer must take: one that is left over belongs to a model of another make."""

    def __init__(self, tensors: Mapping[str, np.ndarray]) -> None:
        self.tensors, self.left = dict(tensors), set(tensors)

    def __call__(self, name: str) -> np.ndarray:
        """Tensor of a name; half precision becomes single, double stays double."""
        if name not in self.tensors:
            raise ValueError(f"the tensor {name!r} is missing")
        self.left.discard(name)
        found = self.tensors[name]
        return found.astype(np.float32) if found.dtype == np.float16 else found

    def __contains__(self, name: str) -> bool:
        return name in self.tensors

    def check_all_taken(self) -> None:
        """Raise `ValueError` for tensors that no layer took."""
        if self.left:
            names = ", ".join(sorted(self.left)[:3])
            raise ValueError(f"{len(self.left)} tensors belong to no layer known here ({names}): upgrade nsed-lite")


class Folder(NamedTuple):
    """What a model folder says: everything that a model is made of."""

    kind: str
    config: Mapping[str, Any]
    vocabularies: Mapping[str, list[str]]
    weights: Weights
    record: Mapping[str, Any]

    def member(self, number: int) -> "Folder":
        """One member of a mixture, which has its own settings, vocabularies and tensors."""
        told, start = self.record["members"][number], f"{number}."
        tensors = {name.removeprefix(start): part for name, part in self.weights.tensors.items() if _is(name, start)}
        words = {name.removeprefix(start): part for name, part in self.vocabularies.items() if _is(name, start)}
        return Folder(told.get("kind", "transducer"), told["config"], words, Weights(tensors), told["record"])


def _is(name: str, start: str) -> bool:
    return name.startswith(start)


def read_folder(path: str | Path, kinds: Collection[str]) -> Folder:
    """Read a model folder, of a model of these kinds.

    Raises `ModelFolderError` where something is missing, truncated, altered or too new, and for other kinds.
    """
    folder = Path(path)
    description = _read_description(path)
    kind = description.get("kind")
    if not isinstance(kind, str) or kind not in kinds:
        raise ModelFolderError(path, str(OtherKindError(f"a model of kind {kind!r}", kinds)))
    try:
        for name, expected in (("config", dict), ("vocabularies", dict), ("sha256", str), ("weights", str)):
            if not isinstance(description[name], expected):
                raise ValueError(f"{name} is no {expected.__name__}")
        weights = _read_weights(folder / Path(description["weights"]).name, description["sha256"])
        vocabularies = {name: _vocabulary(name, symbols) for name, symbols in description["vocabularies"].items()}
        return Folder(kind, description["config"], vocabularies, weights, _record(description))
    except OSError as error:
        raise ModelFolderError(path, f"the weights cannot be read ({error.strerror}): copy the folder again") from None
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise ModelFolderError(path, f"incomplete or altered ({error}): copy the folder again") from None


def _read_description(path: str | Path) -> dict[str, Any]:
    try:
        with _opened(Path(path) / "model.json") as stream:
            description = json.loads(stream.read(LARGEST_DESCRIPTION))
    except OSError as error:
        advice = "give the path of a folder that `nsed train` or `model.save` wrote; names of shipped models are nsed's"
        raise ModelFolderError(path, f"no model here: model.json cannot be read ({error.strerror}); {advice}") from None
    except (RecursionError, ValueError):
        raise ModelFolderError(path, "model.json is truncated or no JSON: copy the folder again") from None
    if not isinstance(description, dict) or not isinstance(description.get("format"), int):
        raise ModelFolderError(path, "model.json is no model description: copy the folder again")
    if description["format"] > FORMAT:
        newer = f"format {description['format']} is newer than this nsed-lite, which reads up to {FORMAT}"
        raise ModelFolderError(path, f"{newer}: upgrade it")
    return description


def _vocabulary(name: str, symbols: object) -> list[str]:
    strings = [symbol for symbol in symbols if isinstance(symbol, str)] if isinstance(symbols, list) else []
    if strings != symbols or len(set(strings)) < len(strings):
        raise ValueError(f"the vocabulary {name} is no list of strings, each of them once")
    return strings


def _record(description: Mapping[str, Any]) -> Mapping[str, Any]:
    record = description.get("record", {})
    if not isinstance(record, dict):
        raise ValueError("record is no dict")
    return record


def _opened(path: Path) -> BinaryIO:
    """Open a regular file: whoever reads another one, say a pipe, may wait for ever."""
    if path.exists() and not path.is_file():
        raise OSError(EINVAL, "no regular file")
    return path.open("rb")


def _read_weights(path: Path, digest: str) -> Weights:
    """Tensors of a safetensors file: the size of a JSON header, the header, then the numbers.

    A file whose size is not the one that its header tells is not read, however large it is.
    """
    with _opened(path) as stream:
        size = stream.read(8)
        start = 8 + min(int.from_bytes(size, "little"), LARGEST_HEADER)
        text = stream.read(start - 8)
        header = json.loads(text)
        header.pop("__metadata__", None)
        end = max((told["data_offsets"][1] for told in header.values()), default=0)
        if path.stat().st_size != start + end:
            raise ValueError(f"{path.name} has not the size that its header tells")
        content = size + text + stream.read()
    if hashlib.sha256(content).hexdigest() != digest:
        raise ValueError(f"{path.name} does not have the hash that model.json names")
    numbers = memoryview(content)[start:]
    return Weights({name: _tensor(name, numbers, told) for name, told in header.items()})


def _tensor(name: str, content: memoryview, told: Mapping[str, Any]) -> np.ndarray:
    first, last = told["data_offsets"]
    if told["dtype"] not in DTYPES:
        raise ValueError(f"numbers of type {told['dtype']}, expected one of {', '.join(DTYPES)}")
    if not 0 <= first <= last <= len(content) or any(size < 0 for size in told["shape"]):
        raise ValueError(f"the tensor {name!r} lies outside of the file")
    kind = np.dtype(DTYPES[told["dtype"]]).newbyteorder("<")
    numbers = np.frombuffer(content[first:last], dtype=kind).reshape(told["shape"])
    if not np.isfinite(numbers).all():
        raise ValueError(f"the tensor {name!r} has NaN or infinite values")
    return numbers
