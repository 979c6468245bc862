"""The runtime stands alone: what it imports, what it says of folders that it cannot run, its command, its wheel."""

import json
import os
import shutil
import subprocess
import sys
import warnings
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

import nsed
import nsed_lite
from golden.answers import FOLDERS
from nsed.evaluate.calibration import Calibration
from nsed.models.matcher_mixture import MatcherMixture
from nsed_lite.__main__ import main
from nsed_lite.layers import Gru, gelu
from nsed_lite.model import Criterion
from nsed_lite.packed import Packed
from nsed_lite.symbols import Tokenizer

HERE = Path(__file__).parents[2]
LITE = HERE / "lite" / "src"
G2P = HERE / "src" / "nsed" / "models" / "shipped" / "g2p-en"


def test_it_imports_numpy_and_nothing_else_that_is_installed():
    paths = [str(LITE), str(Path(np.__file__).parents[1])]
    code = (
        f"import sys; sys.path[:0] = {paths}; import nsed_lite\n"
        "m = nsed_lite.load(sys.argv[1]); m.transduce(['cat']); m.align('cat', 'K AE T')\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-S", "-c", code, G2P], check=True, capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert "numpy" in loaded
    assert not loaded & {"torch", "nsed", "pyarrow", "numba", "safetensors", "rich", "typer", "yaml", "scipy"}
    assert {name for name in loaded - set(sys.stdlib_module_names) if not name.startswith("_")} <= {
        "numpy",
        "nsed_lite",
    }


@pytest.mark.parametrize("name", ["graphemes.py", "grapheme_data.py"])
def test_graphemes_are_those_of_the_package(name):
    ours = (LITE / "nsed_lite" / name).read_text(encoding="utf-8")
    theirs = (HERE / "src" / "nsed" / "text" / name).read_text(encoding="utf-8")
    assert ours == theirs.replace("nsed.text.", "nsed_lite."), f"copy src/nsed/text/{name} here"


def altered(tmp_path, change, name="transducer-exact"):
    folder = tmp_path / name
    shutil.copytree(FOLDERS / name, folder)
    description = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    change(description)
    (folder / "model.json").write_text(json.dumps(description), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda told: told.update(format=99), "format 99 is newer than this nsed-lite, .* upgrade it"),
        (lambda told: told.update(kind="oracle"), "'oracle'; nsed-lite runs .*transducer.* full package"),
        (lambda told: told.update(sha256="0"), "does not have the hash that model.json names.*: copy the folder again"),
        (lambda told: told.pop("config"), "incomplete or altered .*config"),
        (lambda told: told.update(weights="none.safetensors"), "weights cannot be read .*: copy the folder again"),
        (lambda told: told["config"]["encoder"].update(layers=2), "the tensor .* is missing"),
        (lambda told: told["config"]["encoder"].update(kind="unigram"), "tensors belong to no layer known here .*"),
        (lambda told: told["config"]["encoder"].update(kind="lstm"), "'lstm' is not known here, expected unigram"),
        (lambda told: told["config"].update(source_symbols="runes"), "'runes' are not known here, expected one of"),
        (lambda told: told["config"].update(source_symbols=None), "do not fit together: 'NoneType' object"),
        (lambda told: told["config"].update(beam=10**9), "beam: got 1000000000, expected a number from 1 to 1,000"),
        (lambda told: told["config"].update(longest_output="x"), "longest_output: got 'x', expected a number from 1"),
        (lambda told: told["config"].update(length_penalty=float("nan")), "length_penalty: got nan, expected a number"),
        (lambda told: told["config"]["encoder"].update(layers=10**9), "layers: got 1000000000, expected at most 256"),
        (lambda told: told.update(kind=["transducer"]), r"holds a model of kind \['transducer'\]; nsed-lite runs"),
        (lambda told: told.update(record=0.5), "incomplete or altered .record is no dict"),
        (lambda told: told.update(config=[]), "incomplete or altered .config is no dict"),
        (lambda told: told.update(weights="x" * 5000), "weights cannot be read .File name too long.: copy"),
        (lambda told: told["vocabularies"].update(target=[1]), "vocabulary target is no list of strings, each of them"),
        (lambda told: told["vocabularies"]["target"].append("new"), "operations of . target symbols, expected .,"),
    ],
)  # fmt: skip
def test_folders_that_cannot_be_run_say_why_and_what_to_do(change, message, tmp_path):
    with pytest.raises(nsed_lite.ModelFolderError, match=message):
        nsed_lite.load(altered(tmp_path, change))


