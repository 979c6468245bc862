"""Saved models come back; damaged ones say what is wrong."""

import errno
import json
import math
import os
import resource
import shutil
from dataclasses import replace

import pytest
import torch

import nsed
from golden.answers import FOLDERS
from nsed.errors import ModelFileError, NsedError
from nsed.text import Vocabulary
from nsed.train import saved_model
from nsed.train.saved_model import SavedModel, read_model, replace_file, write_model
from support.commands import run

MODEL = SavedModel("test", {"a": 1}, {"source": Vocabulary.of(["ä", "\ud800"])}, {"t": torch.arange(6.0)}, {"steps": 2})


@pytest.fixture
def folder(tmp_path):
    write_model(tmp_path / "deep" / "model", MODEL)
    return tmp_path / "deep" / "model"


def test_what_is_written_is_read(folder):
    read = read_model(folder)
    assert (read.kind, read.config, read.vocabularies, read.record) == (
        "test",
        {"a": 1},
        MODEL.vocabularies,
        {"steps": 2},
    )
    assert torch.equal(read.tensors["t"], MODEL.tensors["t"])


def test_writing_again_replaces_and_leaves_no_litter(folder):
    write_model(folder, SavedModel("test", {}, {}, {"t": torch.zeros(2)}))
    assert torch.equal(read_model(folder).tensors["t"], torch.zeros(2))
    assert len(list(folder.iterdir())) == 2


def test_files_of_others_are_left_alone(tmp_path):
    (tmp_path / "weights-base.safetensors").write_text("mine")
    write_model(tmp_path, MODEL)
    write_model(tmp_path, SavedModel("test", {}, {}, {"t": torch.zeros(2)}))
    assert (tmp_path / "weights-base.safetensors").read_text() == "mine"


def test_orphaned_weights_of_killed_saves_are_removed_by_the_next(folder):
    """Killed before the old weights were removed, or while the new ones were written; nothing refers to them."""
    for orphan in ("weights-0123456789ab.safetensors", "weights-ba9876543210.safetensors.part"):
        (folder / orphan).write_bytes(b"orphan")
    write_model(folder, SavedModel("test", {}, {}, {"t": torch.zeros(2)}))
    assert torch.equal(read_model(folder).tensors["t"], torch.zeros(2))
    assert len(list(folder.iterdir())) == 2


def test_a_kill_between_the_files_leaves_the_old_model(folder, monkeypatch):
    replace = os.replace

    def killed(self, target):
        if target.name == "model.json":
            raise KeyboardInterrupt
        return replace(self, target)

    monkeypatch.setattr("pathlib.Path.replace", killed)
    with pytest.raises(KeyboardInterrupt):
        write_model(folder, SavedModel("test", {}, {}, {"t": torch.zeros(2)}))
    assert torch.equal(read_model(folder).tensors["t"], MODEL.tensors["t"])


def weights(folder):
    return next(folder.glob("weights-*.safetensors"))


def edit(folder, **changes):
    path = folder / "model.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


