"""Folders that each version saved still load, and answer what they answered then."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import nsed
from golden import answers
from nsed.text import Vocabulary


def close(now, then):
    """Numbers as computers differ in them, everything else exactly."""
    if isinstance(then, float):
        return now == pytest.approx(then, rel=1e-4, abs=1e-5)
    if isinstance(then, list):
        return isinstance(now, list) and len(now) == len(then) and all(map(close, now, then))
    return now == then


KEPT = {version: json.loads(path.read_text(encoding="utf-8")) for version, (_, path) in answers.VERSIONS.items()}


OF_EVERY_VERSION = pytest.mark.parametrize(
    ("version", "name"), [(version, name) for version, of in KEPT.items() for name in sorted(of)]
)


@OF_EVERY_VERSION
@pytest.mark.filterwarnings("ignore::UserWarning")  # cut outputs are part of it
def test_models_of_every_version_answer_as_they_did(version, name):
    now, kept = answers.answers(nsed.load(answers.VERSIONS[version][0] / name)), KEPT[version][name]
    assert now.keys() == kept.keys()
    known = slice(len(answers.PAIRS) - 1)  # all but the last pair, whose symbols no model knows
    for verb, then in kept.items():
        assert close(now[verb][known], then[known]), f"{name}: {verb} has changed"


@OF_EVERY_VERSION
@pytest.mark.filterwarnings("ignore::UserWarning")  # unknown symbols and cut outputs are part of it
def test_only_the_kin_of_new_symbols_changes_an_answer(version, name, monkeypatch):
    monkeypatch.setattr(Vocabulary, "kin", lambda *_: {})  # they read all new symbols as <unk>
    now, kept = answers.answers(nsed.load(answers.VERSIONS[version][0] / name)), KEPT[version][name]
    for verb, then in kept.items():
        assert close(now[verb], then), f"{name}: {verb} has changed"


def test_the_comparison_sees_a_changed_number_and_a_changed_text():
    then = KEPT["0.1"]["transducer-exact"]["transduce, beam 1"]
    assert close(then, then)
    assert not close([[["x", then[0][0][1]]], *then[1:]], then)
    assert not close([[[then[0][0][0], then[0][0][1] - 1e-3]], *then[1:]], then)


def deepest_frame(ask):
    """How many frames of the package are on the stack at most while a verb answers."""
    base, deepest = str(Path(nsed.__file__).parent), 0

    def watch(frame, event, _):
        nonlocal deepest
        depth = 0
        while frame is not None:
            depth, frame = depth + frame.f_code.co_filename.startswith(base), frame.f_back
        deepest = max(deepest, depth if event == "call" else 0)

    sys.setprofile(watch)
    try:
        ask()
    finally:
        sys.setprofile(None)
    return deepest


def test_from_a_verb_to_the_arithmetic_it_is_nine_frames_at_most():
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from golden import test_golden as t; import nsed\n"
        "odds = t.answers.VERSIONS['1.0'][0]\n"
        "folders = (t.answers.FOLDERS / 'matcher-rnn', odds / 'odds', odds / 'odds-coherence')\n"
        "matcher, table, coherent = map(nsed.load, folders)\n"
        "g2p, names = nsed.load('g2p-en'), nsed.load('names')\n"
        "for ask in (lambda: matcher.score([('AB', 'ab')]), lambda: table.score([('AB', 'ab')]),\n"
        "            lambda: coherent.score([('AB', 'ab')]), lambda: names.score([('wien', 'вена')]),\n"
        "            lambda: table.match([('AB', 'ab')]), lambda: g2p.score([('cat', 'K AE T')]),\n"
        "            lambda: g2p.transduce(['cat']), lambda: g2p.transduce(['cat'], beam=1)):\n"
        "    ask()  # what is imported and compiled at first use is not the way of a call\n"
        "    print(t.deepest_frame(ask))"
    )
    tests = Path(__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", code, str(tests)], check=True, capture_output=True, text=True)
    assert max(map(int, done.stdout.split())) <= 9, done.stdout


def test_g2p_en_answers_2000_test_words_as_it_did(data_folder):
    lines = (data_folder / "g2p-cmudict" / "test.dict").read_text(encoding="utf-8").splitlines()
    now, then = answers.g2p_answers(lines), json.loads(answers.G2P.read_text(encoding="utf-8"))
    assert [hashed for hashed, *_ in now] == [hashed for hashed, *_ in then]
    for (_, *numbers), (_, *kept) in zip(now, then, strict=True):
        assert numbers == pytest.approx(kept, abs=2e-3)
