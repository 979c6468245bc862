"""Trainings that are killed, interrupted or without space go on to what an uninterrupted one gives."""

import os
import random
import re
import resource
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

import nsed
from nsed.__main__ import app
from nsed.errors import ArgumentError, ModelFileError, NsedError
from nsed.train import run_folder
from support.commands import nsed_process, run, with_settings

pytestmark = pytest.mark.slow
SMALL_NETWORK = """
model: transducer
feature_dropout: 0.1
encoder: {kind: cnn, dim: 16, layers: 1, dropout: 0.1}
train: {steps: 150, batch_pairs: 32, validate_every: 25, warmup: 10, average: 0.99, device: cpu}
"""


@pytest.fixture
def unfinished(tmp_path, pairs):
    """A folder with the training of a small network, killed (-9) at a random moment after its first checkpoint."""
    (tmp_path / "small.yaml").write_text(SMALL_NETWORK)
    process = nsed_process("train", pairs, tmp_path / "killed", "--config", tmp_path / "small.yaml")
    while not (tmp_path / "killed" / "checkpoint" / "model.json").exists():
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(random.random() / 2)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    return tmp_path / "killed"


def weights(folder):
    return {name: value.numpy().tobytes() for name, value in nsed.load(folder).network.state_dict().items()}


def test_killed_network_resumes_to_the_same_weights_with_other_threads_too(unfinished, pairs, tmp_path):
    said = CliRunner().invoke(app, ["transduce", str(unfinished), "--text", "A"]).stderr
    assert "the training here is not finished: go on with nsed train --resume" in " ".join(said.split())
    with pytest.raises(ModelFileError, match=r"of another training: encoder.dim: was 16, is 24"):
        run("train", pairs, unfinished, "--resume", "--set", "encoder.dim=24")
    torch.set_num_threads(3)
    try:
        said = CliRunner().invoke(app, ["train", str(pairs), str(unfinished), "--resume"]).stderr
    finally:
        torch.set_num_threads(1)
    assert "going on with 1 thread as it began, not with 3: their number changes the last bits of the weights" in said
    run("train", pairs, tmp_path / "whole", "--config", tmp_path / "small.yaml")
    assert weights(unfinished) == weights(tmp_path / "whole")
    assert (unfinished / "curves.csv").read_text() == (tmp_path / "whole" / "curves.csv").read_text()


def test_a_mixture_killed_in_its_second_member_goes_on_there_to_the_same_weights(tmp_path, pairs):
    (tmp_path / "small.yaml").write_text(SMALL_NETWORK)
    begin = ["--config", tmp_path / "small.yaml", "--set", "train.steps=50", "--models", 2]
    process = nsed_process("train", pairs, tmp_path / "killed", *begin)
    first, second = (tmp_path / "killed" / "members" / number for number in "01")
    while not (second / "checkpoint" / "model.json").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    before = (first / "model.json").stat().st_mtime_ns
    with pytest.raises(ArgumentError, match="--models: got 5, expected 2, as many as this training has"):
        run("train", pairs, tmp_path / "killed", "--resume", "--models", 5)
    run("train", pairs, tmp_path / "killed", "--resume")
    assert (first / "model.json").stat().st_mtime_ns == before
    run("train", pairs, tmp_path / "whole", *begin)
    scores = [nsed.load(tmp_path / name).score([("CAB", "cab"), ("BAA", "a")]).tolist() for name in ("killed", "whole")]
    assert scores[0] == scores[1]


def test_full_disk_leaves_the_last_checkpoint_intact(unfinished, pairs, tmp_path):
    checkpoint = unfinished / "checkpoint"
    before = {path.name: path.read_bytes() for path in checkpoint.iterdir()}
    process = nsed_process(
        "train",
        pairs,
        unfinished,
        "--resume",
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8000, 8000)),
    )
    _, err = process.communicate(timeout=300)
    assert process.returncode == 2
    assert "checkpoint: the model cannot be saved: File too large" in err
    assert {path.name: path.read_bytes() for path in checkpoint.iterdir()} == before
    run("train", pairs, unfinished, "--resume")
    assert nsed.load(unfinished).record["steps"] == 150


