"""The commands as users type them."""

import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import time
from importlib.util import find_spec

import pytest
from typer.testing import CliRunner

import nsed
from nsed.__main__ import app
from nsed.errors import ArgumentError, ConfigError, DataError, ModelFileError, NotExplainableError, UnknownNameError
from nsed.lattice.backends import BACKENDS
from support.pages import Page

COMMANDS = [
    "demo",
    "train",
    "evaluate",
    "models",
    "doctor",
    "bench",
    "reproduce",
    "transduce",
    "review",
    "match",
    "cluster",
    "score",
    "align",
    "explain",
    "operations",
    "rules",
    "data",
]
DATA_COMMANDS = [
    ["data", name] for name in ("rules", "cognates", "cmudict", "check", "list", "fetch", "export", "align")
]


def run(*arguments, stdin=None):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "rules.tsv"
    run("data", "rules", "--count", 300, "--seed", 5, "--output", path)
    return path


@pytest.fixture(scope="module")
def model(pairs):
    folder = pairs.parent / "model"
    run("train", pairs, folder)
    return folder


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS), *DATA_COMMANDS])
def test_every_command_has_help(command):
    assert "Usage:" in run(*command, "--help")


def test_version():
    assert run("--version").strip() == nsed.__version__


def test_demo():
    shown = run("demo")
    assert re.search(r"unigram .*\n.* [0-9]% of \d+ such cases right", shown)
    assert re.search(r"CNN .*\n.* (9[5-9]|100)% of \d+ such cases right", shown)
    assert re.search(r"CNN .* (99\.[5-9]|100\.0)% of 300 unseen strings right", shown)
    assert "BAAACB → acb" in shown
    assert "flagships → F L AE G SH IH P S  p = 1.000  f→F l→L a→AE g→G s→SH -h i→IH p→P s→S" in shown


def test_score_of_a_file_and_of_a_pair(model, pairs):
    lines = [line.split("\t") for line in run("score", model, pairs).splitlines()]
    expected = nsed.load(model).score(nsed.read_pairs(pairs))
    assert [float(score) for _, _, score in lines] == pytest.approx(expected, abs=1e-5)
    assert run("score", model, "--pair", "AB", "ab").startswith("AB\tab\t-")
    assert run("score", model, "-", stdin="AB\tab\n") == run("score", model, "--pair", "AB", "ab")
    (first, *_) = run("score", model, pairs, "--format", "json").splitlines()
    assert json.loads(first)["score"] == pytest.approx(expected[0])


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("text", "-B A→a C→c\n"),
        ("table", "B A C\n· a c\n\n"),
        ("pharaoh", "1-0 2-1\n"),
        ("opcodes", '[["delete", 0, 1, 0, 0], ["replace", 1, 3, 0, 2]]\n'),
    ],
)
def test_align(model, form, expected):
    assert run("align", model, "--pair", "BAC", "ac", "--format", form) == expected


def test_align_json_reads_back(model, pairs):
    lines = run("align", model, pairs, "--format", "json").splitlines()
    scripts = [nsed.EditScript.from_json(line) for line in lines]
    assert [("".join(script.source), "".join(script.target)) for script in scripts] == list(nsed.read_pairs(pairs))


def test_explain(model):
    shown = run("explain", model, "--pair", "BC", "c")
    assert "log-probability -" in shown
    assert "%  -B\n" in shown
    assert json.loads(run("explain", model, "--pair", "BC", "c", "--format", "json"))["source"] == ["B", "C"]


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


def test_operations_and_costs(model, tmp_path):
    assert "C→c" in run("operations", model, "--top", 3)
    assert "C→c" not in run("operations", model, "--kind", "delete")
    run("operations", model, "--costs", "--output", tmp_path / "costs.tsv")
    lines = [line.split("\t") for line in (tmp_path / "costs.tsv").read_text().splitlines()]
    assert len(lines) == 4 + 4 + 16
    costs = {(source, target): float(cost) for _, source, target, cost in lines}
    assert costs["A", "a"] < costs["<unk>", "<unk>"]
    run("operations", model, "--top", 2, "--output", tmp_path / "top.tsv")
    assert (tmp_path / "top.tsv").read_text().startswith("substitute\tC\tc\t0.")


