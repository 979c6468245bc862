"""Runs from data to record to table, with toy pairs and tiny models."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nsed.__main__ import app
from nsed.datasets import Splits
from nsed.errors import DataError, NsedError
from nsed.models.edit_distance import LearnableEditDistance
from nsed.reproduce.figures import evidence_from, figures
from nsed.reproduce.grid import CONFIGS, Run, chosen_cells, grid, settings_of
from nsed.reproduce.measure import alignment_figures, evidence_of, keep_links, score_links
from nsed.reproduce.records import read_record, read_records, record_path, write_record
from nsed.reproduce.render import chosen_attempt, judged, render_tables, share_that_holds, write_page
from nsed.reproduce.runner import Options, SeededRun, cost, jobs_of, run_job, run_jobs, was_longer
from nsed.text import Pairs

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "results" / "records" / "cognates-ie--matcher-unigram--seed0.json"
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


@pytest.mark.slow
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
    assert "| 78.5 ± 1.0 | · | · | – | · | not run | · |" in render_tables(cells, read_records(folder))
    for seed, f1 in ((0, 0.8), (1, 0.9)):
        measured = {"test": {"f1": f1}, "validation": {"f1": f1 / 2}, "training": {"ended": "time", "seconds": 7}}
        write_record(folder, replace(record, quick=False, seed=seed, **measured))
    shown = render_tables(cells, read_records(folder))
    assert "| 78.5 ± 1.0 | 85.0 ± 7.1 (n = 2, 2 cut by time) | to the letter | – | 7 | better | · |" in shown
    assert "| 81.2 ± 1.0 | 42.5 ± 3.5 (n = 2, 2 cut by time) | to the letter | – | 7 |" in shown
    assert "## Table 5" in shown
    assert "2 records, " in shown
    assert "; 29 of 30 runs have no record." in shown


def test_what_is_beyond_the_paper_stands_beside_its_row(options):
    record = replace(run_job(SeededRun(Run.named("cognates-ie/matcher-unigram"), 0), options), quick=False)
    folder = Path(options.output)
    write_record(folder, replace(record, test={"f1": 0.9}))
    write_record(folder, replace(record, run="cognates-ie@concepts/matcher-unigram~faster", test={"f1": 0.6}))
    shown = render_tables(chosen_cells(["table1"], only="ours unigram, Indo-European, plain"), read_records(folder))
    assert "| better | 60.0 |" in shown


def test_a_run_that_is_cut_earlier_than_before_does_not_replace_the_longer_one(options):
    job = SeededRun(Run.named("cognates-ie/matcher-unigram"), 0)
    record = run_job(job, options)
    path = record_path(Path(options.output), record.run, record.seed)
    write_record(path.parent, replace(record, training={**record.training, "ended": "time", "steps": 10_000}))
    run_job(job, options)
    assert read_record(path).training["steps"] == record.training["steps"]  # that one was whole
    longer = replace(record, training={**record.training, "ended": "time", "steps": 10_000})
    write_record(path.parent, longer)
    assert was_longer(path, replace(record, training={"ended": "time", "steps": 50}))
    assert not was_longer(path, replace(record, training={"ended": "time", "steps": 20_000}))


def rates(record, run, **figures):
    """A record of a run with these figures."""
    name, validation, test = run, {"wer": figures["validated"]}, {"cer": 0.1, "wer": figures["wer"]}
    return replace(record, run=name, quick=False, validation=validation, test=test)


def test_the_reading_that_counts_is_chosen_by_validation_not_by_test(options):
    record = run_job(SeededRun(Run.named("cognates-ie/matcher-unigram"), 0), options)
    (cell,) = chosen_cells(["table3"], only="Transformer, CMUDict, plain [g2p-cmudict/transducer")
    name = cell.run.name
    letter, faster = (
        rates(record, name, validated=0.5, wer=0.2),
        rates(record, f"{name}~faster", validated=0.4, wer=0.9),
    )
    assert chosen_attempt(cell, {name: [letter], f"{name}~faster": [faster]}) == ("faster", [faster])
    assert judged(cell, {name: [letter]}) == ("better", True)
    assert judged(cell, {name: [letter], f"{name}~faster": [faster]}) == ("differs", False)
    within = [rates(record, name, validated=0.5, wer=wer) for wer in (0.44, 0.50)]  # the paper: 41.8 ± 3.1
    assert judged(cell, {name: within}) == ("within two deviations", True)


def test_a_reading_changes_rate_and_weights_but_adds_no_loss():
    run = Run.named("translit-ar2en/transducer-rnn+interpretable+no-em~faster")
    settings = settings_of(run, folder=ROOT / CONFIGS)
    assert (settings.em, settings.likelihood, settings.train.learning_rate) == (0.0, 0.1, 1e-3)
    assert settings_of(run.read_as(None), folder=ROOT / CONFIGS).train.learning_rate == 1e-4
    assert settings_of(Run.named("translit-ar2en/transducer-rnn+dim=8"), folder=ROOT / CONFIGS).encoder.dim == 8


def test_evidence_of_a_record_is_drawn_as_it_was():
    model = LearnableEditDistance.fit([("abc", "abd"), ("ab", "ab")] * 10)
    splits = Splits(*[Pairs(["abcab", "ab"], ["abdab", "ab"], [True, False])] * 3)
    (kept,) = evidence_of(model, splits, "cognates-ie")
    read = evidence_from(json.loads(json.dumps(kept)))
    made = model.explain("abcab", "abdab", scripts=1)
    assert str(read.script) == str(made.script)
    assert read.substitute == pytest.approx(made.substitute, abs=1e-4)
    record = replace(read_record(RECORDED), evidence=[kept, kept])
    cells = [(cell, [record]) for cell in grid() if cell.place in ("figure1", "figure2")]
    assert list(figures("figure1", cells[:1])) == ["figure1"]
    assert "figure2-cognates-ie-without-1" in figures("figure2", cells[1:])
    assert all(svg.startswith("<svg") for svg in figures("figure2", cells[1:]).values())


def test_charts_are_made_of_what_records_have():
    record = replace(read_record(RECORDED), decoding=[[1.0, 0.0, 0.1, 0.4], [5.0, 0.0, 0.1, 0.3], [5.0, 0.4, 0.1, 0.2]])
    found = [(cell, [record]) for cell in grid() if cell.place == "figure4"]
    assert set(figures("figure4", found)) == {
        f"figure4-{name}" for name in ("beam-cer", "beam-wer", "length-cer", "length-wer")
    }
    assert "ours RNN: 5, 20.0" not in figures("figure4", found)["figure4-beam-wer"]
    assert "ours RNN: 0.4, 20.0" in figures("figure4", found)["figure4-length-wer"]
    assert list(figures("figure5", [(cell, []) for cell, _ in found])) == []


def test_the_committed_page_is_what_its_records_make(tmp_path):
    page = tmp_path / "reproduction.md"
    write_page(page, read_records(ROOT / "results" / "records"))
    assert page.read_text(encoding="utf-8") == (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    assert "not explained yet" not in page.read_text(encoding="utf-8")
    holds, of = share_that_holds(read_records(ROOT / "results" / "records"))
    assert holds >= 0.8 * of


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
    listed = run("--list").output
    assert listed == run("all", "--list").output
    assert "WHAT: got nothing" in str(run().exception)
    assert len(listed.splitlines()) == len(grid())
    assert "table3: ours RNN, CMUDict, + Int. loss [g2p-cmudict/transducer-rnn+interpretable]" in listed
    assert "cognates-aa@published-fixed/matcher-rnn" in run("all", "--list", "--protocol", "published-fixed").output
    rendered = run("all", "--render", "-o", tmp_path).output
    assert all(f"## Table {number}: " in rendered for number in range(1, 8))
    wrong = run("table1", "--only", "nothing of this", "--list")
    assert isinstance(wrong.exception, NsedError) or wrong.exit_code
