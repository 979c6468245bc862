"""What a training leaves behind: settings, facts, curves, a picture, event files; and other precisions."""

import json

import pytest

import nsed
from nsed.config import from_mapping
from nsed.datasets.rule_language import transduction_pairs
from nsed.errors import ArgumentError, ModelFileError
from nsed.train import run_folder as loggers

PAIRS = transduction_pairs(200)


def fit(folder=None, **train):
    train = {"steps": 20, "batch_pairs": 32, "validate_every": 10, "warmup": 2, "device": "cpu", **train}
    encoder = {"kind": "cnn", "dim": 16, "layers": 1}
    config = from_mapping(nsed.TransducerConfig, {"encoder": encoder, "train": train})
    return nsed.Transducer.fit(PAIRS, config=config, folder=folder)


@pytest.mark.slow
def test_the_folder_says_all_about_the_training(tmp_path):
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
def test_bf16_learns_much_as_fp32_does():
    losses = [fit(precision=precision, steps=60).score(PAIRS).mean() for precision in ("fp32", "bf16")]
    assert losses[1] == pytest.approx(losses[0], rel=0.2)
