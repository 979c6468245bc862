"""`nsed explain`: in a terminal, as pages and pictures, of many pairs."""

import json

import pytest
from typer.testing import CliRunner

from nsed.__main__ import app
from nsed.errors import ArgumentError, DataError
from support.commands import run


def test_explain(model):
    shown = run("explain", model, "--pair", "BC", "c")
    assert "log-probability -" in shown
    assert "%  -B\n" in shown
    assert json.loads(run("explain", model, "--pair", "BC", "c", "--format", "json"))["source"] == ["B", "C"]


def test_what_a_model_that_decides_scores_is_no_log_probability():
    shown = run("explain", "cognates", "--pair", "h a n t", "h a n d")
    assert "\nscore           " in shown
    assert "log-probability" not in shown


def test_explanations_as_pages_pictures_and_boxes(model, tmp_path):
    page = run("explain", model, "--pair", "BC", "c", "--format", "html")
    assert page.startswith("<!doctype html>")
    assert page.count("<style>") == page.count("</html>") == 1
    assert 'data-kind="delete" data-source="B"' in page
    picture = run("explain", model, "--pair", "BC", "c", "--format", "svg", "--picture", "waterfall")
    assert picture.startswith("<svg ")
    assert 'data-name="ambiguity"' in picture
    assert r"\nseddel{B}" in run("explain", model, "--pair", "BC", "c", "--format", "latex")
    run("explain", model, "--pair", "BC", "c", "--figure", tmp_path / "alpha.png")
    assert (tmp_path / "alpha.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(DataError, match="cannot be written"):
        run("explain", model, "--pair", "BC", "c", "--figure", tmp_path / "nowhere" / "alpha.png")


def test_a_report_of_many_pairs(model, pairs, tmp_path, capsys):
    run("explain", model, pairs, "--html", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("<tr>") == 1 + 300
    assert f"<title>{model.name} on {pairs.name}</title>" in page
    with pytest.raises(DataError, match="cannot be written"):
        run("explain", model, pairs, "--html", tmp_path / "nowhere" / "report.html")
    with pytest.raises(ArgumentError, match="--html: got also --output, expected a file for the page and nothing else"):
        run("explain", model, pairs, "--html", tmp_path / "report.html", "--output", tmp_path / "other.html")


def test_a_large_page_of_full_explanations_says_that_there_is_a_smaller_one(model, tmp_path):
    (tmp_path / "many.tsv").write_text("A\ta\n" * 51)
    result = CliRunner().invoke(app, ["explain", str(model), str(tmp_path / "many.tsv"), "--format", "html"])
    assert result.exit_code == 0
    assert "51 explanations in full are a large page; --html FILE makes a compact one" in result.output


def test_explain_writes_one_picture_at_a_time_and_sources_are_for_transducers(model, pairs):
    with pytest.raises(ArgumentError, match="got 300 pairs, expected a single pair"):
        run("explain", model, pairs, "--format", "svg")
    with pytest.raises(ArgumentError, match="--source: got a model that does not write, expected a transducer"):
        run("explain", model, "--source", "BC")
    assert "R EH D" in run("explain", "g2p-en", "--source", "read")


def test_as_many_scripts_as_wanted(model):
    for wanted in (1, 4):
        shown = json.loads(run("explain", model, "--pair", "BCA", "ca", "--format", "json", "--scripts", wanted))
        assert len(shown["scripts"]) == wanted


@pytest.mark.parametrize(
    ("verb", "options"), [("explain", ["--pair", "BC", "c", "--figure"]), ("rules", ["--picture"])]
)
def test_a_figure_that_fails_midway_leaves_what_was_there_before(verb, options, model, tmp_path, monkeypatch):
    figure = pytest.importorskip("matplotlib.figure")
    path, saved = tmp_path / "alpha.png", figure.Figure.savefig

    def fail(self, path, **options):
        saved(self, path, **options)
        raise OSError(28, "No space left on device")

    path.write_text("before")
    monkeypatch.setattr(figure.Figure, "savefig", fail)
    with pytest.raises(DataError, match=r"alpha\.png: cannot be written: No space left .* is unchanged"):
        run(verb, model, *options, path)
    assert [one.read_text() for one in tmp_path.iterdir()] == ["before"]
