"""Folders that version 0.1 saved still load, and answer what they answered then."""

import json

import pytest

import nsed
from golden import answers


def close(now, then):
    """Numbers as computers differ in them, everything else exactly."""
    if isinstance(then, float):
        return now == pytest.approx(then, rel=1e-4, abs=1e-5)
    if isinstance(then, list):
        return isinstance(now, list) and len(now) == len(then) and all(map(close, now, then))
    return now == then


KEPT = json.loads(answers.ANSWERS.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", sorted(KEPT))
@pytest.mark.filterwarnings("ignore::UserWarning")  # unknown symbols and cut outputs are part of it
def test_models_of_version_0_1_answer_as_they_did(name):
    now = answers.answers(nsed.load(answers.FOLDERS / name))
    assert now.keys() == KEPT[name].keys()
    for verb, then in KEPT[name].items():
        assert close(now[verb], then), f"{name}: {verb} has changed"


def test_the_comparison_sees_a_changed_number_and_a_changed_text():
    then = KEPT["transducer-exact"]["transduce, beam 1"]
    assert close(then, then)
    assert not close([[["x", then[0][0][1]]], *then[1:]], then)
    assert not close([[[then[0][0][0], then[0][0][1] - 1e-3]], *then[1:]], then)


@pytest.mark.slow
def test_g2p_en_answers_2000_test_words_as_it_did(data_folder):
    lines = (data_folder / "g2p-cmudict" / "test.dict").read_text(encoding="utf-8").splitlines()
    now, then = answers.g2p_answers(lines), json.loads(answers.G2P.read_text(encoding="utf-8"))
    assert [hashed for hashed, *_ in now] == [hashed for hashed, *_ in then]
    for (_, *numbers), (_, *kept) in zip(now, then, strict=True):
        assert numbers == pytest.approx(kept, abs=2e-3)
