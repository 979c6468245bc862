"""What is wrong is named in one line, whatever the terminal; closed pipes are quiet."""

import os
import re
import resource
import subprocess

import pytest
from typer.testing import CliRunner

from nsed.__main__ import app
from nsed.errors import ArgumentError, ConfigError, DataError, ModelFileError, UnknownNameError
from support.commands import nsed_process, run

WRONG = {
    "no such model kind": (["train", "--model", "matchr", "--print-config"], UnknownNameError, "--model: got 'matchr'"),
    "no folder": (["train", "x.tsv"], ArgumentError, "PAIRS and OUTPUT: got one of them, expected a file"),
    "attention": (
        ["train", "--model=transducer", "--set=target_attention=true", "--set=encoder.kind=cnn", "--print-config"],
        ConfigError,
        "target_attention: got True, expected False with encoder.kind cnn; rnn, transformer can",
    ),
    "settings": (["train", "--set", "iteration=3", "--print-config"], ConfigError, "did you mean 'iterations'"),
    "date": (["train", "--set=iterations=2001-13-45", "--print-config"], ConfigError, "iterations: got '2001-13-45'"),
    "wide beam": (
        ["transduce", "TRANSDUCER", "--text=A", "--beam=1000000"],
        ArgumentError,
        "beam: got 1000000, .*1,000",
    ),
    "wide beam to train": (
        ["train", "--model=transducer", "--set=beam=1000000", "--print-config"],
        ConfigError,
        "beam: got 1000000, expected at least 1 and at most 1,000",
    ),
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
        "cannot be the folder of a training: Not a directory",
    ),
    "one file to check": (
        ["data", "check", "PAIRS"],
        ArgumentError,
        "OTHERS: got none, expected the file to test with",
    ),
    "mixture of a table": (
        ["mix", "new", "TRANSDUCER", "MODEL"],
        ArgumentError,
        "transducers only, or only models that",
    ),
    "nothing to score": (["score", "MODEL"], ArgumentError, "PAIRS or --pair: got neither, expected one of them"),
    "a file where the model belongs": (
        ["score", "PAIRS", "MODEL"],
        ModelFileError,
        "a file; the folder of a model comes first",
    ),
    "too much": (["score", "MODEL", "PAIRS", "--pair", "a", "b"], ArgumentError, "PAIRS or --pair: got both"),
    "column": (["align", "MODEL", "PAIRS", "--columns", "a,b"], DataError, r"rules\.tsv:1: no column named 'a', 'b'"),
    "output": (["score", "MODEL", "PAIRS", "-o", "/no/such/file"], DataError, "/no/such/file: cannot be written"),
    "too long": (["score", "MODEL", "--pair", "A" * 10_000, "a" * 10_000], ArgumentError, "10,000 x 10,000 symbols"),
}


@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")  # the tab is one
@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named(model, transducer, pairs, case):
    arguments, error, message = WRONG[case]
    given = [
        {"MODEL": model, "TRANSDUCER": transducer, "PAIRS": pairs}.get(argument, argument) for argument in arguments
    ]
    with pytest.raises(error, match=message):
        run(*given)


def test_two_pairs_by_options_are_refused_as_the_first_would_be_lost(model, monkeypatch):
    given = ["score", model, "--pair", "A", "a", "--pair", "B", "b"]
    monkeypatch.setattr("sys.argv", ["nsed", *map(str, given)])
    with pytest.raises(ArgumentError, match="--pair: got 2 of them, expected one"):
        run(*given)


@pytest.mark.slow
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


@pytest.mark.slow
def test_terminals_without_unicode_get_escapes(model):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    process = nsed_process("align", model, "--pair", "A", "a", stdout=subprocess.PIPE, text=True, env=environment)
    assert process.communicate(timeout=120)[0] == "A\\u2192a\n"