@pytest.fixture(scope="module")
def transducer(pairs):
    folder = pairs.parent / "transducer"
    small = ["encoder.kind=cnn", "encoder.dim=16", "encoder.layers=1", "encoder.dropout=0", "train.steps=60"]
    fast = ["train.batch_pairs=32", "train.validate_every=20", "train.warmup=10", "train.learning_rate=0.01"]
    settings = [part for setting in small + fast for part in ("--set", setting)]
    run("train", pairs, folder, "--model", "transducer", *settings)
    return folder


def test_transducer_from_the_command_line(transducer, tmp_path):
    assert sorted(path.name.split("-")[0] for path in transducer.iterdir()) == [
        "curves.csv",
        "curves.svg",
        "model.json",
        "run.json",
        "settings.yaml",
        "weights",
    ]
    assert "kind: cnn" in (transducer / "settings.yaml").read_text()
    (tmp_path / "sources.txt").write_text("CCB\n\nCB\n")
    lines = [line.split("\t") for line in run("transduce", transducer, tmp_path / "sources.txt").splitlines()]
    assert [source for source, _, _ in lines] == ["CCB", "", "CB"]
    assert lines[0][1] == "ccb"
    assert run("transduce", transducer, stdin="CCB\n").split("\t")[1] == "ccb"
    found = run("transduce", transducer, "--text", "CCB", "--nbest", 3, "--format", "json").splitlines()
    scores = [json.loads(line)["log_prob"] for line in found]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)
    assert run("align", transducer, "--pair", "CCB", "ccb") == "C→c C→c B→b\n"
    assert float(run("score", transducer, "--pair", "CCB", "ccb").split("\t")[2]) == pytest.approx(scores[0], abs=1e-3)
    assert "log-probability -" in run("explain", transducer, "--pair", "CCB", "ccb")


@pytest.mark.parametrize("kind", ["rnn", "transformer"])
def test_a_baseline_answers_the_same_commands(kind, pairs, tmp_path):
    model, small = tmp_path / "seq2seq", ["encoder.dim=16", "encoder.layers=1", "encoder.dropout=0", "train.steps=40"]
    fast = ["train.batch_pairs=32", "train.validate_every=20", "train.warmup=10", "train.learning_rate=0.01"]
    settings = [part for setting in [f"encoder.kind={kind}", *small, *fast] for part in ("--set", setting)]
    run("train", pairs, model, "--model", "seq2seq", *settings)
    (line,) = run("transduce", model, "--text", "CCB", "--format", "json").splitlines()
    best = json.loads(line)
    scored = run("score", model, "--pair", "CCB", best["target"]).split("\t")[2]
    assert float(scored) == pytest.approx(best["log_prob"], abs=1e-3)
    assert len(run("transduce", model, "--text", "CCB", "--sample", 2).splitlines()) == 2
    assert 0 <= evaluated_on(model, pairs, tmp_path)["wer"] <= 1
    links = run("align", model, "--pair", "CCB", "ccb", "--format", "pharaoh").split()
    assert {link.split("-")[1] for link in links} == {"0", "1", "2"}
    for command in ("align", "explain"):
        with pytest.raises(NotExplainableError, match="a sequence-to-sequence model has no edit operations"):
            run(command, model, "--pair", "CCB", "ccb")


def evaluated_on(model, pairs, folder):
    run("evaluate", model, pairs, "--output", folder / "figures.json")
    return json.loads((folder / "figures.json").read_text())


