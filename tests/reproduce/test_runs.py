"""Runs from data to record to table, with toy pairs and tiny models."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nsed.__main__ import app
from nsed.errors import DataError, NsedError
from nsed.reproduce.grid import CONFIGS, Run, chosen_cells, grid
from nsed.reproduce.measure import alignment_figures, keep_links, score_links
from nsed.reproduce.records import read_record, read_records, write_record
from nsed.reproduce.render import render_tables
from nsed.reproduce.runner import Options, SeededRun, cost, jobs_of, run_job, run_jobs

ROOT = Path(__file__).parents[2]
KINDS = ["cognates-ie/edit-distance", "cognates-aa/matcher-cnn+interpretable", "cognates-ie/cross-encoder"]


@pytest.fixture
def options(tmp_path):
    return Options(str(tmp_path / "records"), str(ROOT / CONFIGS), quick=True)


@pytest.mark.filterwarnings("ignore::nsed.errors.CutOutputWarning")
@pytest.mark.parametrize("name", [*KINDS, "translit-ar2en/transducer-cnn+interpretable"])
def test_a_run_leaves_a_record(name, options):
    record = run_job(SeededRun(Run.named(name), 1), options)
    (path,) = Path(options.output).iterdir()
    assert read_record(path).test == record.test
    assert record.parameters > 0
    assert record.data["training"]["pairs"] > 100
    assert set(record.test) >= ({"cer", "wer"} if "transducer" in name else {"f1"})
    assert record.settings.get("train", {"seed": 1})["seed"] == 1
    assert record.training["ended"] == "schedule"


def test_what_has_a_record_is_not_run_again(options):
    runs = [Run.named(name) for name in KINDS]
    record = run_job(SeededRun(runs[0], 0), options)
    assert [job.run for job in jobs_of(runs, [0], options)] == runs[1:]
    assert len(jobs_of(runs, [0, 1], options)) == 5
    write_record(Path(options.output), replace(record, training={"ended": "time"}))
    assert len(jobs_of(runs, [0], options)) == 2
    assert len(jobs_of(runs, [0], replace(options, redo_cut=True))) == 3


def test_fastest_runs_come_first():
    order = [run.config for run in sorted({cell.run for cell in grid()}, key=cost)]
    assert order[0] == "edit-distance"
    assert order.index("transducer-unigram") < order.index("transducer-deep-cnn") < order.index("transducer-rnn")


def test_runs_side_by_side_in_processes_of_their_own(options):
    found = []
    jobs = [SeededRun(Run.named("cognates-ie/edit-distance"), seed) for seed in (0, 1)]
    run_jobs(jobs, options, at_once=2, minutes=5.0, on_finished=found.append)
    assert sorted(finished.job.seed for finished in found) == [0, 1]
    assert not any(finished.error for finished in found)
    assert [record.seed for record in read_records(Path(options.output), quick=True)["cognates-ie/edit-distance"]] == [
        0,
        1,
    ]


def test_nothing_begins_shortly_before_the_end(options):
    run_jobs([SeededRun(Run.named(KINDS[0]), 0)], options, until=1.0, on_finished=lambda _: pytest.fail("began"))


def test_tables_are_made_of_records_alone(options):
    record = run_job(SeededRun(Run.named("cognates-ie/matcher-unigram"), 0), options)
    folder = Path(options.output)
    cells = chosen_cells(["table1", "table5", "table6"])
    assert read_records(folder) == {}
    assert "| 78.5 ± 1.0 | · |" in render_tables(cells, read_records(folder))
    for seed, f1 in ((0, 0.8), (1, 0.9)):
        measured = {"test": {"f1": f1}, "validation": {"f1": f1 / 2}, "training": {"ended": "time"}}
        write_record(folder, replace(record, quick=False, seed=seed, **measured))
    shown = render_tables(cells, read_records(folder))
    assert "| 78.5 ± 1.0 | 85.0 ± 7.1 (n = 2, 2 cut by time) |" in shown
    assert "| 81.2 ± 1.0 | 42.5 ± 3.5 (n = 2, 2 cut by time) |" in shown
    assert "## Table 5" in shown
    assert "2 records, " in shown
    assert "; 27 of 28 runs have no record." in shown


def test_a_file_that_is_no_record(tmp_path):
    (tmp_path / "other.json").write_text(json.dumps({"run": 1}))
    with pytest.raises(DataError, match=r"other\.json: is no record of a run"):
        read_records(tmp_path)


def test_alignments_are_scored_rightly_and_as_published():
    links = [frozenset({(0, 0), (1, 1), (2, 2)})] * 2
    assert alignment_figures(links, links) == {"align": 1.0, "align_as_published": pytest.approx(2 / 3)}


def test_kept_links_are_scored_when_there_is_a_reference(options, tmp_path):
    record = run_job(SeededRun(Run.named("cognates-ie/matcher-unigram"), 0), options)
    found = replace(record, run="g2p-cmudict/transducer-rnn", quick=False)
    write_record(Path(options.output), found)
    links = [frozenset({(0, 0), (1, 1)}), frozenset()]
    keep_links(tmp_path / "links", found, links)
    (tmp_path / "reference").write_text("0-0 1-1\n\n")
    assert score_links(Path(options.output), tmp_path / "links", tmp_path / "reference") == 1
    (scored,) = read_records(Path(options.output))[found.run]
    assert scored.test["align"] == 1


def run(*arguments):
    return CliRunner().invoke(app, ["reproduce", *map(str, arguments)])


def test_command_rehearses_from_data_to_record(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    result = run("table1", "--only", "ours unigram, Indo-European, plain", "--quick", "-o", tmp_path)
    assert result.exit_code == 0, result.output
    assert "cognates-ie/matcher-unigram seed 0: done" in result.output
    assert read_record(tmp_path / "cognates-ie--matcher-unigram--seed0.json").quick


def test_command_lists_and_renders(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    listed = run("all", "--list").output
    assert len(listed.splitlines()) == len(grid())
    assert "table3: ours RNN, CMUDict, + Int. loss [g2p-cmudict/transducer-rnn+interpretable]" in listed
    assert "cognates-aa@published-fixed/matcher-rnn" in run("all", "--list", "--protocol", "published-fixed").output
    rendered = run("all", "--render", "-o", tmp_path).output
    assert all(f"## Table {number}: " in rendered for number in range(1, 8))
    wrong = run("table1", "--only", "nothing of this", "--list")
    assert isinstance(wrong.exception, NsedError) or wrong.exit_code