def test_the_documented_journey_of_resuming_after_a_kill(tmp_path, monkeypatch):
    """The very commands of the page, killed (-9) at the very beginning, and once more after the first checkpoint."""
    page = (Path(__file__).parents[2] / "docs" / "train.md").read_text(encoding="utf-8").replace("\\\n", "")
    begin, resume = (shlex.split(line)[1:] for line in re.findall(r"^nsed train rules\.tsv runs/long .*$", page, re.M))
    monkeypatch.chdir(tmp_path)
    run("data", "rules", "--count", 2000, "-o", "rules.tsv")
    for command, sign in ((begin, "settings.yaml"), (resume, "checkpoint/model.json")):
        process = nsed_process(*command)
        while not Path("runs/long", sign).exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
        assert process.wait() == -signal.SIGKILL
    run(*resume)
    run(*("runs/whole" if word == "runs/long" else word for word in begin))
    assert weights("runs/long") == weights("runs/whole")
    assert names(Path("runs/long")) == names(Path("runs/whole"))
    with pytest.raises(ModelFileError, match="the model here is finished; with --overwrite instead of --resume"):
        run(*resume)


def test_an_interrupted_training_says_how_to_go_on(tmp_path, pairs):
    (tmp_path / "small.yaml").write_text(SMALL_NETWORK)
    arguments = ["train", pairs, tmp_path / "model", "--config", tmp_path / "small.yaml", "--set", "train.steps=4000"]
    # who runs the tests in the background has Ctrl-C ignored, and what they start inherits that
    heard = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    process = nsed_process(*arguments, stderr=subprocess.PIPE, text=True, **heard)
    while not (tmp_path / "model" / "checkpoint" / "model.json").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"interrupted; go on with: nsed train {pairs} {tmp_path / 'model'} --resume" in err


def test_killed_training_resumes_to_the_same_model(tmp_path):
    """kill -9 after the first iteration, then --resume: bit for bit what an uninterrupted training gives."""
    data = tmp_path / "rules.tsv"
    run("data", "rules", "--count", 8_000, "--longest", 12, "-o", data)
    settings = ["--set", "iterations=25", "--set", "tolerance=0"]
    process = nsed_process("train", data, tmp_path / "killed", *settings, stderr=subprocess.DEVNULL)
    while not (tmp_path / "killed" / "model.json").exists():
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert 0 < len(nsed.load(tmp_path / "killed").history) < 25
    run("train", data, tmp_path / "killed", "--resume", *settings)
    run("train", data, tmp_path / "whole", *settings)
    killed, whole = nsed.load(tmp_path / "killed"), nsed.load(tmp_path / "whole")
    assert killed.history == whole.history
    assert killed.operations() == whole.operations()


class Killed(BaseException):
    """The process is no more."""


class Kill:
    """An audit hook that ends a process at its n-th operation on files of a folder; whatever it tries then fails too.

    A file that is opened to be written is there, and empty, when the process ends.
    """

    CHANGES = frozenset({"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate", "fsync"})

    def __init__(self):
        self.folder, self.at, self.count = "", 0, 0

    def __call__(self, event, arguments):
        if not self.folder or event not in self.CHANGES or not self.is_meant(event, *arguments):
            return
        self.count += 1
        if self.count == self.at and event == "open":
            self.folder, folder = "", self.folder
            Path(arguments[0]).write_bytes(b"")
            self.folder = folder
        if self.count >= self.at:
            raise Killed

    def is_meant(self, event, path, *others):
        writes = event != "open" or (isinstance(others[0], str) and set(others[0]) & set("wax+"))
        inside = str(path).startswith(self.folder) or (event in ("os.remove", "os.rmdir") and others[-1] != -1)
        return bool(writes and inside)

    def during(self, folder, at, *command):
        """Whether the command was killed at its operation of that number, or came to its end before."""
        self.folder, self.at, self.count = str(folder), at, 0
        try:
            run(*command)
        except Killed:
            return True
        finally:
            self.folder = ""
        return False