def test_matcher_from_the_command_line(tmp_path):
    run("data", "rules", "--count", 3000, "--matching", "-o", tmp_path / "labelled.tsv")
    small = ["encoder.kind=cnn", "encoder.dim=16", "encoder.layers=1", "encoder.dropout=0", "train.steps=200"]
    fast = ["train.batch_pairs=32", "train.validate_every=40", "train.warmup=10", "train.learning_rate=0.01"]
    settings = [part for setting in small + fast for part in ("--set", setting)]
    run("train", tmp_path / "labelled.tsv", tmp_path / "m", "--model", "matcher", *settings)
    lines = [line.split("\t") for line in run("match", tmp_path / "m", tmp_path / "labelled.tsv").splitlines()]
    pairs = nsed.read_pairs(tmp_path / "labelled.tsv")
    right = sum((decision == "1") == label for (_, _, decision, _), label in zip(lines, pairs.labels, strict=True))
    assert right > 0.7 * len(pairs)
    assert all(0 <= float(probability) <= 1 for *_, probability in lines)
    shown = json.loads(run("match", tmp_path / "m", "--pair", "CC", "cc", "--format", "json"))
    assert shown["match"] in (True, False)
    assert run("align", tmp_path / "m", "--pair", "CC", "cc")
    figures = evaluated_on(tmp_path / "m", tmp_path / "labelled.tsv", tmp_path)
    assert figures["f1_interval"][0] < figures["f1"] < figures["f1_interval"][1]
    assert 0.7 < figures["average_precision"] <= 1
    assert 0.7 < figures["roc_auc"] <= 1
    assert 0 <= figures["brier_score"] < 0.25
    assert 0 <= figures["expected_calibration_error"] < 0.2
    (tmp_path / "matches.tsv").write_text("CC\tcc\t1\nAB\tab\t1\n")
    assert not {"average_precision", "roc_auc"} & set(evaluated_on(tmp_path / "m", tmp_path / "matches.tsv", tmp_path))


@pytest.mark.parametrize("kind", ["cross-encoder", "stance"])
def test_baselines_of_the_matcher_from_the_command_line(kind, tmp_path):
    pairs, model = tmp_path / "labelled.tsv", tmp_path / "m"
    run("data", "rules", "--count", 300, "--matching", "-o", pairs)
    small = ["encoder.dim=8", "encoder.layers=1", "train.steps=4", "train.batch_pairs=32", "train.validate_every=2"]
    run("train", pairs, model, "--model", kind, *(part for setting in small for part in ("--set", setting)))
    assert {line.split("\t")[2] for line in run("match", model, pairs).splitlines()} <= {"0", "1"}
    assert float(run("score", model, "--pair", "CC", "cc").split("\t")[2]) < 0
    assert {"f1", "f1_interval", "average_precision", "brier_score"} <= set(evaluated_on(model, pairs, tmp_path))
    for command in ("align", "explain"):
        with pytest.raises(NotExplainableError, match=f"a model of kind '{kind}' has no edit operations to show"):
            run(command, model, "--pair", "CC", "cc")


def test_a_finished_network_is_not_trained_again_by_resume(transducer, pairs):
    with pytest.raises(ModelFileError, match="there is no unfinished training here to resume"):
        run("train", pairs, transducer, "--model", "transducer", "--resume")


def test_what_a_model_cannot_do_is_said(model, transducer):
    with pytest.raises(ArgumentError, match=r"MODEL: got .*, which makes no decisions, expected a matcher"):
        run("match", model, "--pair", "A", "a")
    with pytest.raises(ArgumentError, match=r"MODEL: got .*, which scores pairs only, expected a transducer"):
        run("transduce", model, "--text", "A")
    with pytest.raises(NotExplainableError, match="a neural model has no table of operations"):
        run("operations", transducer)


def test_rules_with_labels_can_be_trained_on(tmp_path):
    run("data", "rules", "--count", 200, "--matching", "-o", tmp_path / "labelled.tsv")
    assert {line.split("\t")[2] for line in (tmp_path / "labelled.tsv").read_text().splitlines()} == {"0", "1"}
    run("train", tmp_path / "labelled.tsv", tmp_path / "model")
    assert nsed.load(tmp_path / "model").operations()[0].kind == "substitute"


def test_a_dictionary_has_tokens_for_targets(tmp_path):
    (tmp_path / "words.dict").write_text("CAT  K AE T\nACT  AE K T\n")
    run("train", tmp_path / "words.dict", tmp_path / "model")
    assert nsed.load(tmp_path / "model").coders.target.vocabulary.symbols == ("AE", "K", "T")
    run("train", tmp_path / "words.dict", tmp_path / "letters", "--target-symbols", "graphemes")
    assert " " in nsed.load(tmp_path / "letters").coders.target.vocabulary.symbols


def test_settings_from_everywhere(tmp_path, pairs):
    assert "# Steps of EM at most.\niterations: 30\n" in run("train", "--print-config")
    (tmp_path / "c.yaml").write_text("iterations: 2\nsmoothing: 0.5\n")
    run(
        "train", pairs, tmp_path / "m", "--config", tmp_path / "c.yaml", "--set", "iterations=3", "--set", "tolerance=0"
    )
    config = nsed.load(tmp_path / "m").config
    assert (config.iterations, config.smoothing, config.tolerance) == (3, 0.5, 0.0)