def test_a_mixture_with_a_baseline_names_the_full_package_as_the_way_out(tmp_path):
    """It was told that the parts of the model do not fit together, as of a damaged one."""
    MatcherMixture([nsed.load(FOLDERS / name) for name in ("matcher-rnn", "levenshtein")]).save(tmp_path)
    expected = r"a mixture with a member of kind 'levenshtein'; nsed-lite runs .*odds: load it with the full package"
    with pytest.raises(nsed_lite.ModelFolderError, match=expected) as told:
        nsed_lite.load(tmp_path)
    assert "do not fit together" not in str(told.value)


def test_what_is_no_folder_says_so(tmp_path):
    with pytest.raises(nsed_lite.ModelFolderError, match=r"no model here.*give the path of a folder that `nsed train`"):
        nsed_lite.load("g2p-en")
    (tmp_path / "model.json").write_text("{", encoding="utf-8")
    with pytest.raises(nsed_lite.ModelFolderError, match="truncated or no JSON"):
        nsed_lite.load(tmp_path)
    (tmp_path / "model.json").write_text("[]", encoding="utf-8")
    with pytest.raises(nsed_lite.ModelFolderError, match="no model description"):
        nsed_lite.load(tmp_path)


def with_weights(folder, change):
    """Other weights, of which the description knows."""
    (path,) = folder.glob("*.safetensors")
    path.write_bytes(change(path.read_bytes()))
    description = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    description["sha256"] = sha256(path.read_bytes()).hexdigest()
    (folder / "model.json").write_text(json.dumps(description), encoding="utf-8")


def other_header(change):
    """Change of the header of a safetensors file."""

    def change_content(content):
        start = 8 + int.from_bytes(content[:8], "little")
        header = json.loads(content[8:start])
        change(header["projection.linear.bias"])
        text = json.dumps(header).encode()
        return len(text).to_bytes(8, "little") + text + content[start:]

    return change_content


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content[:-1], "has not the size that its header tells"),
        (lambda content: content[:-2] + b"\xff\x7f", "has NaN or infinite values"),
        (other_header(lambda told: told.update(shape=[2], data_offsets=[0, 8])), "do not fit together: operands"),
        (other_header(lambda told: told.update(dtype="I8")), "numbers of type I8, expected one of F16"),
        (other_header(lambda told: told.update(data_offsets=[-8, 0])), "'projection.linear.bias' lies outside of the"),
        (lambda content: b"\xff" * 8 + content[8:], "incomplete or altered"),
        (lambda content: (2).to_bytes(8, "little") + b"[]", "incomplete or altered"),
    ],
)  # fmt: skip
def test_weights_that_cannot_be_used_are_refused_when_they_are_loaded(change, message, tmp_path):
    folder = altered(tmp_path, lambda told: None)
    with_weights(folder, change)
    with pytest.raises(nsed_lite.ModelFolderError, match=message):
        nsed_lite.load(folder)


@pytest.mark.parametrize("name", ["model.json", "weights"])
def test_pipes_and_files_without_end_are_refused_without_being_read(name, tmp_path):
    folder = altered(tmp_path, lambda told: None)
    path = next(folder.glob(f"{name}*"))
    os.truncate(path, 10**11)
    with pytest.raises(nsed_lite.ModelFolderError, match=r"truncated|has not the size that its header tells"):
        nsed_lite.load(folder)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(nsed_lite.ModelFolderError, match=r"cannot be read .no regular file"):
        nsed_lite.load(folder)


def test_a_criterion_that_is_none_and_weights_too_large_are_refused(tmp_path):
    folder = altered(tmp_path, lambda told: told["record"].update(threshold="high"), "matcher-unigram")
    with pytest.raises(nsed_lite.ModelFolderError, match=r"calibration: got 'high', .* expected numbers"):
        nsed_lite.load(folder)
    huge = altered(tmp_path / "huge", lambda told: None, "matcher-unigram")
    with_weights(huge, lambda all_: all_[: 8 + int.from_bytes(all_[:8], "little")].ljust(len(all_), b"\x7e"))
    with pytest.raises(nsed_lite.ModelFolderError, match=r"not a number .NaN.: its weights are damaged, or too large"):
        nsed_lite.load(huge)


