"""The report of many pairs tells what the models tell of each, and no string can act in it."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nsed
from nsed.config import from_mapping
from nsed.explain.explanation import ExplanationSummary
from nsed.explain.render.report_page import report_page
from nsed.models.pair_model import Criterion
from nsed.text import Edit, EditScript, Pairs
from nsed.text.visible import drawn
from support import parsed_back
from support.pages import Page

WORDS = [("read", "R IY D"), ("thought", "TH AO T"), ("Ax", "AE K S"), ("flagships", "F L AE G SH IH P S"), ("a", "")]
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'--></style></title>&amp;<!--",
    "</td></tr>",
    "\x00\x1b[31m\ud800\u202e\u2066evil",
    "مرحبا",
    "ˈt͡ʃɪɫ̥",
    "−",
    "=",
    "+",
]


@pytest.fixture(scope="module")
def g2p():
    return nsed.load("g2p-en")


@pytest.fixture(scope="module")
def matcher():
    """Without training: what it decides is not the point."""
    encoder = {"kind": "cnn", "dim": 16, "layers": 1, "dropout": 0.0}
    config = from_mapping(nsed.MatcherConfig, {"encoder": encoder, "train": {"device": "cpu"}})
    raw = nsed.Matcher._untrained(Pairs.of([("ABC", "abc")], [True]), config)
    pairs = [("ABC", "ab"), ("B", "b"), ("", "c"), ("CC", "aca"), ("BA", "ba")]
    middle = sorted(raw.score(pairs))[2]
    return nsed.Matcher(raw.network, raw.tokenizers, config, criterion=Criterion.at(middle)), pairs


@pytest.fixture(scope="module", params=["g2p", "matcher", "edit distance"])
def explained(request, g2p, matcher):
    """A model and pairs."""
    table = nsed.LearnableEditDistance.fit(Pairs.of([("ab", "b"), ("a b", "ab")]))
    return {"g2p": (g2p, WORDS), "matcher": matcher, "edit distance": (table, [("ab", "ba"), ("", ""), ("a b", "")])}[
        request.param
    ]


def page_of(summaries, title="t"):
    return "".join(report_page(summaries, title=title))


def outline_of(name, decision=None):
    edits = (
        Edit("substitute", name, name, 0, 0),
        Edit("substitute", "a", name, 1, 1, 0.5),
        Edit("delete", name, "", 2, 2, 0.00001),
        Edit("insert", "", name, 3, 2),
    )
    return ExplanationSummary(name, name, EditScript(edits, -1.0, 0.75), -0.5, 0.25, decision)


def test_outlines_say_what_explanations_say(explained):
    model, pairs = explained
    for short, full, pair in zip(model.summarize_all(pairs), model.explain_all(pairs), pairs, strict=True):
        assert (short.source, short.target) == pair
        assert str(short.script) == str(full.script)
        assert [edit.probability for edit in short.script] == pytest.approx(
            [edit.probability for edit in full.script], abs=1e-4
        )
        assert short.log_prob == pytest.approx(full.log_prob, abs=1e-4)
        assert short.entropy == pytest.approx(full.entropy, abs=1e-4)
        assert (short.decision is None) == (full.decision is None)
        if full.decision is not None:
            assert short.probability == pytest.approx(full.decision.probability, abs=1e-4)


def test_outlines_have_the_scores_and_decisions_of_the_model(matcher):
    model, pairs = matcher
    summaries = model.summarize_all(pairs)
    assert [one.log_prob for one in summaries] == model.score(pairs).tolist()
    assert [one.decision.match for one in summaries] == model.match(pairs).tolist()
    assert {one.decision.match for one in summaries} == {True, False}


def test_a_report_reads_back_as_the_scripts_of_the_model(explained):
    model, pairs = explained
    summaries = model.summarize_all(pairs)
    _, *rows = parsed_back.rows_of_report(page_of(summaries))
    for row, one, script in zip(rows, summaries, model.align_all(pairs), strict=True):
        assert [told[:3] for told in row.operations] == [
            (edit.kind, drawn(edit.source), drawn(edit.target)) for edit in script
        ]
        told = [told.probability for told in row.operations]
        assert told == pytest.approx([edit.probability for edit in script], abs=1.1e-3)
        assert (row.texts["a"], row.texts["z"], row.values["o"]) == (one.source, one.target, len(script))
        shown = [row.values[mark] for mark in "plhe"]
        assert shown == pytest.approx([one.probability, one.log_prob, one.script.share, one.entropy], rel=1e-5)


def test_a_report_tells_the_story_of_the_full_explanation(explained):
    model, pairs = explained
    _, *rows = parsed_back.rows_of_report(page_of(model.summarize_all(pairs)))
    for row, full in zip(rows, model.explain_all(pairs, scripts=1), strict=True):
        (told,) = parsed_back.scripts_of_html(full.to_html())
        assert [one[:3] for one in row.operations] == [one[:3] for one in told]
        assert f"entropy {row.texts['e'].partition(' ')[0]} nats" in full.to_html()


def test_a_matcher_has_a_column_for_its_decision(matcher, g2p):
    model, pairs = matcher
    head, *rows = parsed_back.rows_of_report(page_of(model.summarize_all(pairs)))
    assert head.texts["d"] == "decision"
    assert [row.texts["d"] for row in rows] == [
        "✓ match" if match else "✗ no match" for match in model.match(pairs).tolist()
    ]
    head, *_ = parsed_back.rows_of_report(page_of(g2p.summarize_all(WORDS)))
    names = ["#", "source", "target", "operations", "probability", "score", "share", "entropy"]
    assert list(head.texts.values()) == names


def test_the_top_counts_operations(g2p):
    scripts = g2p.align_all(WORDS)
    page = page_of(g2p.summarize_all(WORDS))
    counted = {tag: sum(edit.tag == tag for script in scripts for edit in script) for tag in ("replace", "delete")}
    assert f"{counted['replace']} substitutions" in page
    assert f"{counted['delete']} deletions" in page
    assert '<option value="sa→AE">a→AE (2)</option>' in page


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_strings_stay_text(name):
    harmless, page = (Page(page_of([outline_of(one)], title=one)) for one in ("x", name))
    assert [tag for tag, _ in page.elements] == [tag for tag, _ in harmless.elements]
    assert [sorted(attrs) for _, attrs in page.elements] == [sorted(attrs) for _, attrs in harmless.elements]
    (_, row) = parsed_back.rows_of_report(page_of([outline_of(name)]))
    assert [one[:3] for one in row.operations] == [
        (edit.kind, drawn(edit.source), drawn(edit.target)) for edit in outline_of(name).script
    ]


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.text(min_size=1, max_size=20))
def test_any_string_is_shown_and_changes_no_element(name):
    text = page_of([outline_of(name)], title=name)
    expected = Page(page_of([outline_of("a" if name == "a" else "x")], title="x"))
    assert [tag for tag, _ in Page(text).elements] == [tag for tag, _ in expected.elements]
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\u202a-\u202e]", text)
    text.encode("utf-8")


def test_the_page_needs_nothing_else():
    text = page_of([outline_of("x")]).replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?:|@import|url\(|<link|\ssrc=|\shref=|fetch\(|innerHTML|eval\(", text)
    assert "default-src 'none'" in text
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text


def test_rows_are_short(g2p):
    summaries = g2p.summarize_all(WORDS[:4])
    row = (len(page_of(summaries * 100).encode()) - len(page_of(summaries).encode())) / (99 * len(summaries))
    assert row < 1500


def test_no_pairs_make_a_page_too(g2p):
    assert "<dd>0</dd>" in page_of(g2p.summarize_all([]))
