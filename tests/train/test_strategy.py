"""Several processes that train together learn what one learns alone."""

import os
import subprocess
import sys

import numpy as np
import pytest

import nsed
from nsed.datasets.rule_language import transduction_pairs
from nsed.errors import ArgumentError
from nsed.train import strategy
from nsed.train.config import TrainConfig

SETTINGS = """
model: transducer
feature_dropout: 0.0
encoder: {kind: cnn, dim: 16, layers: 1, dropout: 0.0}
train: {steps: 30, batch_pairs: 33, validate_every: 15, warmup: 5, device: cpu}
"""


@pytest.fixture
def files(tmp_path):
    pairs = transduction_pairs(300, seed=3)
    (tmp_path / "pairs.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    (tmp_path / "settings.yaml").write_text(SETTINGS)
    return tmp_path


def train(files, name, launcher, *settings):
    options = [part for setting in settings for part in ("--set", setting)]
    command = [*launcher, "train", files / "pairs.tsv", files / name, "--config", files / "settings.yaml", *options]
    alone = {key: value for key, value in os.environ.items() if key not in ("RANK", "WORLD_SIZE", "LOCAL_RANK")}
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, env={**alone, "OMP_NUM_THREADS": "1"}, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return nsed.load(files / name)


NSED = [sys.executable, "-m", "nsed"]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "-m", "nsed"]


@pytest.mark.slow
def test_two_processes_learn_what_one_learns(files):
    one = nsed.Transducer.fit(nsed.read_pairs(files / "pairs.tsv"), config=files / "settings.yaml")
    for name, launcher in (("launched", NSED), ("torchrun", TORCHRUN)):
        two = train(files, name, launcher, "train.devices=2")
        for key, value in one.network.state_dict().items():
            assert np.allclose(value, two.network.state_dict()[key], atol=2e-4), (name, key)
        assert len((files / name / "curves.csv").read_text().splitlines()) == 3


def test_every_row_belongs_to_one_process_with_its_weight():
    class Fake(strategy.SingleDevice):
        def __init__(self, rank, count):
            self.rank, self.count = rank, count

    rows = np.arange(7)
    parts = [Fake(rank, 3).own(rows) for rank in range(3)]
    assert sorted(np.concatenate([part for part, _ in parts]).tolist()) == list(range(7))
    assert sum(part.mean() * weight for part, weight in parts) / 3 == pytest.approx(rows.mean())
    assert Fake(2, 3).own(rows[:2])[1] == 0.0


def test_several_devices_need_fabric(monkeypatch):
    monkeypatch.setattr(strategy, "find_spec", lambda name: None)
    with pytest.raises(ArgumentError, match=r"train.devices: got 2, expected 1; more need Lightning Fabric"):
        strategy.strategy_for(TrainConfig(devices=2, device="cpu"))