@pytest.fixture(scope="session")
def kill():
    hook = Kill()
    sys.addaudithook(hook)
    yield hook
    hook.folder = ""


def go_on(command, expected):
    """Do what a user would: `--resume`, or what its message says."""
    try:
        run(*command, "--resume")
        return
    except NsedError as error:
        said = str(error).lower()
    if "the same command without --resume begins one" in said:
        run(*command)
        return
    assert "with --overwrite instead of --resume" in said
    if saved(command[2]) != expected:
        run(*command, "--overwrite")


def saved(folder):
    """All that was learned."""
    return {name: tensor.numpy().tobytes() for name, tensor in nsed.load(folder).contents().tensors.items()}


def names(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


KINDS = {
    "transducer": [
        *("encoder.kind=unigram", "encoder.dim=8", "feature_dropout=0.1", "train.steps=2", "train.validate_every=2"),
        *("train.save_seconds=1e-9", "train.batch_pairs=4", "train.device=cpu", "longest_output=2"),
    ],
    "edit-distance": ["iterations=2", "tolerance=0"],
    "lookup": [],
}
KINDS["mixture"] = KINDS["transducer"]
MIXTURE = ["--model", "transducer", "--models", 2]
NEW, OVER, UNFINISHED = "in a new folder", "over another model", "over an unfinished training"


@pytest.fixture
def operations(monkeypatch, kill):
    """Operations without an audit event count too; for speed, curves are not drawn and the disk is not waited for."""
    monkeypatch.setattr(run_folder, "can_draw", lambda: False)
    monkeypatch.setattr(os, "fsync", lambda descriptor: kill("fsync", [kill.folder]))


@pytest.mark.usefixtures("operations")
@pytest.mark.parametrize(
    ("kind", "place"),
    [
        *(("transducer", NEW), ("transducer", OVER), ("edit-distance", NEW), ("edit-distance", UNFINISHED)),
        *(("lookup", OVER), ("lookup", UNFINISHED)),
        pytest.param("mixture", NEW, marks=pytest.mark.slow),
    ],
)
def test_a_kill_at_any_file_operation_leaves_a_folder_that_can_be_continued(kind, place, kill, tmp_path):
    (tmp_path / "pairs.tsv").write_text("AB\tab\nBA\tba\nCAB\tcab\nAC\tac\nCC\tcc\n")
    (tmp_path / "others.tsv").write_text("X\ty\nXX\tyy\n")
    options, at, killed = MIXTURE if kind == "mixture" else ["--model", kind], 0, True
    train = [*options, *with_settings(*KINDS[kind])]
    run("train", tmp_path / "pairs.tsv", tmp_path / "whole", *train)
    expected = saved(tmp_path / "whole")
    while killed and (place == NEW or at < 12):  # what comes then is the same as in a new folder
        at, folder = at + (5 if kind == "mixture" else 1), tmp_path / f"killed-{at}"  # its members do the same twice
        if place == OVER:
            run("train", tmp_path / "others.tsv", folder)
        elif place == UNFINISHED:
            assert kill.during(folder, 9, "train", tmp_path / "others.tsv", folder, *train)
        command = ["train", tmp_path / "pairs.tsv", folder, *train]
        killed = kill.during(folder, at, *command, *([] if place == NEW else ["--overwrite"]))
        if killed:
            go_on(command, expected)
        assert saved(folder) == expected, f"killed at operation {at}"
        assert set(names(folder)) == set(names(tmp_path / "whole")), f"killed at operation {at}"
    assert at > 10