DAMAGE = {
    "no folder": (lambda f: f.rename(f.with_name("away")), r"no saved model here: .*there is no such folder"),
    "no description": (lambda f: (f / "model.json").unlink(), r"no saved model here: model\.json cannot be read"),
    "truncated description": (
        lambda f: (f / "model.json").write_text((f / "model.json").read_text()[:40]),
        r"model\.json is truncated or not a model description",
    ),
    "not a description": (lambda f: (f / "model.json").write_text("[]"), r"model\.json is truncated or not a model"),
    "incomplete": (
        lambda f: (f / "model.json").write_text('{"format": 1}'),
        r"is incomplete or altered: kind, weights, ",
    ),
    "outside": (lambda f: edit(f, weights="../x"), r"model\.json is incomplete or altered: weights"),
    "wrong types": (lambda f: edit(f, weights=3, record=[]), r"model\.json is incomplete or altered: weights, record"),
    "format in words": (lambda f: edit(f, format="2"), r"model\.json is truncated or not a model description"),
    "no weights": (lambda f: weights(f).unlink(), r"weights-\w+\.safetensors cannot be read"),
    "truncated weights": (
        lambda f: weights(f).write_bytes(weights(f).read_bytes()[:-3]),
        r"weights-\w+\.safetensors is truncated or altered: its hash",
    ),
    "pipe for a description": (
        lambda f: (f / "model.json").unlink() or os.mkfifo(f / "model.json"),
        r"model\.json cannot be read: Not a regular file",
    ),
    "pipe for weights": (
        lambda f: os.mkfifo(f / "weights") or edit(f, weights="weights"),
        r"weights cannot be read: Not a regular file",
    ),
    "folder for a description": (
        lambda f: (f / "model.json").unlink() or (f / "model.json").mkdir(),
        r"model\.json cannot be read: Is a directory",
    ),
    "NUL in the name of the weights": (lambda f: edit(f, weights="a\0b"), "cannot be read: embedded null byte"),
    "weights with a name of 5,000 characters": (
        lambda f: edit(f, weights="x" * 5000),
        r"no saved model here: x* \.\.\. \(5,000 characters\) cannot be read: File name too long",
    ),
    "brackets without end": (
        lambda f: (f / "model.json").write_text('{"format": 1, "record": ' + "[" * 100_000),
        r"model\.json is truncated or not a model description",
    ),
    "a description without end": (
        lambda f: (f / "model.json").write_bytes(b" " * (2**25 + 1)),
        r"model\.json is too large: expected at most 33,554,432 bytes",
    ),
    "weights without end": (lambda f: os.truncate(weights(f), 10**11), "is truncated or altered: its hash"),
    "symbols of another type": (
        lambda f: edit(f, vocabularies={"source": ["a", {}]}),
        r"is incomplete or altered: vocabularies: 'source': expected a list of strings, each of them once",
    ),
    "a symbol twice": (
        lambda f: edit(f, vocabularies={"source": ["a", "a"]}),
        "expected a list of strings, each of them once",
    ),
    "newer": (lambda f: edit(f, format=99), "format 99 is newer than this nsed, which reads up to 1: upgrade it"),
    "unknown kind": (
        lambda f: None,
        "holds a model of kind 'test'; this version of nsed knows: cross-encoder, edit-distance",
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_named(folder, damage):
    do, message = DAMAGE[damage]
    do(folder)
    with pytest.raises(ModelFileError, match=message):
        nsed.load(folder)


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b"])
def test_a_folder_whose_name_no_folder_can_have_is_named(name):
    with pytest.raises(ModelFileError, match=r"no saved model here: .*there is no such folder") as raised:
        nsed.load(name)
    assert len(str(raised.value)) < 500


@pytest.fixture
def matcher(tmp_path):
    return shutil.copytree(FOLDERS / "matcher-rnn", tmp_path / "matcher")


def with_tensors(folder, change):
    saved = read_model(folder)
    write_model(folder, replace(saved, tensors=change(dict(saved.tensors))))


@pytest.mark.parametrize(
    ("encoder", "load"),
    [({"dim": 12_000}, nsed.load), ({"layers": 10**9}, nsed.load), ({"layers": 50, "dim": 8192}, nsed.Matcher.load)],
)
def test_settings_larger_than_the_tensors_are_refused_before_they_take_memory(matcher, encoder, load):
    load(matcher)  # what it imports is there
    config = json.loads((matcher / "model.json").read_text())["config"]
    edit(matcher, config=config | {"encoder": config["encoder"] | encoder})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ModelFileError, match=r"expected (those of the settings: '\S+' is|at least 1 and at most 256)"):
        load(matcher)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 1024  # kilobytes


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e300])
def test_weights_that_are_no_numbers_are_refused_and_named(matcher, value):
    name = "projection.linear.weight"
    with_tensors(matcher, lambda tensors: tensors | {name: torch.full_like(tensors[name], value, dtype=torch.float64)})
    with pytest.raises(ModelFileError, match=f"the tensor '{name}' has NaN or infinite values"):
        nsed.load(matcher)


@pytest.mark.parametrize("verb", ["score", "match"])
def test_a_probability_of_nan_is_an_error_and_not_zero(matcher, verb):
    with_tensors(matcher, lambda tensors: {name: torch.full_like(value, 3e38) for name, value in tensors.items()})
    with pytest.raises(NsedError, match=r"a score of the model is not a number \(NaN\): its weights are damaged"):
        run(verb, matcher, "--pair", "A", "a")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda tensors: tensors | {"x" * 5000: torch.zeros(1)},
            r"'x* \.\.\. \(5,002 characters\) belongs to no layer",
        ),
        (lambda tensors: dict(list(tensors.items())[1:]), r"'\S+' is missing"),
        (lambda tensors: {name: value.to(torch.int8) for name, value in tensors.items()}, r"torch\.int8 of shape"),
        (
            lambda tensors: {name: value[None] for name, value in tensors.items()},
            r"not a float of shape .* and \d+ more",
        ),
    ],
    ids=["more", "missing", "whole numbers", "shapes"],
)
def test_other_tensors_than_those_of_the_settings_are_named(matcher, change, message):
    with_tensors(matcher, change)
    with pytest.raises(ModelFileError, match=f"the parts of the model do not fit together: .*{message}"):
        nsed.load(matcher)


