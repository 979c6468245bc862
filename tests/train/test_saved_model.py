"""Saved models come back; damaged ones say what is wrong."""

import errno
import json
import os

import pytest
import torch

import nsed
from nsed.errors import ModelFileError, NsedError
from nsed.text import Vocabulary
from nsed.train.saved_model import SavedModel, read_model, replace_file, write_model

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
