"""Model folders: `model.json` (kind, settings, vocabularies, record) and one safetensors file, as `nsed` saves them."""

import hashlib
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

FORMAT = 1
"""Newest format of folders that this runtime reads."""
DTYPES = {"F16": np.float16, "F32": np.float32, "F64": np.float64}


class ModelFolderError(ValueError):
    """A model folder cannot be read, or holds what this runtime cannot run; the message says what to do."""

    def __init__(self, path: str | Path, message: str) -> None:
        super().__init__(f"{path}: {message}")


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
    try:
        description = json.loads((folder / "model.json").read_bytes())
    except OSError as error:
        advice = "give the path of a folder that `nsed train` or `model.save` wrote; names of shipped models are nsed's"
        raise ModelFolderError(path, f"no model here: model.json cannot be read ({error.strerror}); {advice}") from None
    except ValueError:
        raise ModelFolderError(path, "model.json is truncated or no JSON: copy the folder again") from None
    if not isinstance(description, dict) or not isinstance(description.get("format"), int):
        raise ModelFolderError(path, "model.json is no model description: copy the folder again")
    if description["format"] > FORMAT:
        newer = f"format {description['format']} is newer than this nsed-lite, which reads up to {FORMAT}"
        raise ModelFolderError(path, f"{newer}: upgrade it")
    if description.get("kind") not in kinds:
        runs = f"holds a model of kind {description.get('kind')!r}; nsed-lite runs {', '.join(kinds)}"
        advice = "load it with the full package: pip install neural-string-edit-distance, nsed.load(folder)"
        raise ModelFolderError(path, f"{runs}: {advice}")
    try:
        weights = _read_weights(folder / Path(description["weights"]).name, description["sha256"])
        kind, config, vocabularies = (description[name] for name in ("kind", "config", "vocabularies"))
        return Folder(kind, config, vocabularies, weights, description.get("record", {}))
    except OSError as error:
        raise ModelFolderError(path, f"the weights cannot be read ({error.strerror}): copy the folder again") from None
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFolderError(path, f"incomplete or altered ({error}): copy the folder again") from None


def _read_weights(path: Path, digest: str) -> Weights:
    """Tensors of a safetensors file: the size of a JSON header, the header, then the numbers."""
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != digest:
        raise ValueError(f"{path.name} does not have the hash that model.json names")
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    header.pop("__metadata__", None)
    return Weights({name: _tensor(content, start, told) for name, told in header.items()})


def _tensor(content: bytes, start: int, told: Mapping[str, Any]) -> np.ndarray:
    first, last = told["data_offsets"]
    if told["dtype"] not in DTYPES:
        raise ValueError(f"numbers of type {told['dtype']}, expected one of {', '.join(DTYPES)}")
    numbers = np.frombuffer(
        content[start + first : start + last], dtype=np.dtype(DTYPES[told["dtype"]]).newbyteorder("<")
    )
    return numbers.reshape(told["shape"])
