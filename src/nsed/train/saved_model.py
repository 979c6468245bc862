"""Model serialisation: one folder with `model.json` and one safetensors file. No pickle is ever read.

`model.json` names the weights file, whose name contains the hash of its content, and is replaced last and atomically: a
process killed at any moment leaves a folder that holds either the old model or the new one.

State dicts are a network's weights on their way to the disk and back, and into a network for more symbols. Symbols that
are new begin as copies of `<unk>`. So, before it learns, the larger network reads them as the smaller one read them,
and writes them as rarely as that wrote `<unk>`, that is next to never: nothing learned is disturbed.
"""

import errno
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from safetensors import SafetensorError, safe_open
from safetensors.torch import load as parse_tensors
from safetensors.torch import save as format_tensors
from torch import Tensor, nn

from nsed.config import shortened, shown
from nsed.errors import ArgumentError, DataError, ModelFileError, NsedError
from nsed.text import Vocabulary
from nsed.types import UNKNOWN

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
    folder, content = Path(path), _content(model)
    weights = f"weights-{_digest(content)[:12]}.safetensors"
    described = _described(model)
    kind = described.pop("kind")
    description = {"format": FORMAT, "kind": kind, "weights": weights, "sha256": _digest(content), **described}
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


@contextmanager
def replacing_folder(folder: Path, *, last: str = "") -> Iterator[Path]:
    """Folder to write into, beside a new one or within one that is there, whose place it takes when all is written.

    No half folder is ever left. Into one that is there files are moved, those of folders first, the `last` one last.
    Raises `DataError`, which names the folder that was asked for, where it cannot be written.
    """
    place = folder.resolve()
    name = f".{place.name}.{os.getpid()}.part"
    beside = place / name if place.exists() else place.with_name(name)
    try:
        beside.mkdir(parents=True)
        yield beside
        if beside.parent != place:
            beside.rename(place)
            return
        written = (one.relative_to(beside) for one in beside.rglob("*") if one.is_file())
        for one in sorted(written, key=lambda one: (len(one.parts) == 1, one.name == last)):
            (place / one).parent.mkdir(parents=True, exist_ok=True)
            (beside / one).replace(place / one)
    except (OSError, NsedError) as error:
        fault = error if isinstance(error, OSError) else error.__cause__
        if not isinstance(fault, OSError):
            raise
        raise DataError(folder, f"cannot be written: {fault.strerror or fault}") from fault
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def holds_another(folder: Path, model: SavedModel) -> bool:
    """Whether a folder has a model of other settings, symbols or training, or one that cannot be read.

    The same weights with another threshold, say, are no other training.
    """
    try:
        there = read_description(folder)
    except ModelFileError:
        return (folder / DESCRIPTION).exists()
    now = json.loads(json.dumps(_described(model)))
    differing = {name for name, value in now.items() if _differs(there[name], value)}
    return bool(differing) and not (differing == {"record"} and there["sha256"] == _digest(_content(model)))


def _differs(there: Any, now: Any) -> bool:
    """Whether what a folder says is not what a model says now; settings that it does not have say nothing."""
    if isinstance(there, dict) and isinstance(now, dict):
        return any(name not in now or _differs(value, now[name]) for name, value in there.items())
    return bool(there != now)


def _content(model: SavedModel) -> bytes:
    """Weights as they are in a file."""
    return format_tensors({name: tensor.contiguous() for name, tensor in model.tensors.items()})


def _described(model: SavedModel) -> dict[str, Any]:
    """Model description, but for its weights."""
    return {
        "kind": model.kind,
        "config": dict(model.config),
        "vocabularies": {name: list(vocabulary.symbols) for name, vocabulary in model.vocabularies.items()},
        "record": dict(model.record),
    }


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
        except (SafetensorError, OSError, MemoryError):  # MemoryError: larger than the addresses that there are
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


def weights_of(network: nn.Module, *, half: bool) -> dict[str, Tensor]:
    """State dict on the CPU, tied weights once; `half` precision takes half the space."""
    dtype, state = torch.float16 if half else torch.float32, network.state_dict()
    return {name: state[name].detach().to("cpu", dtype).clone() for name in dict.fromkeys(_owners(network).values())}


def check_weights(network: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Compare tensors with a network, which may be on the meta device. Raises `ArgumentError` for those of another."""
    state, owners = network.state_dict(), _owners(network)
    faults = [f"{shown(name)} is missing" for name, owner in owners.items() if not {name, owner} & tensors.keys()]
    for name, value in tensors.items():
        got, expected = tuple(value.shape), tuple(state[name].shape) if name in state else None
        if expected is None:
            faults.append(f"{shown(name)} belongs to no layer")
        elif got != expected or not value.is_floating_point():
            faults.append(f"{shown(name)} is {value.dtype} of shape {got}, not a float of shape {expected}")
    if faults:
        more = f" and {len(faults) - 3} more" if len(faults) > 3 else ""
        raise ArgumentError(
            "weights", got="other tensors", expected=f"those of the settings: {'; '.join(faults[:3])}{more}"
        )


def put_weights(network: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Load weights of any float type, which `check_weights` has compared with it, into a network of float32."""
    named = {name: tensors[name if name in tensors else owner] for name, owner in _owners(network).items()}
    network.load_state_dict({name: value.float() for name, value in named.items()})


def _owners(network: nn.Module) -> dict[str, str]:
    """Tied weights: for each name, the first name of the same weights."""
    first: dict[int, str] = {}
    return {name: first.setdefault(id(value), name) for name, value in network.state_dict(keep_vars=True).items()}


CLASSES = ("projection.linear.weight", "projection.linear.bias")
"""Output weights, with a row per operation, not per symbol."""

Rows = Float[Tensor, "rows ..."]
MoreRows = Float[Tensor, "more ..."]


def grow_into(network: nn.Module, smaller: nn.Module) -> None:
    """Grow the vocabulary: give a network the weights of one with the same settings and, perhaps, fewer symbols."""
    given = smaller.state_dict()
    grown = {name: _grown(name, given[name], len(value)) for name, value in network.state_dict().items()}
    network.load_state_dict(grown)


def _grown(name: str, weight: Rows, rows: int) -> MoreRows:
    if len(weight) == rows:
        return weight
    return more_classes(weight, (rows - 1) // 2) if name in CLASSES else more_rows(weight, rows)


def more_rows(weight: Rows, rows: int) -> MoreRows:
    """Embedding rows for more symbols: those of the table, then copies of that of `<unk>`.

    >>> more_rows(torch.tensor([0.0, 7.0, 2.0]), 5).tolist()
    [0.0, 7.0, 2.0, 7.0, 7.0]
    """
    unknown = weight[UNKNOWN].expand(rows - len(weight), *weight.shape[1:])
    return torch.cat([weight, unknown])


def more_classes(weight: Rows, symbols: int) -> MoreRows:
    """Output rows for more symbols, of delete, each insert and each substitute: every row stays with its operation.

    >>> more_classes(torch.tensor([-1.0, 0.0, 1.0, 10.0, 11.0]), 3).tolist()
    [-1.0, 0.0, 1.0, 1.0, 10.0, 11.0, 11.0]
    """
    insert, substitute = weight[1:].chunk(2)
    return torch.cat([weight[:1], more_rows(insert, symbols), more_rows(substitute, symbols)])
