"""What a training leaves behind: settings, facts, curves, a picture, event files; and other precisions."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

import nsed
from nsed.config import from_mapping
from nsed.datasets.rule_language import transduction_pairs
from nsed.errors import ArgumentError, ModelFileError
from nsed.progress import ignore
from nsed.train import run_folder as loggers

PAIRS = transduction_pairs(200)


def fit(folder=None, on_step=ignore, **train):
    train = {"steps": 20, "batch_pairs": 32, "validate_every": 10, "warmup": 2, "device": "cpu", **train}
    encoder = {"kind": "cnn", "dim": 16, "layers": 1}
    config = from_mapping(nsed.TransducerConfig, {"encoder": encoder, "train": train})
    return nsed.Transducer.fit(PAIRS, config=config, folder=folder, on_step=on_step)


@pytest.mark.slow
def test_the_folder_says_all_about_the_training(tmp_path, monkeypatch):
    monkeypatch.setattr(loggers, "draw_curves", loggers.draw_curves.__wrapped__)
    model = fit(tmp_path / "run", logger="tensorboard")
    header, *rows = (tmp_path / "run" / "curves.csv").read_text().splitlines()
    assert header == "step,loss,wer,cer"
    assert [row.split(",")[0] for row in rows] == ["10", "20"]
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    assert facts["pairs"] == {"training": 190, "validation": 10}
    assert facts["parameters"] == sum(part.numel() for part in model.network.parameters())
    assert {"seed", "sha256", "versions"} <= set(facts)
    assert {"nsed", "python", "torch", "numpy"} <= set(facts["versions"])
    assert "model: transducer" in (tmp_path / "run" / "settings.yaml").read_text()
    assert (tmp_path / "run" / "curves.svg").read_text().startswith("<?xml")
    assert list((tmp_path / "run" / "events").glob("events.out.tfevents.*"))
    assert not (tmp_path / "run" / "checkpoint").exists()


def test_a_folder_that_cannot_be_one_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelFileError, match="file: cannot be the folder of a training: File exists"):
        fit(tmp_path / "file")


def test_missing_loggers_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(loggers, "find_spec", lambda name: None)
    with pytest.raises(ArgumentError, match=r"train.logger: got wandb, expected none, or the package wandb installed"):
        fit(tmp_path, logger="wandb")


@pytest.mark.slow
def test_two_trainings_into_one_folder_are_refused_with_who_has_it(tmp_path):
    """Another process trains there: it is named; when it is gone, however it went, the folder is free."""
    code = "from nsed.train.run_folder import RunFolder as R; from pathlib import Path; import time\n"
    code += f"with R(Path({str(tmp_path)!r})).lock(): print('held', flush=True); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "held\n"
        message = rf"another training is going on here, process {other.pid} on .* since 20.*: wait for it, end it, or"
        with pytest.raises(ModelFileError, match=message):
            fit(tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == ["training.lock"]
        other.kill()
    fit(tmp_path, steps=2)
    assert not (tmp_path / "training.lock").exists()


@pytest.mark.slow
def test_a_training_killed_before_its_first_checkpoint_is_not_resumed_with_other_pairs(tmp_path):
    """It was: the other pairs were learned without a word, and took the place of the training."""

    class KilledError(BaseException):
        """As if the process ended."""

    def kill(_):
        raise KilledError

    pairs = transduction_pairs(40, seed=1)
    settings = {"encoder__dim": 8, "train__steps": 4, "train__batch_pairs": 8}
    with pytest.raises(KilledError):
        nsed.Transducer.fit(pairs, folder=tmp_path, on_step=kill, **settings)
    assert (tmp_path / "run.json").exists()
    assert not list((tmp_path / "checkpoint").iterdir())
    with pytest.raises(ModelFileError, match="was begun with other pairs: name those, or --overwrite it"):
        nsed.Transducer.fit(transduction_pairs(40, seed=2), folder=tmp_path, **settings)
    nsed.Transducer.fit(pairs, folder=tmp_path, **settings)


def test_two_threads_cannot_train_into_one_folder(tmp_path):
    run = loggers.RunFolder(tmp_path)
    with run.lock(), run.lock(), ThreadPoolExecutor(1) as pool:  # who has it may take it again
        other = pool.submit(fit, tmp_path)
        with pytest.raises(ModelFileError, match="another training is going on here"):
            other.result()


@pytest.mark.slow
def test_a_training_goes_on_with_the_threads_that_it_began_with(tmp_path):
    def threads(step):
        used.append(torch.get_num_threads())
        if step == 15 and len(used) == 15:
            raise KeyboardInterrupt

    used = []
    torch.set_num_threads(3)
    try:
        with pytest.raises(KeyboardInterrupt):
            fit(tmp_path, on_step=threads)
        assert json.loads((tmp_path / "run.json").read_text())["threads"] == 3
    finally:
        torch.set_num_threads(1)
    fit(tmp_path, on_step=threads)
    assert used == [3] * 25
    assert torch.get_num_threads() == 1


@pytest.mark.slow
def test_bf16_learns_much_as_fp32_does():
    losses = [fit(precision=precision, steps=60).score(PAIRS).mean() for precision in ("fp32", "bf16")]
    assert losses[1] == pytest.approx(losses[0], rel=0.2)
