"""The edit script and its renderings tell the same story."""

import difflib
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Opcodes
from rich.console import Console

from nsed.errors import ArgumentError
from nsed.text import Edit, EditScript

letters = st.sampled_from("abcde")
moves = st.lists(
    st.one_of(
        st.tuples(st.just("delete"), letters, st.just("")),
        st.tuples(st.just("insert"), st.just(""), letters),
        st.tuples(st.just("substitute"), letters, letters),
    ),
    max_size=12,
)


def script_of(chosen):
    edits, i, j = [], 0, 0
    for kind, source, target in chosen:
        edits.append(Edit(kind, source, target, i, j, 0.5))
        i, j = i + bool(source), j + bool(target)
    return EditScript(tuple(edits), log_weight=-3.5, share=0.25)


@given(moves)
def test_source_and_target_are_what_the_moves_read_and_write(chosen):
    script = script_of(chosen)
    assert "".join(script.source) == "".join(source for _, source, _ in chosen)
    assert "".join(script.target) == "".join(target for _, _, target in chosen)


@given(moves)
def test_opcodes_turn_source_into_target_like_those_of_difflib(chosen):
    script = script_of(chosen)
    rebuilt = []
    for tag, i1, i2, j1, j2 in script.opcodes():
        assert tag in ("equal", "replace", "delete", "insert")
        if tag == "equal":
            assert script.source[i1:i2] == script.target[j1:j2]
        rebuilt += script.source[i1:i2] if tag == "equal" else script.target[j1:j2]
        assert (i1 == i2) == (tag == "insert")
        assert (j1 == j2) == (tag == "delete")
    assert tuple(rebuilt) == script.target


@given(moves)
def test_opcodes_are_accepted_by_rapidfuzz(chosen):
    script = script_of(chosen)
    source, target = "".join(script.source), "".join(script.target)
    assert Opcodes(script.opcodes(), len(source), len(target)).apply(source, target) == target


def test_opcodes_have_the_shape_of_difflib():
    script = script_of([("substitute", "a", "a"), ("substitute", "b", "b"), ("delete", "c", "")])
    assert script.opcodes() == difflib.SequenceMatcher(None, "abc", "ab").get_opcodes()


@given(moves)
def test_json_brings_the_script_back(chosen):
    script = script_of(chosen)
    assert EditScript.from_json(script.to_json()) == script
    assert json.loads(script.to_json())["share"] == 0.25


@given(moves)
def test_pharaoh_links_are_the_substitutions(chosen):
    script = script_of(chosen)
    links = [link.split("-") for link in script.pharaoh().split()]
    assert len(links) == sum(kind == "substitute" for kind, _, _ in chosen)
    substituted = [edit for edit in script if edit.kind == "substitute"]
    for (i, j), edit in zip(links, substituted, strict=True):
        assert (script.source[int(i)], script.target[int(j)]) == (edit.source, edit.target)


def test_text_and_table():
    script = script_of([("delete", "k", ""), ("substitute", "n", "n"), ("substitute", "i", "AY"), ("insert", "", " ")])
    assert str(script) == "-k n i→AY +␣"
    assert script.to_table() == "k n i  ·\n· n AY ␣"


def test_terminals_get_the_same_text_in_colour():
    script = script_of([("delete", "k", ""), ("substitute", "n", "N"), ("insert", "", "e"), ("substitute", "t", "t")])
    stream = io.StringIO()
    Console(file=stream, force_terminal=True, color_system="standard").print(script)
    assert stream.getvalue() == "\x1b[31m-k\x1b[0m \x1b[33mn→N\x1b[0m \x1b[32m+e\x1b[0m t\n"


@pytest.mark.parametrize(
    ("symbol", "shown"),
    [
        (" ", "␣"),
        ("\t", r"\t"),
        ("\x00", r"\x00"),
        ("\ud800", r"\ud800"),
        ("\u200b", r"\u200b"),
        ("ی\u200c", "\u2068ی\\u200c\u2069"),
        ("\u202e", r"\u202e"),
        ("\u0301", "◌\u0301"),
        ("ب", "\u2068ب\u2069"),
        ("[red]", "[red]"),
        ("👩‍🚀", "👩‍🚀"),
    ],
)
def test_every_symbol_can_be_shown(symbol, shown):
    assert str(Edit("delete", symbol, "", 0, 0)) == "-" + shown


def test_markup_in_symbols_is_not_obeyed():
    stream = io.StringIO()
    Console(file=stream, width=80).print(EditScript((Edit("delete", "[bold]", "", 0, 0),)))
    assert stream.getvalue() == "-[bold]\n"


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "null", "{}", "[" * 100_000, '{"edits": [1], "log_weight": 0, "share": 1}'),
        '{"edits": [], "log_weight": "x", "share": 1}',
        '{"edits": [{"kind": "swap", "source": "a", "target": "b", "i": 0, "j": 0}], "log_weight": 0, "share": 1}',
        '{"edits": [{"kind": "insert", "source": "", "target": 5, "i": 0, "j": 0}], "log_weight": 0, "share": 1}',
        '{"edits": [{"kind": "insert", "source": "", "target": "b", "i": 0.5, "j": 0}], "log_weight": 0, "share": 1}',
    ],
)
def test_json_of_something_else_is_no_script(text):
    with pytest.raises(ArgumentError, match=r"text: got something else \(\w+: .*\), expected what EditScript.to_json"):
        EditScript.from_json(text)
