"""Folders of models with something wrong in them: files, descriptions, weights; loaded and, if that works, used."""

import json
import os
import shutil
from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load as parse_tensors
from safetensors.torch import save as format_tensors

import nsed
import nsed_lite
from fuzz.choices import Choices, damaged
from fuzz.targets import Execute
from nsed.capabilities import Capability, can

GOLDEN = Path(__file__).parents[1] / "tests" / "golden" / "models"
PAIRS = [("ABCA", "abca"), ("", "b"), ("C", "")]


def model_folders(folder: Path) -> Execute:
    """Damaged models of every kind."""
    return _of_damaged(folder, sorted(path.name for path in GOLDEN.iterdir()), lambda path: use(nsed.load(path)))


def lite_folders(folder: Path) -> Execute:
    """Damaged models of the kinds that nsed-lite runs."""
    names = [path.name for path in GOLDEN.iterdir() if _description(path.name)["kind"] in nsed_lite.KINDS]
    return _of_damaged(folder, sorted(names), lambda path: use_lite(nsed_lite.load(path)))


def _of_damaged(folder: Path, names: list[str], try_it: Callable[[Path], None]) -> Execute:
    copied = folder / "model"
    for name in names:
        try_it(GOLDEN / name)  # whatever is compiled at first use

    def execute(content: bytes) -> None:
        choices = Choices(content)
        shutil.rmtree(copied, ignore_errors=True)
        copied.mkdir()
        damage_model(choices, copied, choices.pick(names))
        try_it(copied)

    return execute


def _description(name: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(_files(name)["model.json"])
    return read


@lru_cache
def _files(name: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (GOLDEN / name).iterdir()}


def use(model: Any) -> None:
    """Ask a model for all that it can."""
    if can(model, Capability.SCORE):
        assert not np.isnan(model.score(PAIRS)).any()
    if can(model, Capability.MATCH):
        model.match(PAIRS)
        assert all(0 <= probability <= 1 for probability in model.probability(PAIRS))
    if can(model, Capability.TRANSDUCE):
        model.transduce([source for source, _ in PAIRS], nbest=2)
    if can(model, Capability.ALIGN):
        model.align_all(PAIRS)


def use_lite(model: Any) -> None:
    """Ask a model of nsed-lite for all that it can."""
    try:
        assert not np.isnan(model.score(PAIRS)).any()
        if model.criterion is not None:
            model.match(PAIRS)
            assert all(0 <= probability <= 1 for probability in model.probability(PAIRS))
        if hasattr(model, "transduce"):
            model.transduce([source for source, _ in PAIRS], nbest=2)
        model.align_all(PAIRS)
    except ValueError as error:
        said = ("too long", "not a number", "no operations of probability above zero")  # all these say what is wrong
        if not any(one in str(error) for one in said):
            raise


def damage_model(choices: Choices, folder: Path, name: str) -> None:
    """Write a model, one of whose files is damaged; the hash of its weights may or may not be that of damaged ones."""
    files, description = dict(_files(name)), folder / "model.json"
    weights = next(name for name in files if name.endswith(".safetensors"))
    way, values = choices.number(10), _description(name)
    if way == 1:
        files["model.json"] = damaged(choices, files["model.json"])
    elif 1 < way < 6:
        for _ in range(choices.pick([1, 1, 2, 3])):
            set_something(choices, values)
        files["model.json"] = json.dumps(values).encode()
    elif way >= 6:
        files[weights] = other_tensors(choices, files[weights]) if way < 9 else damaged(choices, files[weights])
        values["sha256"] = sha256(files[weights]).hexdigest() if choices.chance(0.9) else values["sha256"]
        files["model.json"] = json.dumps(values).encode()
    for each, content in files.items():
        (folder / each).write_bytes(content)
    if way == 0:
        other_file(choices, choices.pick([description, folder / weights]))


ODD = [
    *("null", "true", "-1", "0", "2", "3", "12000", "1000000000", "1" + "0" * 30, "0.5", "1e308", "NaN", "Infinity"),
    *('""', '"a\\u0000b"', f'"{"x" * 5000}"', '"../up"', '"\\ud800"', '"2001-13-45"', "[]", "{}", "[[]]", '{"a": 1}'),
    *('["a", "a"]', "[1, null]", "[" * 500 + "]" * 500, '"tokens"', '"graphemes"', '"rnn"', '"cnn"', '"transformer"'),
    *('"matcher"', '"transducer"', '"edit-distance"', '"incoming"', '"outgoing"'),
]
"""JSON of values that are rarely meant."""


def set_something(choices: Choices, values: Any) -> None:
    """Put something odd in one place of a description, or leave that out, or call it by another name."""
    while True:
        name = choices.pick(list(values)) if isinstance(values, dict) else choices.number(len(values))
        inside = values[name]
        if not isinstance(inside, dict | list) or not inside or choices.chance(0.2):
            break
        values = inside
    if choices.chance(0.8) or not isinstance(values, dict):
        values[name] = json.loads(choices.pick(ODD))
    else:
        given = values.pop(name)
        values.update({choices.pick(["a\0b", "x" * 5000, ""]): given} if choices.chance(0.5) else {})
    if not values:
        values.update(a=1) if isinstance(values, dict) else values.append(1)


KINDS = [
    *(torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.int64, torch.bool, torch.uint8, torch.float8_e5m2)
]


def other_tensors(choices: Choices, content: bytes) -> bytes:
    """Weights with one tensor of another type, shape, name or size of numbers, or without it."""
    tensors = parse_tensors(content)
    if not tensors:
        return bytes(format_tensors({"more": torch.zeros(3)}))
    name = choices.pick(sorted(tensors))
    value = tensors.pop(name)
    number = choices.pick([float("nan"), float("inf"), 1e38, -1.0, 3e9, 0.0])
    changed: list[Callable[[], dict[str, torch.Tensor]]] = [
        lambda: {name: value.to(choices.pick(KINDS))},
        lambda: {name: value.flatten()[: choices.number(value.numel() + 1)]},
        lambda: {name: value[None]},
        lambda: {name: torch.full_like(value, number if value.is_floating_point() else 99)},
        lambda: {name: value, choices.pick(["a\0b", "x" * 5000, "more"]): value.clone()},
        dict,
    ]
    return bytes(format_tensors(tensors | choices.pick(changed)()))


def other_file(choices: Choices, path: Path) -> None:
    """Something else in place of a file: nothing, a pipe, a folder, a link to itself, an empty or a sparse file."""
    path.unlink()
    made = choices.pick(["none", "pipe", "folder", "link", "empty", "sparse"])
    if made == "pipe":
        os.mkfifo(path)
    elif made == "folder":
        path.mkdir()
    elif made == "link":
        path.symlink_to(path)
    elif made != "none":
        with path.open("wb") as stream:
            stream.truncate(10**11 if made == "sparse" else 0)
