"""Overrides go over what a model says, and are told from it."""

import math

import pytest

import nsed
from nsed.errors import ArgumentError, DataError
from nsed.models.transduction import Overrides
from nsed.text import Pairs

FIXES = Pairs.of(
    [
        ("Featherstonehaugh", "F AE N SH AO"),
        ("read", "R IY D"),
        ("READ", "R EH D"),
        ("zzyzx", "Z AY Z IH K S !"),
    ]
)


@pytest.fixture(scope="module")
def model():
    return nsed.load("g2p-en")


def answers(model, sources, **options):
    return model.transduce(sources, overrides=Overrides(FIXES), **options)


def test_listed_sources_have_the_targets_of_the_file_whatever_their_case(model):
    (fanshaw,), (flags,), (read,) = answers(model, ["FEATHERSTONEHAUGH", "flags", "Read"])
    assert (fanshaw.text, fanshaw.override) == ("F AE N SH AO", True)
    assert (read.text, read.override) == ("R IY D", True)
    assert flags == model.transduce(["flags"])[0][0]
    assert not flags.override


def test_log_probabilities_are_the_models_own(model):
    ((fanshaw,), (unwritable,)) = answers(model, ["featherstonehaugh", "zzyzx"])
    assert fanshaw.log_prob == pytest.approx(model.score([("featherstonehaugh", "F AE N SH AO")])[0])
    assert fanshaw.log_prob < model.transduce(["featherstonehaugh"])[0][0].log_prob - 1
    assert (unwritable.text, unwritable.log_prob) == ("Z AY Z IH K S !", -math.inf)


def test_the_models_answers_follow_without_those_that_are_listed(model):
    (found,) = answers(model, ["read"], nbest=4)
    assert [one.text for one in found[:2]] == ["R IY D", "R EH D"]
    assert [one.override for one in found] == [True, True, False, False]
    assert len({one.symbols for one in found}) == 4
    assert [one for one in model.transduce(["read"], nbest=4)[0] if one.text not in ("R IY D", "R EH D")] == found[2:]


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        (
            "fixes.tsv",
            "source\ttarget\n\nread\tR EH D\nf\tEH F\nread\tR  EH D\n",
            "fixes.tsv:5: 'read' .* in line 3:",
        ),
        ("fixes.csv", "read,R EH D\nread,R EH D\n", "fixes.csv:2: 'read' .* in line 1:"),
        ("fixes.dict", ";;; mine\nREAD  R EH D\nREAD(2)  R EH D\n", "fixes.dict:3: 'READ' .* in line 2:"),
    ],
)
def test_a_target_that_is_listed_twice_is_named_with_its_lines(model, tmp_path, name, text, place):
    (tmp_path / name).write_text(text)
    overrides = nsed.Overrides.read(tmp_path / name)
    with pytest.raises(DataError, match=place):
        model.transduce(["x"], overrides=overrides)


def test_sources_that_differ_in_case_alone_may_have_the_same_target(model):
    given = Overrides(Pairs.of([("Read", "R EH D"), ("read", "R EH D"), ("READ", "R IY D")]))
    assert given.by_source(model.tokenizers) == {tuple("read"): ["R EH D", "R IY D"]}
    again = Overrides(Pairs.of([("Read", "R EH D"), ("read", "R EH D"), ("read", "R EH D")]))
    with pytest.raises(DataError, match="'read' has the target 'R EH D' already, in line 2"):
        again.by_source(model.tokenizers)


def test_of_labelled_pairs_those_that_match_are_overrides(model):
    labelled = Overrides(Pairs(["read", "read"], ["R IY D", "X"], [True, False]))
    assert labelled.by_source(model.tokenizers) == {tuple("read"): ["R IY D"]}


def test_overrides_in_python_are_pairs_of_any_form(model):
    pairs, wanted = [("read", "R EH D")], ["R EH D"]
    table = {"source": ["read"], "target": ["R EH D"]}
    for given in (pairs, Pairs.of(pairs), Overrides(Pairs.of(pairs)), dict(pairs), {"read": wanted}, table):
        found = model.transduce(["read"], overrides=given)[0]
        assert [one.text for one in found if one.override] == wanted
    for wrong in ({"read": "R EH D"}, pairs):  # were a ValueError and an AttributeError of Python, when they were used
        with pytest.raises(ArgumentError, match=r"pairs: got .*, expected nsed.Pairs. nsed.Overrides.of takes"):
            Overrides(wrong)
    for given in (3, {"read": 3}, ["read"]):
        with pytest.raises(ArgumentError):
            model.transduce(["read"], overrides=given)
