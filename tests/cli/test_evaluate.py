"""`nsed evaluate`: figures of each kind of model."""

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

import nsed
from nsed.cli.evaluate import column_of
from nsed.errors import ArgumentError, DataError
from nsed.evaluate import matching_score
from nsed.text import read_pairs
from support.commands import run
from support.pages import Page


def evaluated_on(model, pairs, folder):
    run("evaluate", model, pairs, "--output", folder / "figures.json")
    return json.loads((folder / "figures.json").read_text())


@pytest.fixture
def few(pairs, tmp_path):
    """The first sixty pairs."""
    (tmp_path / "few.tsv").write_text("".join(pairs.read_text().splitlines(keepends=True)[:60]))
    return tmp_path / "few.tsv"


def test_the_error_rates_of_a_transducer_are_those_of_its_answers(transducer, few, tmp_path):
    shown = run("evaluate", transducer, few, "--output", tmp_path / "figures.json")
    figures, data = json.loads((tmp_path / "figures.json").read_text()), nsed.read_pairs(few)
    answers = nsed.load(transducer).transduce(data.sources)
    wrong = np.mean([best[0].text != target for best, target in zip(answers, data.targets, strict=True)])
    assert figures["wer"] == pytest.approx(wrong)
    assert re.search(rf"^WER +{100 * wrong:.2f}%", shown, flags=re.MULTILINE)
    assert figures["words"] == 60
    assert 0 < figures["cer"] < figures["wer"] < 1
    assert figures["wer_interval"][0] < figures["wer"] < figures["wer_interval"][1]
    assert figures["cer_interval"][0] < figures["cer"] < figures["cer_interval"][1]


def test_scores_without_a_threshold_need_pairs_to_tune_it(model, pairs, labelled):
    with pytest.raises(ArgumentError, match="validation: got nothing, expected labelled pairs to tune the threshold"):
        run("evaluate", model, labelled)
    shown = run("evaluate", model, labelled, "--validation", labelled)
    assert re.search(r"^F1 +[\d.]+% +[\d.]+% to [\d.]+% *$", shown, flags=re.MULTILINE)
    assert "average precision" in shown
    assert "brier" not in shown.lower()  # no matcher, no probabilities
    with pytest.raises(ArgumentError, match="pairs: got pairs without labels, expected a third column"):
        run("evaluate", model, pairs)


@pytest.mark.parametrize("kind", ["matcher-rnn", "cross-encoder", "stance"])
def test_the_figures_of_a_matcher_are_those_of_its_decisions(kind, copied, labelled, tmp_path):
    folder, data = copied(kind), nsed.read_pairs(labelled)
    loaded, labels, figures = nsed.load(folder), np.asarray(data.labels), evaluated_on(folder, labelled, tmp_path)
    assert figures["f1"] == pytest.approx(matching_score(loaded.score(data), labels, loaded.threshold).f1)
    assert figures["brier_score"] == pytest.approx(np.mean((loaded.probability(data) - labels) ** 2))
    assert figures["f1_interval"][0] < figures["f1"] < figures["f1_interval"][1]
    assert {"average_precision", "roc_auc", "expected_calibration_error"} <= set(figures)


def test_matches_alone_have_no_ranking(matcher, tmp_path):
    (tmp_path / "matches.tsv").write_text("CC\tcc\t1\nAB\tab\t1\n")
    assert not {"average_precision", "roc_auc"} & set(evaluated_on(matcher, tmp_path / "matches.tsv", tmp_path))


@pytest.mark.slow
def test_two_models_are_compared_pair_by_pair(transducer, copied, few, tmp_path):
    """Against itself a model is no better; against one that writes nothing it is as much better as it is right."""
    shown = run("evaluate", transducer, few, "--against", transducer)
    assert re.search(r"^WER: \+0\.00 points, 95 % \+0\.00 to \+0\.00, p = 1\.0000$", shown, flags=re.MULTILINE)
    figures = tmp_path / "figures.json"
    shown = run("evaluate", transducer, few, "--against", copied("seq2seq"), "--output", figures)
    (points,) = re.findall(r"^WER: -([\d.]+) points, 95 % -[\d.]+ to -[\d.]+, p = 0\.", shown, flags=re.MULTILINE)
    assert float(points) == pytest.approx(100 * (1 - json.loads(figures.read_text())["wer"]), abs=0.01)


@pytest.mark.slow
def test_evaluation_with_all_that_there_is(model, transducer, pairs, tmp_path):
    run("align", model, pairs, "--format", "pharaoh", "--output", tmp_path / "links.pharaoh")
    options = ["--nbest", 3, "--errors", 4, "--alignments", tmp_path / "links.pharaoh", "--against", transducer]
    run(
        *("evaluate", transducer, pairs, "--beam", 2, *options),
        *("--output", tmp_path / "figures.json", "--html", tmp_path / "page.html"),
    )
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert 1 - figures["wer"] < figures["nbest_accuracy"] < 1
    assert figures["oracle_cer"] < figures["cer"]
    assert 0.5 < figures["alignment_f1"] <= 1
    assert 0 < figures["alignment_f1_control"] < figures["alignment_f1"]
    assert (figures["nbest"], figures["beam"]) == (3, 3)  # no fewer prefixes than answers
    assert figures["comparison"]["model"] == str(transducer)
    assert len(figures["mistakes"]) == 4
    assert [curve["title"] for curve in figures["curves"]] == ["Errors by length", "n-best accuracy"]
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert page.count("li", "mistake") == 4


