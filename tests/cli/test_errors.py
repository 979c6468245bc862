"""What is wrong is named in one line, whatever the terminal; closed pipes are quiet."""

import os
import subprocess

import pytest

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
    assert process.wait(timeout=120) in (0, 1)  # 1 where the answer was written after the pipe was closed
    assert err == "warning: 1 source symbol is unknown to the model, which reads <unk>: X\n"
