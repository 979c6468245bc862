"""Pages and rows of rules can be read back, and no symbol can act in them."""

from html.parser import HTMLParser
from io import StringIO

import pytest
from rich.console import Console

import nsed
from nsed.explain.render.rules import (
    COLUMNS,
    DIFFERENCE_COLUMNS,
    console_table,
    difference_rows,
    differences_page,
    rule_rows,
    rules_page,
)
from nsed.explain.rule_table import compare
from nsed.explain.rules import rules

HOSTILE = ["<script>alert(1)</script>", '"onmouseover="x', "</td>", "&amp;", "[red]", "--></style>", "'"]
ARABIC = [("سلام", "salam"), ("باب", "bab")]


class Cells(HTMLParser):
    """The cells of a page's table, and all its tags."""

    def __init__(self, page):
        super().__init__()
        self.rows, self.tags, self._open = [], [], False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self._open = True

    def handle_endtag(self, tag):
        self._open = self._open and tag not in ("td", "th")

    def handle_data(self, data):
        if self._open:
            self.rows[-1][-1] += data


@pytest.fixture(scope="module")
def hostile():
    """A table of rules whose symbols are tags, quotes and markup."""
    config = nsed.EditDistanceConfig(source_symbols="tokens", target_symbols="tokens", iterations=3)
    pairs = [(" ".join(HOSTILE[place:]), " ".join(HOSTILE[place:])) for place in range(len(HOSTILE))]
    return rules(nsed.LearnableEditDistance.fit(pairs, config=config), pairs)


def test_a_page_reads_back(hostile):
    chosen = hostile.ranked(top=20)
    (head, *rows) = Cells(rules_page(hostile, chosen, title="t")).rows
    assert head == ["rule", "count", "probability", "share", "surprise", "where", "examples"]
    assert len(rows) == len(chosen)
    for cells, rule in zip(rows, chosen, strict=True):
        assert cells[0].replace("−", "-").replace(" → ", "→") == str(rule)
        assert float(cells[1].replace(",", "")) == pytest.approx(rule.count, abs=0.05)
        for example in rule.examples[:3]:
            assert " → ".join(hostile.joined(example)) in cells[6]


def test_nothing_of_the_data_becomes_a_tag(hostile):
    plain_page = rules_page(hostile, [], title="t")
    page = rules_page(hostile, hostile.ranked(), title="<script>title</script>")
    allowed = {tag for tag, _ in Cells(plain_page).tags} | {"td", "span", "mark"}
    tags = Cells(page).tags
    assert {tag for tag, _ in tags} <= allowed
    assert [tag for tag, _ in tags].count("script") == 1
    assert {name for _, attributes in tags for name in attributes if name.startswith("on")} == set()
    assert "http" not in page
    other = differences_page(compare(hostile, hostile), ("<b>", "</table>"), title="<i>")
    assert {tag for tag, _ in Cells(other).tags} <= allowed
    assert Cells(other).rows[0][1:3] == ["<b>", "</table>"]


def test_right_to_left_strings_keep_to_themselves():
    table = rules(nsed.LearnableEditDistance.fit(ARABIC), ARABIC)
    page = rules_page(table, table.ranked(), title="ar")
    assert "<bdi><mark>س</mark>لام</bdi> → <bdi><mark>s</mark>alam</bdi>" in page


def test_rows_have_a_cell_for_each_column(hostile):
    for row, rule in zip(rule_rows(hostile, hostile.rules), hostile.rules, strict=True):
        read = dict(zip(COLUMNS, row, strict=True))
        assert (read["operation"], read["source"], read["target"]) == rule.name
        assert float(read["count"]) == pytest.approx(rule.count, abs=1e-3)
        assert read["contexts"] == rule.told()
    for row in difference_rows(compare(hostile, hostile)):
        assert len(row) == len(DIFFERENCE_COLUMNS)


def test_a_terminal_shows_markup_as_it_is(hostile):
    console = Console(width=200, record=True, file=StringIO())
    console.print(console_table(hostile, hostile.ranked()))
    assert "[red]" in console.export_text()
