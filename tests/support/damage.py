"""Random damage to Parquet, Arrow and model files, and what nsed makes of them: an answer or an `NsedError`.

    python tests/support/damage.py tables 1000
    python tests/support/damage.py models 1000

Each case has its number as seed. Whatever else happens, more than a gigabyte or twenty seconds included, ends it with
the number of the case, status 1 and a traceback; a crash ends it anyway. With one more number only that case is tried.
"""

import io
import json
import os
import random
import re
import shutil
import signal
import sys
import warnings
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import torch
from safetensors.torch import load as parse_tensors
from safetensors.torch import save as format_tensors

import nsed
from nsed.capabilities import Capability, can

SECONDS, BYTES = 20, 10**9
GOLDEN = Path(__file__).parent.parent / "golden" / "models"


def damaged(rng, content):
    """Bytes with some of them changed, left out or repeated."""
    found = bytearray(content)
    if rng.random() < 0.1:
        return content[: rng.randrange(len(content) + 1)]
    for _ in range(rng.choice([1, 1, 2, 4, 16])):
        place, size = rng.randrange(len(found) + 1), rng.choice([1, 1, 2, 4, 8])
        few = rng.choice([b"\xff", b"\0", b"\x7f", rng.randbytes(1)]) * size
        kept = rng.choice([size, size, size, 0, 4 * size])  # in place of as many, inserted, or of more
        found[place : place + kept] = few
    return bytes(found)