@pytest.mark.parametrize("number", [math.nan, "0.5", None, True, [1]])
def test_a_threshold_that_is_no_number_is_refused(matcher, number):
    record = json.loads((matcher / "model.json").read_text())["record"]
    edit(matcher, record=record | {"threshold": number})
    with pytest.raises(ModelFileError, match=r"threshold: got .*, expected a number"):
        nsed.load(matcher)


def test_a_table_of_half_precision_or_without_a_sum_of_one_is_refused(tmp_path):
    nsed.LearnableEditDistance.fit([("ab", "x")]).save(tmp_path)
    with_tensors(tmp_path, lambda tensors: tensors | {"end": tensors["end"] + 0.5})
    with pytest.raises(
        ModelFileError, match=r"table: got numbers from 0 on with a sum of 1\.5, expected probabilities"
    ):
        nsed.load(tmp_path)
    with_tensors(tmp_path, lambda tensors: {name: value.half() for name, value in tensors.items()})
    with pytest.raises(ModelFileError, match=r"delete: got torch\.float16, expected torch\.float64"):
        nsed.load(tmp_path)


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(NsedError, match=r"file/model: the model cannot be saved: Not a directory"):
        write_model(tmp_path / "file" / "model", MODEL)


@pytest.mark.parametrize(
    "change",
    [
        {"config": {"no such": 1}},
        {"config": {"smoothing": -1}},
        {"vocabularies": {"source": ["a"]}},
        {"vocabularies": {"source": ["a", "b", "c"], "target": ["x"]}},
    ],
)
def test_parts_that_do_not_fit_together_are_named(tmp_path, change):
    nsed.LearnableEditDistance.fit([("ab", "x")]).save(tmp_path)
    edit(tmp_path, **change)
    with pytest.raises(ModelFileError, match="the parts of the model do not fit together: "):
        nsed.load(tmp_path)


def test_what_cannot_be_written_leaves_the_file_as_it_was_and_nothing_beside_it(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "file").write_bytes(b"before")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        replace_file(tmp_path / "file", b"after")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("file", b"before")]


def test_weights_larger_than_the_addresses_that_there_are_are_damaged_and_no_lack_of_memory(matcher, monkeypatch):
    def no_room(*_):
        raise MemoryError

    monkeypatch.setattr(saved_model, "safe_open", no_room)
    with pytest.raises(ModelFileError, match="is truncated or altered: its hash"):
        nsed.load(matcher)


def test_a_model_saved_over_another_does_not_keep_the_records_of_its_training(tmp_path):
    settings = {"encoder__dim": 4, "train__steps": 2}
    trained = nsed.Transducer.fit([("ab", "AB"), ("ba", "BA")] * 4, folder=tmp_path, **settings)
    assert {"settings.yaml", "run.json", "curves.csv"} <= {path.name for path in tmp_path.iterdir()}
    trained.save(tmp_path, half=True)  # the same model: its records stay
    assert (tmp_path / "run.json").exists()
    described = json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))
    del described["config"]["train"]["patience"]  # as a version that had no such setting wrote it
    (tmp_path / "model.json").write_text(json.dumps(described), encoding="utf-8")
    nsed.load(tmp_path).save(tmp_path)
    assert (tmp_path / "run.json").exists()
    nsed.LearnableEditDistance.fit([("ab", "AB")], iterations=1).save(tmp_path)
    kept = {path.name for path in tmp_path.iterdir() if not path.name.startswith("weights-")}
    assert kept == {"model.json"}


def test_another_threshold_is_no_other_training_whose_records_would_have_to_go(tmp_path):
    pairs = [("ab", "AB"), ("ba", "BA"), ("aa", "AA"), ("bb", "BB")] * 4
    labelled = [*pairs, *((source, target[0] * 3) for source, target in pairs)]
    trained = nsed.OddsMatcher.fit(labelled, [1] * 16 + [0] * 16, train__steps=2, folder=tmp_path)
    trained.criterion = trained.criterion._replace(threshold=trained.threshold + 1)
    trained.save(tmp_path)
    assert {"settings.yaml", "run.json", "curves.csv"} <= {path.name for path in tmp_path.iterdir()}
    assert nsed.load(tmp_path).threshold == trained.threshold
