"""The page of a report, parsed back."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nsed.evaluate import Interval
from nsed.evaluate.report import Caution, Figure, Report, to_html
from nsed.evaluate.report.html import plot, round_axis
from nsed.evaluate.report.records import (
    Breakdown,
    Comparison,
    Curve,
    Difference,
    Group,
    Line,
    Mistake,
    NamedScript,
    Point,
)
from nsed.text import Edit, EditScript
from support.pages import Page

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'--></style></title>&amp;<!--",
    "\x00\x1b[31m\ud800\u202e\u2066evil",
    "مرحبا",
    "ˈt͡ʃɪɫ̥",
    "</bdi></li></svg>",
]


def report_of(name):
    script = EditScript(
        (
            Edit("substitute", name, name, 0, 0),
            Edit("substitute", "a", name, 1, 1, 0.5),
            Edit("delete", name, "", 2, 2),
            Edit("insert", "", name, 3, 2),
        )
    )
    figures = (Figure("wer", 0.25, interval=Interval(0.2, 0.3)), Figure(name, -1.5, "number", note=name))
    return Report(
        name,
        name,
        "transduction",
        figures,
        settings={"beam": name},
        curves=(
            Curve(name, name, name, (Line(name, (Point(0.1, 0.9, 12), Point(1.0, 0.5, 3456))),), diagonal=True),
            Curve(name, name, name, (Line(name, (Point(3, 0.1),)), Line(name, (Point(9, 1.2),))), x_kind="count"),
        ),
        breakdowns=(Breakdown(name, name, (name,), (Group(name, 7, (0.5,)),)),),
        mistakes=(Mistake(name, (name, name), name, name, figures, (NamedScript(name, script),), name),),
        comparison=Comparison(name, figures, (Difference(name, 0.1, Interval(0.0, 0.2), 0.04),)),
        cautions=(Caution(name, figures),),
    )


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_strings_stay_text(name):
    harmless, page = Page(to_html(report_of("x"))), Page(to_html(report_of(name)))
    assert [tag for tag, _ in page.elements] == [tag for tag, _ in harmless.elements]
    assert [sorted(attrs) for _, attrs in page.elements] == [sorted(attrs) for _, attrs in harmless.elements]
    assert page.count("script") == page.count("style") == 1


@settings(max_examples=25, deadline=None)
@given(st.text(min_size=1, max_size=20).filter(lambda text: text != "a"))  # the script writes a: that would be kept
def test_any_string_is_shown_and_changes_no_element(name):
    text = to_html(report_of(name))
    page = Page(text)
    assert [tag for tag, _ in page.elements] == [tag for tag, _ in Page(to_html(report_of("x"))).elements]
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\u202a-\u202e]", text)
    text.encode("utf-8")


def test_the_page_needs_nothing_else():
    text = to_html(report_of("x"))
    assert not re.search(r"https?:|//\w|@import|url\(|<link|\ssrc=|\shref=", text)
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text


def test_what_the_page_shows():
    page = Page(to_html(report_of("name")))
    assert page.text_of("h1") == ["name on name"]
    assert page.text_of("h2") == ["Figures", "Against name", "Curves", "By name", "The 1 worst errors"]
    assert page.count("figure", "plot") == 2
    assert [page.count("i", kind) for kind in "ksdi"] == [2, 2, 2, 2]  # in the legend and in the script
    assert "20.00% to 30.00%" in page.text_of("td")
    assert "+10.00 points" in page.text_of("td")
    assert page.text_of("p")[1] == "name"  # the caution, right below the title
    assert {"12", "3.5k"} <= set(page.text_of("text"))


def test_strings_of_the_data_have_their_own_direction_and_no_language():
    page = Page(to_html(report_of("שלום")))
    strings = [attrs for tag, attrs in page.elements if tag == "bdi"]
    assert len(strings) >= 10
    assert "\\u2068" not in to_html(report_of("שלום"))  # the isolates of terminals have no place here
    assert all(attrs in ({"lang": "", "dir": "auto"}, {}) for attrs in strings)  # in a box it has them from the box
    scripts = [attrs for _, attrs in page.elements if attrs.get("class") == "nsed-script"]
    assert scripts[-1] == {"class": "nsed-script", "dir": "ltr", "lang": ""}


def test_an_empty_report_is_a_page_too():
    page = Page(to_html(Report("model", "", "matching", ())))
    assert page.text_of("h1") == ["model"]
    assert page.text_of("h2") == ["Figures"]


@given(st.floats(-50, 50), st.floats(0, 100), st.booleans())
def test_axes_hold_what_they_shall_show(low, width, whole):
    axis = round_axis(low, low + width, start=40, end=340, whole=whole)
    slack = 1e-6 * max(1, abs(low), width)
    assert axis.low <= low + slack
    assert low + width <= axis.high + slack
    assert 2 <= len(axis.ticks) <= 9
    assert not whole or all(tick == int(tick) for tick in axis.ticks)


def test_points_lie_where_they_belong():
    curve = Curve("ROC", "x", "y", (Line("a", (Point(0.0, 0.0), Point(0.5, 1.0), Point(1.0, 1.0))),))
    drawn = re.search(r'class="series s0" d="M(.*?)"', plot(curve))[1]
    assert drawn == "52.0 248.0L208.0 16.0L364.0 16.0"
