"""`nsed bench` runs, saves and explains itself; how fast anything is, no test says."""

import json
import math
from itertools import count

import numpy as np
import pytest
import torch
from benchmarks import memory, memory_probe, table_job
from benchmarks.twin import TwinNetwork, TwinTask, twin_loss
from typer.testing import CliRunner

from nsed.__main__ import app
from nsed.cli import bench
from nsed.datasets.rule_language import transduction_pairs
from nsed.encoders import EncoderConfig
from nsed.errors import NsedError, UnknownNameError
from nsed.models.transducer import TransducerConfig
from nsed.text import EncodedPairs, PairBatch, Tokenizers
from nsed.train.config import TrainConfig
from nsed.train.trainer import Trainer


def run(*arguments):
    result = CliRunner().invoke(app, ["bench", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def one_probe_alone(monkeypatch):
    """Only the first update, and the first job, is measured in a process of its own, as outside of tests all are."""
    alone, asked = memory._peak, count()
    job_alone, jobs = table_job._in_a_process, count()

    def peak(setting, model, way, kind, **sizes):
        if not next(asked):
            return alone(setting, model, way, kind, **sizes)
        given = {"model": model, "way": way, "kind": kind, "device": "cpu", "quick": True, **sizes}
        return max(memory_probe.probe(**given), memory.PAGE) / 2**20

    def job(folder, model, quick):
        return table_job._run(folder, model, quick=quick) if next(jobs) else job_alone(folder, model, quick=quick)

    monkeypatch.setattr(memory, "_peak", peak)
    monkeypatch.setattr(table_job, "_in_a_process", job)
    monkeypatch.setattr(table_job, "NAMES", dict.fromkeys(table_job.NAMES, 400))


@pytest.mark.usefixtures("one_probe_alone")
@pytest.mark.parametrize(
    "name",
    [
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("transducer-update", "matcher-update", "pair-features", "memory", "table-job")
        ),
        "lattice",
    ],
)
def test_a_quick_run_saves_figures_and_a_picture(name, tmp_path):
    shown = run(name, "--quick", "--device", "cpu", "--out", tmp_path)
    assert name in shown
    report = json.loads((tmp_path / f"{name}.json").read_text())
    assert report["quick"] is True
    assert report["machine"]["torch"] == torch.__version__
    numbers = [one[share] for one in report["figures"].values() for share in ("p20", "p50", "p80")]
    assert numbers
    assert all(math.isfinite(number) and number > 0 for number in numbers)
    assert not any("bar" in one for one in report["figures"].values())
    assert "<svg" in (tmp_path / "figures.svg").read_text()


@pytest.mark.slow
def test_quick_results_stay_out_of_the_repository(tmp_path, monkeypatch):
    monkeypatch.setattr(bench.tempfile, "mkdtemp", lambda prefix: str(tmp_path))
    run("matcher-update", "--quick", "--device", "cpu")
    assert (tmp_path / "matcher-update.json").exists()


def test_list_says_what_there_is():
    shown = run("--list")
    assert "transducer-update" in shown
    assert "Peak memory of whole updates" in shown


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(UnknownNameError, match=r"benchmark: got 'latice', expected one of: .*Did you mean 'lattice'"):
        run("latice", "--quick")


def test_outside_a_checkout_it_says_where_to_go(tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "SOURCE", tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NsedError, match="they are not in the package, run `nsed bench` in a checkout"):
        run("lattice")


def test_a_benchmark_that_fails_leaves_the_others_their_figures(tmp_path, monkeypatch):
    broken = bench._package("registry").Benchmark("breaks", lambda setting: 1 / 0)
    monkeypatch.setitem(bench._package("registry").BENCHMARKS._entries, "broken", broken)
    result = CliRunner().invoke(app, ["bench", "broken", "matcher-update", "--quick", "--out", str(tmp_path)])
    assert result.exit_code == 1
    assert "broken: ZeroDivisionError" in result.stderr
    assert (tmp_path / "matcher-update.json").exists()


@pytest.fixture
def twin():
    pairs, config = transduction_pairs(400, seed=1), TransducerConfig()
    tokenizers = Tokenizers.learned(config, pairs)
    known, cpu = EncodedPairs(*tokenizers.encode(pairs)), torch.device("cpu")
    torch.manual_seed(0)
    encoder = EncoderConfig(kind="rnn", dim=32, layers=1, dropout=0.0)
    sizes = {"source_symbols": len(tokenizers.source.vocabulary), "target_symbols": len(tokenizers.target.vocabulary)}
    return TwinTask(TwinNetwork(encoder, **sizes), known, known, cpu)


@pytest.mark.slow
def test_the_twin_learns_the_rule_language(twin):
    before = twin.validate()["loss"]
    Trainer(twin, TrainConfig(steps=100, batch_pairs=64, warmup=10, learning_rate=0.01, device="cpu")).run()
    assert twin.validate()["loss"] < before / 4


def test_padding_does_not_change_the_twin(twin):
    rows = np.arange(8)
    wide, narrow = (
        PairBatch(*twin.batch(torch.from_numpy(rows), twin.widths(rows, multiple=size))) for size in (32, 1)
    )
    assert wide.target.shape[1] > narrow.target.shape[1]
    alone = [twin_loss(twin.network, twin.training.batch(rows[row : row + 1])) for row in rows]
    assert twin_loss(twin.network, wide).item() == pytest.approx(torch.stack(alone).mean().item(), rel=1e-4)