@pytest.mark.slow
@pytest.mark.parametrize("command", ["score", "explain"])  # the latter reads the pair twice
def test_warnings_are_short_and_closed_pipes_quiet(command, model):
    process = nsed_process(
        command, model, "--pair", "AX", "a", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdout.close()
    with process.stderr:
        err = process.stderr.read()
    assert process.wait(timeout=120) == 0
    assert err == "warning: 1 source symbol is unknown to the model, which reads <unk>: X\n"


@pytest.mark.slow
def test_match_into_head_ends_with_status_0(matcher, tmp_path):
    """The output is larger than a pipe holds: the command writes when `head` has gone."""
    (tmp_path / "pairs.tsv").write_text("CC\tcc\n" * 20_000)
    process = nsed_process(
        "match", matcher, tmp_path / "pairs.tsv", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "source\ttarget\tmatch\tprobability\n"
    process.stdout.close()
    with process.stderr:
        assert re.fullmatch(r"match: probability of at least .*, the model's threshold\n", process.stderr.read())
    assert process.wait(timeout=120) == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.slow
def test_standard_output_on_a_full_disk_is_no_traceback(model):
    with open("/dev/full", "w") as full:
        process = nsed_process("operations", model, stdout=full, stderr=subprocess.PIPE, text=True)
        err = process.communicate(timeout=120)[1]
    assert (process.returncode, err) == (2, "error: the output is not complete: No space left on device\n")


@pytest.mark.parametrize(
    ("command", "others", "meant"),
    [
        (["join"], "demo, train, evaluate", None),
        (["trian"], "serve, data", "train"),
        (["data", "lst"], "list", "list"),
    ],
)
def test_a_command_that_there_is_not_is_not_taken_for_another(command, others, meant):
    result = CliRunner().invoke(app, command)
    said = " ".join(result.output.replace("│", "").split())
    assert result.exit_code == 2
    assert f"There is no command '{command[-1]}'." in said
    assert ("Did you mean" in said) == (meant is not None)
    assert meant is None or f"Did you mean '{meant}'?" in said
    assert f"There are: {others}" in said or others in said


@pytest.fixture
def small_disk():
    """No file may grow beyond 20 kB, as if the disk were full then."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("name", ["out.tsv", "out.parquet"])
def test_a_full_disk_leaves_no_half_file_under_the_name(name, tmp_path, small_disk):
    arguments = ["data", "rules", "--count", 5000, "--longest", 20, "-o", tmp_path / name]
    with pytest.raises(DataError, match=r"cannot be written: .*; nothing is left under this name"):
        run(*arguments)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / name).write_text("before")
    with pytest.raises(DataError, match=r"cannot be written: .*; what was there before is unchanged"):
        run(*arguments)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(name, "before")]


def test_an_output_takes_the_place_of_a_file_with_its_mode_and_its_link(tmp_path):
    (tmp_path / "real.tsv").write_text("before")
    (tmp_path / "real.tsv").chmod(0o640)
    (tmp_path / "link.tsv").symlink_to("real.tsv")
    run("data", "rules", "--count", 2, "-o", tmp_path / "link.tsv")
    assert (tmp_path / "link.tsv").is_symlink()
    assert len((tmp_path / "real.tsv").read_text().splitlines()) == 2
    assert (tmp_path / "real.tsv").stat().st_mode & 0o777 == 0o640


WORD_LIST = "ID\tDOCULECT\tCONCEPT\tTOKENS\n1\tDutch\thand\th ɑ n t\n2\tGerman\thand\th a n t\n"
OVERWRITING = {
    "score": ["score", "MODEL", "INPUT", "-o", "INPUT"],
    "score with skipped rows": ["score", "MODEL", "INPUT", "-o", "INPUT", "--on-error", "skip"],
    "score of a glob": ["score", "MODEL", "FOLDER/*.tsv", "-o", "INPUT"],
    "score of a folder": ["score", "MODEL", "FOLDER", "-o", "INPUT"],
    "score by another name": ["score", "MODEL", "INPUT", "-o", "LINK"],
    "rejects": ["score", "MODEL", "INPUT", "--rejects", "INPUT"],
    "transduce": ["transduce", "TRANSDUCER", "INPUT", "-o", "INPUT"],
    "overrides": ["transduce", "TRANSDUCER", "--text", "a", "--overrides", "INPUT", "-o", "INPUT"],
    "align": ["align", "MODEL", "INPUT", "-o", "INPUT"],
    "review": ["review", "TRANSDUCER", "INPUT", "-o", "INPUT"],
    "lexicon": ["lexicon", "TRANSDUCER", "INPUT", "-o", "INPUT"],
    "evaluate": ["evaluate", "MODEL", "INPUT", "--html", "INPUT"],
    "explain": ["explain", "MODEL", "INPUT", "--html", "INPUT"],
    "threshold": ["threshold", "MODEL", "INPUT", "-o", "INPUT"],
    "candidates": ["candidates", "INPUT", "INPUT", "-o", "INPUT"],
    "mined pairs": ["candidates", "INPUT", "--recall", "INPUT", "--mine", "INPUT"],
    "labels of duplicates": ["dedupe", "WORDS", "--on", "TOKENS=MODEL", "--labels", "INPUT", "-o", "INPUT"],
    "cluster": ["cluster", "levenshtein", "WORDS", "-o", "WORDS"],
    "parts of cognates": ["data", "cognates", "FOLDER/training.tsv", "FOLDER"],
    "figures of clusters": ["cluster", "levenshtein", "WORDS", "--figures", "WORDS"],
}


def test_two_outputs_of_one_name_are_refused_and_paths_that_cannot_be_are_errors(model, tmp_path):
    data = tmp_path / "pairs.tsv"
    data.write_text("source\ttarget\tlabel\nABC\tabc\t1\n", encoding="utf-8")
    with pytest.raises(DataError, match="two outputs have this name"):
        run("score", model, data, "--rejects", tmp_path / "a.tsv", "-o", tmp_path / "." / "a.tsv")
    run("score", model, data, "--rejects", "/dev/null", "-o", "/dev/null", "--format", "tsv")
    with pytest.raises(DataError, match="cannot be read: File name too long"):
        run("evaluate", model, "x" * 300 + ".tsv")


@pytest.mark.parametrize("case", OVERWRITING)
def test_an_output_that_is_an_input_is_refused_and_the_input_is_as_it_was(model, transducer, tmp_path, case):
    data, words, link = (tmp_path / name for name in ("pairs.tsv", "words.tsv", "link.tsv"))
    data.write_text("source\ttarget\tlabel\nABC\tabc\t1\nAB\tcc\t0\n", encoding="utf-8")
    words.write_text(WORD_LIST, encoding="utf-8")
    link.symlink_to(data)
    (tmp_path / "training.tsv").write_text(WORD_LIST, encoding="utf-8")
    named = {"MODEL": model, "TRANSDUCER": transducer, "INPUT": data, "WORDS": words, "LINK": link, "FOLDER": tmp_path}
    given = [re.sub("|".join(named), lambda found: str(named[found[0]]), argument) for argument in OVERWRITING[case]]
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(DataError, match=r"(pairs|words|link|training)\.tsv: this output is an input too"):
        run(*given)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