@pytest.mark.parametrize("form", ["score", "log-odds", "beta"])
def test_calibrations_of_all_forms_are_read_those_of_trained_odds_too(form):
    theirs = Calibration(1.5, -0.5, form, 0.4 if form == "beta" else 0.0)
    ours = Criterion.of(-1.0, *theirs.record)
    scores = np.array([-np.inf, -1e30, -3.0, -0.1, 0.0, *([] if form == "log-odds" else [2.0, 50.0]), np.inf])
    np.testing.assert_allclose(ours.probability(scores), theirs.probability(scores))


@pytest.fixture(scope="module")
def exact():
    return nsed_lite.load(FOLDERS / "transducer-exact")


def test_wrong_questions_are_answered_with_what_is_expected(exact):
    with pytest.raises(TypeError, match=r"sources: got 'AB', expected a list of strings"):
        exact.transduce("AB")
    with pytest.raises(ValueError, match="nbest, beam: got 0, None, expected at least 1"):
        exact.transduce(["AB"], nbest=0)
    with pytest.raises(TypeError, match=r"pairs: got 'AB', expected pairs of strings"):
        exact.score(["AB"])
    with pytest.raises(ValueError, match="this Transducer has scores, but no threshold to decide by"):
        exact.match([("A", "a")])
    with pytest.raises(ValueError, match=r"expected one of none: the model was trained without languages"):
        exact.for_language("cs")
    with pytest.raises(ValueError, match=r"got 2,999 and 2,999 symbols in pair 1, expected at most 4,194,304 cells"):
        exact.score([("A", "a"), ("A" * 2999, "a" * 2999)])
    with pytest.raises(ValueError, match="a string is too long for the model: got 200 symbols, expected at most 128"):
        nsed_lite.load(FOLDERS / "transducer-paper").score([("A" * 200, "a")])


def test_nothing_asked_is_nothing_answered(exact):
    assert exact.transduce([]) == []
    assert exact.score([]).shape == (0,)
    assert exact.align_all([]) == []


def test_one_warning_names_all_symbols_that_are_new(exact):
    with pytest.warns(nsed_lite.UnknownSymbolWarning, match="2 source symbols are unknown to the model: x ž"):
        exact.transduce(["ABx", "žA", "x"])


def test_order_and_company_of_words_change_nothing(exact):
    words = ["ABCABC", "A", "", "CCB", "ABC", "BA"] * 3
    together = exact.transduce(words, nbest=3)
    alone = [exact.transduce([word], nbest=3)[0] for word in words]
    for few, others in zip(together, alone, strict=True):
        assert [one.text for one in few] == [one.text for one in others]
        assert np.allclose([one.log_prob for one in few], [one.log_prob for one in others], atol=1e-5)


@pytest.mark.parametrize("backwards", [False, True])
def test_what_strings_have_in_common_is_read_once_with_the_same_result(backwards):
    random = np.random.default_rng(0)
    shapes = {"weight_ih_l0": (24, 8), "weight_hh_l0": (24, 8), "bias_ih_l0": (24,), "bias_hh_l0": (24,)}
    tensors = {f"gru.{name}": random.normal(size=size).astype(np.float32) for name, size in shapes.items()}
    gru = Gru(nsed_lite.folder.Weights(tensors), "gru")
    strings = Packed([[4, 5, 4, 6], [4, 5, 5], [4, 5, 5], [6, 4], [6], []])
    table = gru.input(random.normal(size=(7, 8)).astype(np.float32))
    found = np.zeros((2, len(strings.symbols), 8), dtype=np.float32)
    gru.read(table[strings.symbols], strings, found[0], backwards=backwards)
    gru.read_shared(table, strings, np.eye(8, dtype=np.float32), found[1], backwards=backwards)
    assert np.allclose(found[0], found[1], atol=1e-6)


def test_packed_strings_come_back_as_they_were():
    strings = [[4, 5, 6], [7, 8], [9, 4], [], []]
    packed = Packed(strings)
    padded = packed.padded(packed.symbols)
    assert [row[: len(string)].tolist() for row, string in zip(padded, strings, strict=True)] == strings
    assert packed.unpadded(padded).tolist() == packed.symbols.tolist() == [4, 7, 9, 5, 8, 4, 6]


def test_gelu_is_that_of_torch():
    import torch

    x = np.linspace(-6, 6, 1001, dtype=np.float32)
    assert np.abs(gelu(x) - torch.nn.functional.gelu(torch.from_numpy(x)).numpy()).max() < 1e-6


