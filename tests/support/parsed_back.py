"""Renderings of explanations, read back into what they tell: operations with probabilities, and parts of the score."""

import html.parser
import re
from typing import NamedTuple
from xml.etree import ElementTree

SVG = "{http://www.w3.org/2000/svg}"
LATEX = {r"\textbackslash{}": "\\", r"\textasciitilde{}": "~", r"\textasciicircum{}": "^", r"\textvisiblespace{}": "␣"}

KINDS = {"d": "delete", "i": "insert", "s": "substitute", "k": "substitute"}


class Told(NamedTuple):
    kind: str
    source: str
    target: str
    probability: float


class _Boxes(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.scripts: list[list[Told]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        found = dict(attrs)
        if found.get("class") == "nsed-script":
            self.scripts.append([])
        if "data-kind" in found and tag == "i":
            facts = (found[f"data-{name}"] for name in ("kind", "source", "target"))
            self.scripts[-1].append(Told(*facts, float(found["data-probability"])))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, "tags are nested well"


class Row(NamedTuple):
    """A row of a report: the text and the sorting value of each cell by its class, and the operations."""

    texts: dict[str, str]
    values: dict[str, float]
    operations: list[Told]


class _Rows(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.rows: list[Row] = []
        self.cell = self.kind = ""
        self.symbols: list[str] | None = None
        self.within = ""

    def handle_starttag(self, tag, attrs):
        found, self.within = dict(attrs), tag
        if tag == "tr":
            self.rows.append(Row({}, {}, []))
        elif tag in ("td", "th"):
            self.cell = found["class"]
            self.rows[-1].texts[self.cell] = ""
            if "data-v" in found:
                self.rows[-1].values[self.cell] = float(found["data-v"])
        elif tag == "i" and self.cell:
            shown = found["title"].rpartition(", ")[2].removeprefix("<").removesuffix("%")
            self.kind, self.symbols, self.probability = found["class"][0], [], float(shown) / 100
        elif tag == "bdi" and self.symbols is not None:
            self.symbols.append("")

    def handle_endtag(self, tag):
        self.within = ""
        if tag in ("td", "th"):
            self.cell = ""
        elif tag == "i" and self.symbols is not None:
            source, target = {"d": [*self.symbols, ""], "i": ["", *self.symbols], "k": 2 * self.symbols}.get(
                self.kind, self.symbols
            )
            self.rows[-1].operations.append(Told(KINDS[self.kind], source, target, self.probability))
            self.symbols = None

    def handle_data(self, data):
        if self.symbols is not None and self.within == "bdi":
            self.symbols[-1] += data
        elif self.cell:
            self.rows[-1].texts[self.cell] += data


def rows_of_report(text: str) -> list[Row]:
    """The rows of a report's table, its head first."""
    parser = _Rows()
    parser.feed(text[text.index("<table") : text.index("</table>")])
    return parser.rows


def scripts_of_html(text: str) -> list[list[Told]]:
    parser = _Boxes()
    parser.feed(text)
    assert not parser.open
    return parser.scripts


def svgs_of_html(text: str) -> list[str]:
    return re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL)


def parts_of_waterfall(svg: str) -> list[tuple[str, float]]:
    """Names and values of the bars, the total last."""
    bars = ElementTree.fromstring(svg).iter(f"{SVG}rect")
    return [(bar.attrib["data-name"], float(bar.attrib["data-value"])) for bar in bars]


def best_arcs_of_lattice(svg: str) -> list[tuple[str, str, float]]:
    """Kind, cell and probability of the arcs of the best script, in order."""
    found = [
        (arc["data-kind"], arc["data-end"], float(arc["data-probability"]))
        for arc in _arcs(svg)
        if arc["data-best"] == "true"
    ]
    return sorted(found, key=lambda arc: sum(map(int, arc[1].split(","))))


def arcs_of_lattice(svg: str) -> dict[tuple[str, int, int], float]:
    """Probability of every arc by kind and cell."""
    return {
        (arc["data-kind"], *map(int, arc["data-end"].split(","))): float(arc["data-probability"]) for arc in _arcs(svg)
    }


def _arcs(svg: str) -> list[dict[str, str]]:
    return [line.attrib for line in ElementTree.fromstring(svg).iter(f"{SVG}line") if "data-best" in line.attrib]


def cells_of_grid(svg: str) -> dict[tuple[int, int], float]:
    cells = [rect.attrib for rect in ElementTree.fromstring(svg).iter(f"{SVG}rect")]
    return {(int(cell["data-row"]), int(cell["data-column"])): float(cell["data-value"]) for cell in cells}


def parts_of_text(text: str) -> list[tuple[str, float, float | None]]:
    """Name, value and, for an operation, probability of each part; the total last."""
    lines = text.split("    adds  probability\n")[1].splitlines()
    found = []
    for line in lines:
        value, probability, name = line[:8], line[10:16], line[18:]
        shown = probability.strip().removeprefix("<").removesuffix("%")
        found.append((name, float(value), float(shown) / 100 if "%" in probability else None))
        if probability == "in all":
            break
    return found


def scripts_of_latex(text: str) -> list[list[Told]]:
    rows = [line for line in text.splitlines() if r"\multicolumn" not in line and " & " in line]
    return [[_told(one) for one in re.findall(r"\\nsedop\{(.*?)\}\{([\d.]+)\}(?= |$)", _cell(row))] for row in rows]


def _cell(row: str) -> str:
    return row.split(" & ", 1)[1].removesuffix(r" \\[2pt]")


def _told(found: tuple[str, str]) -> Told:
    box, percent = found
    name, arguments = re.fullmatch(r"\\nsed(subs|ins|del)(.*)", box).groups()
    given = [_plain(argument) for argument in _arguments(arguments)]
    kind = {"subs": "substitute", "ins": "insert", "del": "delete"}[name]
    source, target = {"subs": given, "ins": ["", *given], "del": [*given, ""]}[name]
    return Told(kind, source, target, float(percent) / 100)


def _arguments(text: str) -> list[str]:
    """What stands between outermost braces; a brace after a backslash is none."""
    found, depth, start = [], 0, 0
    for place, char in enumerate(text):
        if char in "{}" and text[place - 1] != "\\":
            depth += 1 if char == "{" else -1
            if depth == 1 and char == "{":
                start = place + 1
            if depth == 0:
                found.append(text[start:place])
    return found


def _plain(text: str) -> str:
    for written, meant in LATEX.items():
        text = text.replace(written, meant)
    return re.sub(r"\\([&%$#_{}])", r"\1", re.sub(r"(?<!\\)\{([^\\])\}", r"\1", text))