def tables():
    """Small files of all kinds, by name: codecs and versions, types of strings, dictionaries, labels, batches."""
    rows = 40
    words = pa.array([f"wörd{row % 7}, written out at some length" for row in range(rows)])
    kinds = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string()), pa.binary()]
    labels = [[row % 2 for row in range(rows)], [row % 2 == 0 for row in range(rows)], ["yes", "no"] * (rows // 2)]
    labels += [pa.nulls(rows), pa.array([1.0] * rows, pa.float16()), pa.array([20] * rows, pa.date32())]
    for number in range(30):
        source = words.dictionary_encode() if number % 5 == 3 else words.cast(kinds[number % 5])
        table = pa.table({"source": source, "target": words, "label": labels[number % 6], "n": [[1]] * rows})
        codec = ["uncompressed", "lz4", "zstd"][number % 3]
        pa.feather.write_feather(table, stream := io.BytesIO(), compression=codec, chunksize=16)
        yield f"{number}.arrow", stream.getvalue()
        if not pa.types.is_string_view(source.type):
            version = ["1.0", "2.0"][number % 2]
            pa.parquet.write_table(
                table,
                stream := io.BytesIO(),
                compression={"uncompressed": "none"}.get(codec, codec),
                data_page_version=version,
                row_group_size=16,
            )
            yield f"{number}.parquet", stream.getvalue()


def read_damaged_tables(folder):
    """What reads one damaged file."""
    files = sorted(tables())

    def read(rng):
        name, content = rng.choice(files)
        path = folder / f"damaged{Path(name).suffix}"
        path.write_bytes(damaged(rng, content))
        list(nsed.read_pairs(path))

    return read


ODD = [
    None,
    True,
    -1,
    0,
    12_000,
    10**9,
    10**30,
    0.5,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "a\0b",
    "x" * 5000,
    "../up",
    [],
    {},
]
ODD += [[[]], {"a": 1}, ["a", "a"], [1, None], "2001-13-45", json.loads("[" * 500 + "]" * 500)]


def set_something(rng, values):
    """Description with something odd in one place, or without it, or with it under another name."""
    while True:
        name = rng.choice(list(values)) if isinstance(values, dict) else rng.randrange(len(values))
        inside = values[name]
        if not isinstance(inside, dict | list) or not inside or rng.random() < 0.2:
            break
        values = inside
    if rng.random() < 0.8 or not isinstance(values, dict):
        values[name] = rng.choice(ODD)
    else:
        given = values.pop(name)
        values.update({rng.choice(["a\0b", "x" * 5000, ""]): given} if rng.random() < 0.5 else {})


def other_tensors(rng, content):
    """Weights with one tensor of another type, shape, name or size of numbers, or without it."""
    tensors = parse_tensors(content)
    if not tensors:
        return format_tensors({"more": torch.zeros(3)})
    name = rng.choice(sorted(tensors))
    value = tensors.pop(name)
    kinds = [
        torch.float16,
        torch.bfloat16,
        torch.float64,
        torch.int8,
        torch.int64,
        torch.bool,
        torch.uint8,
        torch.float8_e5m2,
    ]
    number = rng.choice([float("nan"), float("inf"), 1e38, -1.0, 3e9, 0.0])
    changed = [
        lambda: {name: value.to(rng.choice(kinds))},
        lambda: {name: value.flatten()[: rng.randrange(value.numel() + 1)]},
        lambda: {name: value[None]},
        lambda: {name: torch.full_like(value, number) if value.is_floating_point() else torch.full_like(value, 99)},
        lambda: {name: value, rng.choice(["a\0b", "x" * 5000, "more"]): value.clone()},
        dict,
    ]
    return format_tensors(tensors | rng.choice(changed)())


def other_file(rng, path):
    """Something else in place of a file: nothing, a pipe, a folder, a link to itself, an empty or a sparse file."""
    path.unlink()
    made = rng.choice([None, os.mkfifo, os.mkdir, lambda place: os.symlink(place, place), Path.touch, "sparse"])
    if made == "sparse":
        with path.open("wb") as stream:
            stream.truncate(10**11)
    elif made:
        made(path)


def damage_model(rng, folder):
    """Damage one file of a model; the hash of its weights may or may not be that of the damaged ones."""
    description, weights = folder / "model.json", next(folder.glob("*.safetensors"))
    way, content = rng.randrange(10), weights.read_bytes()
    if way == 0:
        return other_file(rng, rng.choice([description, weights]))
    if way == 1:
        return description.write_bytes(damaged(rng, description.read_bytes()))
    values = json.loads(description.read_text())
    if way < 6:
        set_something(rng, values)
    else:
        weights.write_bytes(other_tensors(rng, content) if way < 9 else damaged(rng, content))
        values["sha256"] = sha256(weights.read_bytes()).hexdigest() if rng.random() < 0.9 else values["sha256"]
    description.write_text(json.dumps(values))


PAIRS = [("ABCA", "abca"), ("", "b"), ("C", "")]


def use(model):
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


def use_damaged_models(folder):
    """What loads one damaged model, and uses it."""
    names = sorted(path.name for path in GOLDEN.iterdir())

    def load(rng):
        copied = folder / "model"
        shutil.rmtree(copied, ignore_errors=True)
        shutil.copytree(GOLDEN / rng.choice(names), copied)
        damage_model(rng, copied)
        use(nsed.load(copied))

    return load


def complaint(attempt, rng):
    """What nsed complains about; nothing where it does not. Other exceptions are faults."""
    try:
        attempt(rng)
    except nsed.NsedError as error:
        return str(error)
    return ""


def too_slow(*_):
    raise TimeoutError(f"more than {SECONDS} seconds")


def peak_memory():
    """Peak resident bytes of this process; `ru_maxrss` would have those of the process that started it."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])


def main(what, count, only=None):
    """Try all cases; their number, and that of errors that say what is wrong."""
    warnings.simplefilter("ignore")  # what damaged files make models warn of is not asked here
    signal.signal(signal.SIGALRM, too_slow)
    refused = 0
    with TemporaryDirectory() as name:
        attempt = {"tables": read_damaged_tables, "models": use_damaged_models}[what](Path(name))
        for seed in range(int(count)) if only is None else [int(only)]:
            sys.stderr.write(f"\rcase {seed}")
            signal.alarm(SECONDS)
            error = complaint(attempt, random.Random(seed))
            signal.alarm(0)
            refused += bool(error)
            assert len(error) < 2000, f"an error of {len(error)} characters: {error[:1000]}"
            if only is not None:
                print(error)  # noqa: T201
            peak = peak_memory()
            assert peak < BYTES, f"a peak of {peak:,} bytes"
    print(f"{count} damaged {what}: {refused} errors, peak {peak // 2**20} MB")  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