def test_symbols_are_cut_and_joined():
    assert Tokenizer.of("codepoints", "NFD", "keep", "ae\u0301").split("áé") == ["a", "\u0301", "e", "\u0301"]
    assert Tokenizer.of("codepoints", "NFD", "keep", "").join(["e", "\u0301"]) == "é"
    assert Tokenizer.of("tokens", "NFC", "keep", "").join(["K", "AE"]) == "K AE"


def test_the_command_answers_words_and_pairs(capsys, monkeypatch):
    folder = str(FOLDERS / "transducer-exact")
    assert main(["transduce", folder, "ABC", "--beam", "1"]) == 0
    source, target, log_prob = capsys.readouterr().out.split("\t")
    (best,) = nsed_lite.load(folder).transduce(["ABC"], beam=1)[0]
    assert (source, target, float(log_prob)) == ("ABC", best.text, pytest.approx(best.log_prob, rel=1e-5))
    assert main(["score", folder, "A=a"]) == main(["align", folder, "A=a"]) == 0
    assert main(["match", str(FOLDERS / "matcher-rnn"), "A=a"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3
    monkeypatch.setattr("sys.stdin", iter(["A\ta\n", "B\tb\n"]))
    assert main(["score", folder]) == 0
    assert [line.split("\t")[:2] for line in capsys.readouterr().out.splitlines()] == [["A", "a"], ["B", "b"]]


def test_warnings_of_the_command_have_no_line_of_its_code(capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main(["transduce", str(FOLDERS / "transducer-exact"), "ABx", "--beam", "1"]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("nsed-lite: warning: 1 source symbol is unknown")


def test_the_command_says_what_is_wrong(capsys):
    assert main(["transduce", str(FOLDERS / "matcher-rnn"), "A"]) == 1
    assert "this model writes no targets; expected a transducer or a mixture" in capsys.readouterr().err
    assert main(["score", str(FOLDERS / "matcher-rnn"), "A"]) == 1
    assert "got 'A', expected a pair: SOURCE=TARGET" in capsys.readouterr().err
    assert main(["score", "nowhere", "A=a"]) == 1
    assert "no model here" in capsys.readouterr().err


def test_letters_with_new_marks_are_read_as_the_letters_and_the_warning_says_so(exact):
    with pytest.warns(
        nsed_lite.UnknownSymbolWarning, match=r"^1 source symbol is unknown to the model, which reads Á as A$"
    ):
        found = exact.transduce(["ÁB"])
    assert found == exact.transduce(["AB"])
    with pytest.warns(
        nsed_lite.UnknownSymbolWarning, match=r"^2 .* to the model, which reads Á as A, and <unk> for: x$"
    ):
        exact.score([("ÁxB", "ab")])


def test_the_command_takes_the_language_for_pairs_too_and_refuses_one_that_says_nothing(tmp_path, capsys):
    words = nsed.Pairs(["gray", "say"] * 2, ["grey", "sey"] * 2, source_languages=["de", "cs"] * 2)
    settings = {"encoder__dim": 8, "train__steps": 1, "longest_output": 8}
    nsed.Transducer.fit(words, validation=words, languages=True, **settings).save(tmp_path)
    for verb in ("score", "align", "transduce"):
        strings = ["gray"] if verb == "transduce" else ["gray=grey"]
        assert main([verb, str(tmp_path), *strings, "--language", "cs"]) == 0, capsys.readouterr().err
    capsys.readouterr()
    assert main(["score", str(tmp_path), "gray=grey", "--language", "cs"]) == 0
    scored = float(capsys.readouterr().out.split("\t")[2])
    assert scored == pytest.approx(float(nsed.load(tmp_path).for_language("cs").score([("gray", "grey")])[0]), rel=1e-4)
    assert main(["match", str(FOLDERS / "matcher-rnn"), "A=a", "--language", "cs"]) == 1
    assert "--language: got 'cs', expected none: only a transducer" in capsys.readouterr().err


def test_the_command_ends_quietly_where_nobody_reads_on():
    command = [sys.executable, "-m", "nsed_lite", "score", str(FOLDERS / "edit-distance")]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(LITE)},
    )
    process.stdout.close()
    process.stdin.write(b"A\ta\n" * 2000)
    process.stdin.close()
    assert (process.stderr.read(), process.wait()) == (b"", 0)
    process.stderr.close()
