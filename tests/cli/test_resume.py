"""Trainings that are killed, interrupted or without space go on to what an uninterrupted one gives."""

import os
import random
import resource
import signal
import subprocess
import time

import pytest

import nsed
from nsed.errors import ModelFileError
from support.commands import nsed_process, run

pytestmark = pytest.mark.slow
SMALL_NETWORK = """
model: transducer
feature_dropout: 0.1
encoder: {kind: cnn, dim: 16, layers: 1, dropout: 0.1}
train: {steps: 400, batch_pairs: 32, validate_every: 25, warmup: 10, average: 0.99, device: cpu}
"""


@pytest.fixture
def unfinished(tmp_path, pairs):
    """A folder with the training of a small network, killed (-9) at a random moment after its first checkpoint."""
    (tmp_path / "small.yaml").write_text(SMALL_NETWORK)
    process = nsed_process("train", pairs, tmp_path / "killed", "--config", tmp_path / "small.yaml")
    while not (tmp_path / "killed" / "checkpoint" / "model.json").exists():
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(random.random())
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    return tmp_path / "killed"


def weights(folder):
    return {name: value.numpy().tobytes() for name, value in nsed.load(folder).network.state_dict().items()}


def test_killed_network_resumes_to_the_same_weights(unfinished, pairs, tmp_path):
    with pytest.raises(ModelFileError, match="the training here is not finished: go on with nsed train --resume"):
        run("transduce", unfinished, "--text", "A")
    with pytest.raises(ModelFileError, match=r"of another training: encoder.dim: was 16, is 24"):
        run("train", pairs, unfinished, "--resume", "--set", "encoder.dim=24")
    run("train", pairs, unfinished, "--resume")
    run("train", pairs, tmp_path / "whole", "--config", tmp_path / "small.yaml")
    assert weights(unfinished) == weights(tmp_path / "whole")
    assert (unfinished / "curves.csv").read_text() == (tmp_path / "whole" / "curves.csv").read_text()


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
    assert nsed.load(unfinished).record["steps"] == 400


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
    run("data", "rules", "--count", 20_000, "--longest", 12, "-o", data)
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