def test_settings_of_the_file_go_over_those_of_a_dictionary(tmp_path):
    (tmp_path / "words.dict").write_text("CAT  K AE T\n")
    (tmp_path / "c.yaml").write_text("iterations: 2\n")
    run("train", tmp_path / "words.dict", tmp_path / "m", "--config", tmp_path / "c.yaml")
    assert nsed.load(tmp_path / "m").config.target_symbols == "tokens"


def test_resumed_training_keeps_its_settings(tmp_path, pairs):
    run("train", pairs, tmp_path / "m", "--set", "smoothing=0.25", "--set", "iterations=2", "--set", "tolerance=0")
    run("train", pairs, tmp_path / "m", "--resume", "--set", "iterations=3")
    model = nsed.load(tmp_path / "m")
    assert (model.config.smoothing, len(model.history)) == (0.25, 3)


def test_markup_in_names_is_not_obeyed(tmp_path, pairs):
    run("train", pairs, tmp_path / "m[/x]")
    assert nsed.load(tmp_path / "m[/x]").history


def test_a_trained_model_is_not_lost_by_accident(model, pairs):
    with pytest.raises(
        ModelFileError, match="there is a model here already: continue it with --resume, or --overwrite"
    ):
        run("train", pairs, model)
    before = nsed.load(model).history
    run("train", pairs, model, "--resume")
    assert nsed.load(model).history == before
    run("train", pairs, model, "--overwrite")
    assert nsed.load(model).history == before


WRONG = {
    "no such model kind": (["train", "--model", "matchr", "--print-config"], UnknownNameError, "--model: got 'matchr'"),
    "no folder": (["train", "x.tsv"], ArgumentError, "PAIRS and OUTPUT: got one of them, expected a file"),
    "attention": (
        ["train", "--model=transducer", "--set=target_attention=true", "--set=encoder.kind=cnn", "--print-config"],
        ConfigError,
        "target_attention: got True, expected False with encoder.kind cnn; rnn, transformer can",
    ),
    "settings": (["train", "--set", "iteration=3", "--print-config"], ConfigError, "did you mean 'iterations'"),
    "model": (["score", "nowhere", "--pair", "a", "b"], ModelFileError, "nowhere: no saved model here"),
    "tab": (
        ["score", "MODEL", "--pair", "A\tB", "ab"],
        ArgumentError,
        "expected text without tabs .* Use --format json",
    ),
    "columns beside a pair": (
        ["score", "MODEL", "--pair", "A", "a", "--columns", "a,b"],
        ArgumentError,
        "--columns: got a,b",
    ),
    "folder": (
        ["train", "PAIRS", "/dev/null/model"],
        ModelFileError,
        "cannot be a folder for the model: Not a directory",
    ),
    "nothing to score": (["score", "MODEL"], ArgumentError, "PAIRS or --pair: got neither, expected one of them"),
    "too much": (["score", "MODEL", "PAIRS", "--pair", "a", "b"], ArgumentError, "PAIRS or --pair: got both"),
    "column": (["align", "MODEL", "PAIRS", "--columns", "a,b"], DataError, r"rules\.tsv:1: no column named 'a', 'b'"),
    "output": (["score", "MODEL", "PAIRS", "-o", "/no/such/file"], DataError, "/no/such/file: cannot be written"),
    "too long": (["score", "MODEL", "--pair", "A" * 10_000, "a" * 10_000], ArgumentError, "10,000 x 10,000 symbols"),
}


@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")  # the tab is one
@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named(model, pairs, case):
    arguments, error, message = WRONG[case]
    given = [{"MODEL": model, "PAIRS": pairs}.get(argument, argument) for argument in arguments]
    with pytest.raises(error, match=message):
        run(*given)


def nsed_process(*arguments, **options):
    """A process with as many threads as the tests themselves: their number may change the last bit of a sum."""
    command = [sys.executable, "-m", "nsed", *map(str, arguments)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **options.pop("env", {})}
    return subprocess.Popen(command, env=environment, **options)