def test_a_reference_of_other_pairs_is_refused(transducer, pairs, tmp_path):
    (tmp_path / "short.pharaoh").write_text("0-0\n")
    with pytest.raises(DataError, match=r"short\.pharaoh: has 1 lines, expected 300, one for each pair"):
        run("evaluate", transducer, pairs, "--alignments", tmp_path / "short.pharaoh")


def grouped(labelled, path):
    """The labelled pairs, with concepts: twenty pairs each."""
    rows = [line.split("\t") for line in labelled.read_text().splitlines()]
    text = ["\t".join(["source", "target", "label", "concept"])]
    text += ["\t".join([*row, f"c{place // 20}"]) for place, row in enumerate(rows)]
    path.write_text("\n".join(text) + "\n")
    return path


def test_the_model_of_against_that_has_no_threshold_is_named(matcher, model, labelled):
    with pytest.raises(ArgumentError, match=rf"threshold on: {re.escape(str(model))} has none of its own"):
        run("evaluate", matcher, labelled, "--against", model)


def test_intervals_resample_the_concepts_that_a_file_names(matcher, labelled, tmp_path):
    path = grouped(labelled, tmp_path / "grouped.tsv")
    shown = run("evaluate", matcher, path, "--against", matcher, "--html", tmp_path / "page.html")
    assert re.search(r"^intervals: 10 concepts resampled$", shown, flags=re.MULTILINE)
    assert "resampled 10 concepts" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert re.search(r"^intervals: 200 pairs resampled$", run("evaluate", matcher, labelled), flags=re.MULTILINE)
    named = path.with_name("named.tsv")
    named.write_text(path.read_text().replace("concept", "family", 1))
    assert "intervals: 200 pairs resampled" in run("evaluate", matcher, named)
    assert "intervals: 10 groups by family resampled" in run("evaluate", matcher, named, "--groups", "family")
    with pytest.raises(DataError, match=r"named\.tsv: no column named 'genus' in a header"):
        run("evaluate", matcher, named, "--groups", "genus")


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_concepts_are_found_in_files_of_every_kind(ending, matcher, labelled, tmp_path):
    table = pa.csv.read_csv(grouped(labelled, tmp_path / "a.tsv"), parse_options=pa.csv.ParseOptions(delimiter="\t"))
    path = tmp_path / f"pairs.{ending}"
    {"csv": pa.csv.write_csv, "parquet": pa.parquet.write_table, "arrow": pa.feather.write_feather}[ending](table, path)
    assert column_of(read_pairs(path, keep_others=True), "Concept") == [f"c{place // 20}" for place in range(200)]
    assert column_of(read_pairs(path, keep_others=True), "none") is None
    assert "intervals: 10 concepts resampled" in run("evaluate", matcher, path)


def test_groups_of_pairs_without_labels_are_refused(transducer, few, tmp_path):
    path = tmp_path / "words.tsv"
    path.write_text("source\ttarget\tconcept\nAB\tab\t1\nC\tc\t2\n")
    assert "intervals" not in run("evaluate", transducer, path)
    with pytest.raises(ArgumentError, match="groups: got concept, expected nothing: these pairs have no labels"):
        run("evaluate", transducer, path, "--groups", "concept")


def test_figures_by_any_column_are_those_of_its_pairs_alone(matcher, transducer, labelled, tmp_path):
    path, alone = grouped(labelled, tmp_path / "grouped.tsv"), tmp_path / "alone.tsv"
    shown = run(
        "evaluate",
        matcher,
        path,
        "--by",
        "Concept",
        "--by",
        "script",
        "-o",
        tmp_path / "a.json",
        "--html",
        tmp_path / "a.html",
    )
    found = {one["by"]: one["groups"] for one in json.loads((tmp_path / "a.json").read_text())["breakdowns"]}
    assert [group["name"] for group in found["Concept"]] == [f"c{number}" for number in range(10)]
    header, *rows = path.read_text().splitlines(keepends=True)
    alone.write_text(header + "".join(row for row in rows if row.rstrip().endswith("c3")))
    expected = evaluated_on(matcher, alone, tmp_path)
    assert found["Concept"][3]["values"][1:] == [expected[name] for name in ("precision", "recall", "f1")]
    assert re.search(rf"^c3 +20 .*{expected['f1']:.2%}$", shown, flags=re.MULTILINE)
    assert [group["name"] for group in found["script"]] == ["latin"]
    assert "By Concept" in (tmp_path / "a.html").read_text(encoding="utf-8")
    with pytest.raises(DataError, match=r"no column named 'genus', to show figures by; there are: concept, length"):
        run("evaluate", matcher, path, "--by", "genus")


def test_words_are_in_the_groups_of_their_pairs(transducer, tmp_path):
    path = tmp_path / "words.tsv"
    path.write_text("source\ttarget\tfrom\nCB\tcb\tx\nCB\tcc\ty\nCCB\ta\ty\n")
    shown = run("evaluate", transducer, path, "--by", "from", "--by", "length")
    assert re.search(
        r"^from +words +CER +corpus CER +WER\s+x +1 .* 0\.00%\s+y +2 .* 50\.00%$", shown, flags=re.MULTILINE
    )
    assert re.search(r"^source length +words", shown, flags=re.MULTILINE)