def test_a_fault_becomes_one_line_and_exit_status_2(tmp_path):
    process = nsed_process(
        "score", tmp_path, "--pair", "a", "b", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    out, err = process.communicate(timeout=120)
    assert process.returncode == 2
    assert out == ""
    assert err.startswith("error: ")
    assert "model.json cannot be read" in err
    assert "Traceback" not in err


def test_terminals_without_unicode_get_escapes(model):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    process = nsed_process("align", model, "--pair", "A", "a", stdout=subprocess.PIPE, text=True, env=environment)
    assert process.communicate(timeout=120)[0] == "A\\u2192a\n"


@pytest.mark.parametrize("command", ["score", "explain"])  # the latter reads the pair twice
def test_warnings_are_short_and_closed_pipes_quiet(command, model):
    process = nsed_process(
        command, model, "--pair", "AX", "a", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdout.close()
    with process.stderr:
        err = process.stderr.read()
    process.wait(timeout=120)
    assert err == "warning: 1 source symbol is unknown to the model, which reads <unk>: X\n"


def test_shipped_models_answer_without_a_download():
    assert run("transduce", "g2p-en", stdin="flagships\n").startswith("flagships\tF L AE G SH IH P S\t")
    assert run("transduce", "g2p-en", "--text", "FLAGSHIPS").startswith("FLAGSHIPS\tF L AE G SH IH P S\t")
    assert len(run("transduce", "translit-ar-en", "--text", "محمد", "--nbest", 3).splitlines()) == 3
    assert "English spelling to pronunciation" in run("models")
    assert "BSD, Carnegie Mellon University" in run("models", "g2p-en")
    with pytest.raises(ArgumentError, match="NAME: got g2p, expected one of g2p-en, translit-ar-en"):
        run("models", "g2p")
    with pytest.raises(ModelFileError, match=r"no such folder; shipped models: g2p-en, translit-ar-en"):
        run("transduce", "g2p", "--text", "a")


def test_doctor_says_which_backend_runs_and_why(monkeypatch):
    assert re.search(r"on cpu +numba \(compiled\)", run("doctor"))
    monkeypatch.delitem(BACKENDS._entries, "numba")
    assert re.search(r"on cpu +torch \(numba is not installed", run("doctor"))


def test_drawn_targets_are_the_same_for_the_same_seed():
    drawn = [run("transduce", "translit-ar-en", "--text", "محمد", "--sample", 20, "--seed", seed) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(set(drawn[0].splitlines())) > 3


def test_evaluation_of_each_kind_of_model(model, transducer, pairs, tmp_path):
    assert "WER" in run("evaluate", transducer, pairs, "--output", tmp_path / "figures.json")
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert 0 <= figures["cer"] <= figures["wer"] <= 1
    assert figures["words"] == 300
    assert figures["wer_interval"][0] <= figures["wer"] <= figures["wer_interval"][1]
    assert figures["cer_interval"][0] <= figures["cer"] <= figures["cer_interval"][1]
    labelled = tmp_path / "labelled.tsv"
    run("data", "rules", "--matching", "--count", 400, "-o", labelled)
    with pytest.raises(ArgumentError, match="validation: got nothing, expected labelled pairs to tune the threshold"):
        run("evaluate", model, labelled)
    shown = run("evaluate", model, labelled, "--validation", labelled)
    assert re.search(r"^F1 +[\d.]+% +[\d.]+% to [\d.]+% *$", shown, flags=re.MULTILINE)
    assert "average precision" in shown
    assert "brier" not in shown  # no matcher, no probabilities
    with pytest.raises(ArgumentError, match="pairs: got pairs without labels, expected a third column"):
        run("evaluate", model, pairs)


def test_evaluation_with_all_that_there_is(model, transducer, pairs, tmp_path):
    run("align", model, pairs, "--format", "pharaoh", "--output", tmp_path / "links.pharaoh")
    options = ["--nbest", 3, "--errors", 4, "--alignments", tmp_path / "links.pharaoh", "--against", transducer]
    shown = run(
        *("evaluate", transducer, pairs, "--beam", 2, *options),
        *("--output", tmp_path / "figures.json", "--html", tmp_path / "page.html"),
    )
    assert re.search(r"^WER: \+0\.00 points, 95 % \+0\.00 to \+0\.00, p = 1\.0000$", shown, flags=re.MULTILINE)
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert 1 - figures["wer"] <= figures["nbest_accuracy"] <= 1
    assert figures["oracle_cer"] <= figures["cer"]
    assert 0.5 < figures["alignment_f1"] <= 1
    assert 0 < figures["alignment_f1_control"] < figures["alignment_f1"]
    assert (figures["nbest"], figures["beam"]) == (3, 3)  # no fewer prefixes than answers
    assert figures["comparison"]["model"] == str(transducer)
    assert len(figures["mistakes"]) == min(4, round(figures["wer"] * 300))
    assert [curve["title"] for curve in figures["curves"]] == ["Errors by length", "n-best accuracy"]
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert page.count("li", "mistake") == len(figures["mistakes"])
    (tmp_path / "short.pharaoh").write_text("0-0\n")
    with pytest.raises(DataError, match=r"short\.pharaoh: has 1 lines, expected 300, one for each pair"):
        run("evaluate", transducer, pairs, "--alignments", tmp_path / "short.pharaoh")


@pytest.mark.skipif(find_spec("eflomal") is None, reason="needs the extra align")
def test_reference_alignments_of_a_file(pairs, tmp_path):
    (tmp_path / "labelled.tsv").write_text("CC\tcc\t1\nAB\tcc\t0\nCBC\tcbc\t1\n")
    run("data", "align", tmp_path / "labelled.tsv", tmp_path / "out.pharaoh", "--more", pairs, "--heuristic", "union")
    lines = (tmp_path / "out.pharaoh").read_text().splitlines()
    assert len(lines) == 3
    assert lines[1] == ""  # no match, no links
    assert {"0-0", "2-2"} <= set(lines[2].split())
    with pytest.raises(UnknownNameError, match="heuristic: got 'onion'"):
        run("data", "align", pairs, tmp_path / "out.pharaoh", "--heuristic", "onion")


def test_cognate_pairs_of_a_word_list(tmp_path):
    words = [("L1", "hand", "h a n d", "1"), ("L2", "hand", "h a n t", "1"), ("L1", "foot", "f u t", "2")] * 4
    lines = ["DOCULECT\tCONCEPT\tTOKENS\tCOGID", *map("\t".join, words)]
    (tmp_path / "words.tsv").write_text("\n".join(lines))
    run("data", "cognates", tmp_path / "words.tsv", tmp_path / "pairs", "--held-out", 50)
    training = nsed.read_pairs(tmp_path / "pairs" / "training.tsv")
    assert len(training) == (8 * 8 + 4 * 4) * 11 - 100
    assert set(training.source_languages) == {"L1", "L2"}
    with pytest.raises(DataError, match=r"words.tsv:1: no column CLASS; there are: DOCULECT, CONCEPT, TOKENS, COGID"):
        run("data", "cognates", tmp_path / "words.tsv", tmp_path / "pairs", "--classes", "CLASS")


@pytest.fixture
def words(tmp_path):
    """A word list of twenty concepts in three languages; two of the words have one origin."""
    rows = [(f"L{n}", f"c{concept}", f"{concept} {n}", f"{concept}.{n > 1}") for concept in range(20) for n in range(3)]
    lines = ["DOCULECT\tCONCEPT\tTOKENS\tCOGID\tCLASS", *("\t".join([*row, row[3]]) for row in rows)]
    (tmp_path / "words.tsv").write_text("\n".join(lines))
    return tmp_path / "words.tsv"


def parts_of(folder):
    return [folder / f"{part}.tsv" for part in ("training", "validation", "test")]


@pytest.mark.parametrize(
    ("protocol", "options", "sizes"),
    [
        ("published", ["--held-out", 50], [1000, 50, 50]),
        ("published-fixed", ["--held-out", 50], [1000, 50, 50]),
        ("concepts", [], [42, 6, 12]),
        ("languages", ["--hold-out-language", "L1"], [18, 2, 40]),
    ],
)
def test_protocols_of_cognates(words, protocol, options, sizes):
    run("data", "cognates", words, words.parent / "pairs", "--protocol", protocol, *options)
    assert [len(nsed.read_pairs(path)) for path in parts_of(words.parent / "pairs")] == sizes


def test_cognates_of_two_families(words):
    other = words.parent / "other.tsv"
    other.write_text(words.read_text().replace(" ", " x "))
    run("data", "cognates", words, words.parent / "pairs", "--protocol", "families", "--test-list", other)
    training, validation, test = map(nsed.read_pairs, parts_of(words.parent / "pairs"))
    assert [len(training), len(validation), len(test)] == [54, 6, 60]
    assert all(" x " in source for source in test.sources)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--protocol", "concept"], "protocol: got 'concept', expected one of: .* Did you mean 'concepts'"),
        (["--protocol", "languages"], "--hold-out-language: got nothing, expected a value with --protocol languages"),
        (["--protocol", "families"], "--test-list: got nothing, expected a value with --protocol families"),
        (["--protocol", "concepts", "--held-out", 5], "--held-out: got 5, expected nothing with --protocol concepts"),
        (["--test-list", "x.tsv"], "--test-list: got x.tsv, expected nothing with --protocol published"),
        (
            ["--protocol", "published-fixed", "--classes", "CLASS"],
            "--classes: got CLASS, expected COGID with --protocol published-fixed",
        ),
    ],
)
def test_options_that_a_protocol_does_not_take_or_lacks(words, options, message):
    with pytest.raises(ArgumentError, match=message):
        run("data", "cognates", words, words.parent / "pairs", *options)
    assert not (words.parent / "pairs").exists()


def test_a_leaking_split_is_found_out(words):
    run("data", "cognates", words, words.parent / "pairs", "--held-out", 50)
    arguments = ["data", "check", *map(str, parts_of(words.parent / "pairs"))]
    shown = run(*arguments)
    assert re.search(r"positives +\d+ +\d+ +\d+\n", shown)
    assert re.search(r"[1-9]\d* leaks\n$", shown)
    report = json.loads(run(*arguments, "--json", "--symbols", "tokens"))
    assert report["leaks"] == sum(each["same_pairs"] + each["reversed_pairs"] for each in report["overlaps"]) > 0
    assert [each["tuned_on"] for each in report["controls"]] == ["validation.tsv"] * 2
    assert report["controls"][1]["chains"]["f1"] == 1
    assert CliRunner().invoke(app, [*arguments, "--strict"]).exit_code == 1


def test_an_honest_split_passes_the_strict_check(words):
    run("data", "cognates", words, words.parent / "pairs", "--protocol", "concepts")
    assert run("data", "check", *parts_of(words.parent / "pairs"), "--strict").endswith("no leak\n")


def test_the_check_of_files_in_two_folders_and_of_pairs_without_labels(tmp_path, pairs):
    (tmp_path / pairs.name).write_text("AB\tab\nneu\tnew\n" + pairs.read_text().splitlines()[0])
    shown = run("data", "check", pairs, tmp_path / pairs.name, "--json")
    report = json.loads(shown)
    assert [part["part"] for part in report["parts"]] == [str(pairs), str(tmp_path / pairs.name)]
    assert report["controls"] == []
    assert report["overlaps"][0]["same_source"] >= 1
    assert "sources, other target" in run("data", "check", pairs, tmp_path / pairs.name)
    with pytest.raises(ArgumentError, match=r"OTHERS: got .*, expected different files"):
        run("data", "check", pairs, pairs)
    with pytest.raises(DataError, match=r"none\.tsv: cannot be read: No such file"):
        run("data", "check", pairs, tmp_path / "none.tsv")


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


def test_exceptions_are_marked_in_the_output(transducer, tmp_path):
    (tmp_path / "fixes.tsv").write_text("CCB\tbbb\n")
    words = ["--text", "CCB", "--text", "CB", "--exceptions", tmp_path / "fixes.tsv"]
    lines = [line.split("\t") for line in run("transduce", transducer, *words).splitlines()]
    assert [(source, target, mark) for source, target, _, mark in lines] == [("CCB", "bbb", "1"), ("CB", "cb", "0")]
    shown = [
        json.loads(line) for line in run("transduce", transducer, *words, "--nbest", 2, "--format", "json").splitlines()
    ]
    assert [(one["target"], one["exception"]) for one in shown[:2]] == [("bbb", True), ("ccb", False)]
    assert shown[0]["log_prob"] == pytest.approx(nsed.load(transducer).score([("CCB", "bbb")])[0])
    with pytest.raises(ArgumentError, match=r"--exceptions: got .*, expected none beside --sample"):
        run("transduce", transducer, *words, "--sample", 2)


def test_a_target_that_cannot_be_written_has_no_probability_in_json(transducer, tmp_path):
    (tmp_path / "fixes.tsv").write_text("CCB\t?\n")
    shown = run("transduce", transducer, "--text", "CCB", "--exceptions", tmp_path / "fixes.tsv", "--format", "json")
    assert json.loads(shown) == {"source": "CCB", "target": "?", "log_prob": None, "exception": True}


def test_a_review_is_corrected_and_read_back_as_exceptions_and_as_training_pairs(transducer, tmp_path):
    path = tmp_path / "review.tsv"
    run("review", transducer, "-", "--top", 2, "-o", path, stdin="CCB\nCACAB\nCB\n")
    header, first, second = (line.split("\t") for line in path.read_text().splitlines())
    assert header == ["source", "target", "probability", "margin", "entropy", "answers"]
    assert float(first[2]) <= float(second[2])
    assert first[5].startswith(f"{first[1]} | ")
    path.write_text(path.read_text().replace(f"{first[0]}\t{first[1]}\t", f"{first[0]}\tabcab\t"))
    assert list(nsed.read_pairs(path)) == [(first[0], "abcab"), (second[0], second[1])]
    answer = run("transduce", transducer, "--text", first[0], "--exceptions", path)
    assert answer.split("\t")[1] == "abcab"
    run("train", path, tmp_path / "tuned", "--from", transducer, "--set", "train.steps=5")
    assert nsed.load(tmp_path / "tuned").config.encoder == nsed.load(transducer).config.encoder
    assert json.loads((tmp_path / "tuned" / "run.json").read_text())["pairs"] == {"training": 2, "validation": 2}


def test_a_review_of_pairs_shows_likely_errors_of_the_data(transducer, tmp_path):
    (tmp_path / "pairs.tsv").write_text("CB\tcb\nCCB\taaa\n")
    lines = run("review", transducer, tmp_path / "pairs.tsv", "--format", "json").splitlines()
    first, _ = map(json.loads, lines)
    assert (first["source"], first["target"]) == ("CCB", "aaa")
    assert first["answers"].startswith("ccb | ")
    assert first["disagreement"] > 1
    assert "disagreement" in run("review", transducer, tmp_path / "pairs.tsv", "--format", "table")
    with pytest.raises(ArgumentError, match="--format: got table, expected tsv or json beside --output"):
        run("review", transducer, tmp_path / "pairs.tsv", "--format", "table", "-o", tmp_path / "out.txt")


def test_what_cannot_be_reviewed_or_tuned_is_said(model, transducer, pairs, tmp_path):
    with pytest.raises(ArgumentError, match=r"MODEL: got .*, which gives no answers, expected a transducer or a"):
        run("review", model, pairs)
    with pytest.raises(ConfigError, match=r"encoder\.dim: got 8, expected \d+, as the model to start from has it"):
        run("train", pairs, tmp_path / "out", "--from", transducer, "--set", "encoder.dim=8")
    with pytest.raises(ArgumentError, match="--model: got matcher, expected transducer, as the model to start"):
        run("train", pairs, tmp_path / "out", "--from", transducer, "--model", "matcher")


def test_an_edit_distance_is_tuned_from_the_command_line(model, tmp_path):
    (tmp_path / "more.tsv").write_text("AB\tab\n")
    run("train", tmp_path / "more.tsv", tmp_path / "out", "--from", model)
    pair = nsed.read_pairs(tmp_path / "more.tsv")
    assert nsed.load(tmp_path / "out").score(pair) > nsed.load(model).score(pair)


def test_a_review_of_labelled_pairs_is_read_back_with_its_labels(tmp_path):
    run("data", "rules", "--count", 200, "--matching", "-o", tmp_path / "labelled.tsv")
    small = ["encoder.kind=cnn", "encoder.dim=16", "train.steps=10", "train.batch_pairs=32"]
    settings = [part for setting in small for part in ("--set", setting)]
    run("train", tmp_path / "labelled.tsv", tmp_path / "m", "--model", "matcher", *settings)
    run("review", tmp_path / "m", tmp_path / "labelled.tsv", "--top", 1000, "-o", tmp_path / "review.tsv")
    before, after = (nsed.read_pairs(tmp_path / name) for name in ("labelled.tsv", "review.tsv"))
    assert rows(before) == rows(after)


def rows(pairs):
    return sorted(zip(pairs.sources, pairs.targets, pairs.labels, strict=True))
