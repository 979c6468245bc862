"""HTML report: one page that needs nothing else, for screens, phones and paper.

Curves are plotted as SVG within the page; the page's style has the colours.
"""

from collections.abc import Iterable, Sequence
from importlib.resources import files
from itertools import chain
from math import ceil, floor, log10
from typing import NamedTuple

from nsed.evaluate.report.records import (
    Breakdown,
    Caution,
    Comparison,
    Curve,
    Difference,
    Figure,
    FigureKind,
    Group,
    Line,
    Mistake,
    NamedScript,
    Point,
    Report,
    in_words,
)
from nsed.explain.render.html import BOX_STYLE, boxes, legend
from nsed.explain.render.markup import foreign, lines, text

Number = float | int


class Axis(NamedTuple):
    """Plot axis: numbers from `low` to `high` on the way from one place to another, with ticks at round numbers."""

    low: Number
    high: Number
    start: Number
    end: Number
    ticks: tuple[Number, ...]

    def at(self, value: Number) -> float:
        """Coordinate of a number.

        >>> Axis(0, 1, 40, 340, ()).at(0.5)
        190.0
        """
        return round(self.start + (self.end - self.start) * (value - self.low) / (self.high - self.low), 1)


def round_axis(low: Number, high: Number, *, start: Number, end: Number, whole: bool = False) -> Axis:
    """Axis with round ticks that reaches from one to another and holds both numbers; `whole` ticks are integers.

    >>> round_axis(0, 0.37, start=0, end=100).ticks
    (0.0, 0.1, 0.2, 0.3, 0.4)
    >>> round_axis(3, 14.2, start=0, end=100, whole=True).ticks
    (2, 4, 6, 8, 10, 12, 14, 16)
    """
    step = _round_step(max(high - low, 1e-9) / 6)
    step = max(ceil(step), 1) if whole else step
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    ticks = tuple(round(place * step, 10) for place in range(first, max(last, first + 1) + 1))
    return Axis(ticks[0], ticks[-1], start, end, ticks)


def _round_step(about: float) -> float:
    """Tick step: 1, 2 or 5 times a power of ten, not much less than the number given."""
    power = 10.0 ** floor(log10(about))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= about * 0.99)


WIDTH, HEIGHT = 380, 300
LEFT, RIGHT, TOP, BOTTOM = 52, 364, 16, 248


def plot(curve: Curve) -> str:
    """SVG plot with axes, a line or points for each of the curve's lines, and a legend if there are several."""
    return lines(
        [
            f'<figure class="plot"><figcaption>{text(curve.title)}</figcaption>',
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{text(curve.title)}">',
            *_drawing(curve),
            "</svg>",
            _legend(curve) if len(curve.lines) > 1 else "",
            "</figure>",
        ]
    )


PICTURE_STYLE = """
svg { font: 12px system-ui, sans-serif; } .tick, .count { fill: #5b6474; font-size: 11px; } .grid { stroke: #dfe3ea; }
.axis { fill: none; stroke: #5b6474; } .diagonal { stroke: #5b6474; stroke-dasharray: 4 4; }
.series { fill: none; stroke-width: 2; } .title { font-weight: 600; }
.series.s0 { stroke: #2458c5; } .series.s1 { stroke: #c2571a; } .series.s2 { stroke: #3a7d44; }
.s0 { fill: #2458c5; } .s1 { fill: #c2571a; } .s2 { fill: #3a7d44; } .series { fill: none; }
"""
"""Colours of a plot that is a picture of its own: those of the page in daylight."""


def picture(curve: Curve) -> str:
    """SVG plot as a file of its own: what `plot` draws, with title, legend and colours in it."""
    names = (
        f'<text class="s{number}" x="{LEFT + 90 * number}" y="{HEIGHT + 30}">{text(line.name)}</text>'
        for number, line in enumerate(curve.lines)
    )
    return lines(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT + 44}" role="img">',
            f"<style>{PICTURE_STYLE}</style>",
            f'<rect width="{WIDTH}" height="{HEIGHT + 44}" fill="#ffffff"/>',
            f'<text class="title" x="{LEFT}" y="18">{text(curve.title)}</text>',
            '<g transform="translate(0 16)">',
            *_drawing(curve),
            "</g>",
            *(names if len(curve.lines) > 1 else ()),
            "</svg>\n",
        ]
    )


def _drawing(curve: Curve) -> list[str]:
    """Axes and lines of a plot."""
    across, up = _axes(curve)
    series = [_series(line, number, across, up) for number, line in enumerate(curve.lines)]
    return [_grid(curve, across, up), _diagonal(across, up) if curve.diagonal else "", *series]


def whisker(figure: Figure) -> str:
    """Error bar of a share between 0 and 100 %: a dot, and its confidence interval as a line."""
    if figure.kind != "share" or not 0 <= figure.value <= 1:
        return ""
    low, high = figure.interval or (figure.value, figure.value)
    places = [f"{100 * min(end, 1):.2f}" for end in (low, high, figure.value)]
    return (
        '<svg class="whisker" viewBox="-4 0 108 12" aria-hidden="true"><path class="track" d="M0 6H100"/>'
        f'<path class="span" d="M{places[0]} 6H{places[1]}"/><circle cx="{places[2]}" cy="6" r="3"/></svg>'
    )


def _axes(curve: Curve) -> tuple[Axis, Axis]:
    points = list(chain.from_iterable(line.points for line in curve.lines))
    if curve.x_kind == "share":
        across, up = (0.0, 1.0), (0.0, 1.0)
    else:
        across = min(point.x for point in points), max(point.x for point in points)
        up = 0.0, max([0.01, *(point.y for point in points)])
    whole = curve.x_kind == "count"
    return (
        round_axis(*across, start=LEFT, end=RIGHT, whole=whole),
        round_axis(*up, start=BOTTOM, end=TOP),
    )


def _grid(curve: Curve, across: Axis, up: Axis) -> str:
    middle = (TOP + BOTTOM) / 2
    return lines(
        [
            *(f'<path class="grid" d="M{LEFT} {up.at(tick)}H{RIGHT}"/>' for tick in up.ticks),
            *(_label(LEFT - 6, up.at(tick) + 4, tick, "share", "end") for tick in up.ticks),
            *(_label(across.at(tick), BOTTOM + 16, tick, curve.x_kind, "middle") for tick in across.ticks),
            f'<path class="axis" d="M{LEFT} {TOP}V{BOTTOM}H{RIGHT}"/>',
            f'<text x="{(LEFT + RIGHT) / 2}" y="{BOTTOM + 38}" text-anchor="middle">{text(curve.x)}</text>',
            f'<text transform="translate(12 {middle}) rotate(-90)" text-anchor="middle">{text(curve.y)}</text>',
        ]
    )


def _label(x: Number, y: Number, tick: Number, kind: FigureKind, anchor: str) -> str:
    shown = f"{100 * tick:g} %" if kind == "share" else f"{tick:g}"
    return f'<text class="tick" x="{x}" y="{y}" text-anchor="{anchor}">{shown}</text>'


def _diagonal(across: Axis, up: Axis) -> str:
    return f'<path class="diagonal" d="M{across.at(0)} {up.at(0)}L{across.at(1)} {up.at(1)}"/>'


def _series(line: Line, number: int, across: Axis, up: Axis) -> str:
    places = [(across.at(point.x), up.at(point.y)) for point in line.points]
    path = "L".join(f"{x} {y}" for x, y in places)
    most = max((point.items or 0 for point in line.points), default=0)
    marked = most > 0 or len(places) <= 20
    return lines(
        [
            f'<path class="series s{number}" d="M{path}"/>',
            *(_mark(point, place, number, most) for point, place in zip(line.points, places, strict=True) if marked),
        ]
    )


def _mark(point: Point, place: tuple[float, float], number: int, most: int) -> str:
    """Data point: a dot, larger for more items, and their number above it; a tooltip says what it stands for."""
    radius = 3.0 if not point.items else 2.5 + 4 * (point.items / most) ** 0.5
    told = f"{point.x:.3g}: {point.y:.1%}" + (f" of {point.items:,}" if point.items else "")
    counted = _count(point.items) if point.items and not number else ""
    x, y = place
    above = max(y - radius - 4, 10)
    label = f'<text class="count" x="{x}" y="{above:.1f}" text-anchor="middle">{counted}</text>' if counted else ""
    return f'<circle class="s{number}" cx="{x}" cy="{y}" r="{radius:.1f}"><title>{told}</title></circle>{label}'


def _count(items: int) -> str:
    return f"{items}" if items < 1000 else f"{items / 1000:.1f}k" if items < 10_000 else f"{items // 1000}k"


def _legend(curve: Curve) -> str:
    entries = (f'<span class="s{number}">{text(line.name)}</span>' for number, line in enumerate(curve.lines))
    return f'<div class="legend">{"".join(entries)}</div>'


_NUMBER = ' class="number"'


def figures_table(figures: Sequence[Figure]) -> str:
    """Metrics table: a row for each figure, with its confidence interval as numbers and as a line."""
    return _table(["figure", "value", "95 % interval", "", ""], map(_figure, figures))


def _figure(figure: Figure) -> list[str]:
    picture = f"<td>{whisker(figure)}</td>"
    return [_left(figure.title), _right(str(figure)), _right(figure.span), picture, _left(figure.note)]


def comparison_table(model: str, figures: Sequence[Figure], comparison: Comparison) -> str:
    """Comparison table: both models side by side, then whether they differ."""
    theirs = {figure.name: figure for figure in comparison.figures}
    rows = [
        [_left(ours.title), *(_right(cell) for one in (ours, theirs.get(ours.name)) for cell in _with_span(one))]
        for ours in figures
    ]
    heads = ["figure", model, "95 % interval", comparison.model, "95 % interval"]
    return lines([_table(heads, rows), _differences(comparison.differences) if comparison.differences else ""])


def breakdown_table(breakdown: Breakdown) -> str:
    """Breakdown table: a row for each group; a click on a head sorts by it."""
    rows = [_group(group, place) for place, group in enumerate(breakdown.groups)]
    return _table([breakdown.by, breakdown.of, *map(in_words, breakdown.columns)], rows, sortable=True)


def _group(group: Group, place: int) -> list[str]:
    name = f'<td data-key="{place}">{foreign(group.name)}</td>'
    items = f'<td class="number" data-key="{group.items}">{group.items:,}</td>'
    return [name, items, *(f'<td class="number" data-key="{value}">{value:.2%}</td>' for value in group.values)]


def _differences(differences: Iterable[Difference]) -> str:
    rows = [
        [
            _left(in_words(one.name)),
            _right(f"{100 * one.value:+.2f} points"),
            _right(f"{100 * one.interval.low:+.2f} to {100 * one.interval.high:+.2f}"),
            _right(f"{one.p_value:.4f}"),
        ]
        for one in differences
    ]
    return _table(["difference", "first less second", "95 % interval", "p (paired, two-sided)"], rows)


def _with_span(figure: Figure | None) -> tuple[str, str]:
    return (str(figure), figure.span) if figure else ("", "")


def _left(value: str) -> str:
    return f"<td>{text(value)}</td>"


def _right(value: str) -> str:
    return f'<td class="number">{text(value)}</td>'


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, sortable: bool = False) -> str:
    kind = ' class="sortable"' if sortable else ""
    head = "".join(f'<th scope="col"{_NUMBER if place else ""}>{text(name)}</th>' for place, name in enumerate(heads))
    body = lines(f"<tr>{''.join(row)}</tr>" for row in rows)
    return f'<div class="wide"><table{kind}><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>'


BETWEEN = ' <span class="between">and</span> '


def mistake_cards(mistakes: tuple[Mistake, ...]) -> str:
    """Error cards: what the colours mean, then the cards, worst first."""
    cards = (_card(number, mistake) for number, mistake in enumerate(mistakes, start=1))
    return lines([f"<p>{legend()}</p>", '<ol class="mistakes">', *cards, "</ol>"])


def _card(number: int, mistake: Mistake) -> str:
    given = BETWEEN.join(map(foreign, mistake.given))
    facts = [mistake.kind, mistake.languages, *(f"{figure.title} {figure}" for figure in mistake.figures)]
    return lines(
        [
            f'<li class="mistake {text(mistake.kind).replace(" ", "-")}">',
            f'<h3><span class="rank">{number}</span> {given}</h3>',
            f'<p class="facts">{" · ".join(text(fact) for fact in facts if fact)}</p>',
            f"<dl><dt>said</dt><dd>{foreign(mistake.said)}</dd><dt>right</dt><dd>{foreign(mistake.right)}</dd></dl>",
            *map(_script, mistake.scripts),
            "</li>",
        ]
    )


def _script(named: NamedScript) -> str:
    return f'<div class="operations"><span class="name">{text(named.name)}</span>{boxes(named.script)}</div>'


HEADLINES = ("wer", "cer", "nbest_accuracy", "f1", "average_precision", "roc_auc", "alignment_f1")
"""Headline metrics, which stand large at the top, where there are such."""


def to_html(report: Report) -> str:
    """HTML of the report, ready for a file in UTF-8.

    >>> from nsed.evaluate.report.records import Figure
    >>> page = to_html(Report("g2p", "test.tsv", "transduction", (Figure("wer", 0.2294),)))
    >>> page[:15], "22.94%" in page
    ('<!DOCTYPE html>', True)
    """
    title = f"{report.model} on {report.pairs}" if report.pairs else report.model
    return page(title, _subtitle(report), [*map(_caution, report.cautions), _headlines(report), *_sections(report)])


def page(title: str, subtitle: str, content: Iterable[str]) -> str:
    """HTML page of a report: a head, and sections below it."""
    return lines(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{text(title)}</title>\n<style>\n{BOX_STYLE}{_resource('page.css')}</style>\n</head>\n<body>\n<main>",
            f"<header><h1>{text(title)}</h1>\n<p>{text(subtitle)}</p></header>",
            *content,
            f"</main>\n<script>\n{_resource('sort.js')}</script>\n</body>\n</html>\n",
        ]
    )


def _sections(report: Report) -> list[str]:
    found = [section("Figures", figures_table(report.figures))]
    if report.comparison:
        compared = comparison_table(report.model, report.figures, report.comparison)
        found.append(section(f"Against {report.comparison.model}", compared))
    if report.curves:
        found.append(section("Curves", f'<div class="plots">{lines(map(plot, report.curves))}</div>'))
    groups = [section(f"By {one.by}", breakdown_table(one)) for one in report.breakdowns]
    found += [f'<div class="groups">{lines(groups)}</div>'] if groups else []
    if report.mistakes:
        found.append(section(f"The {len(report.mistakes)} worst errors", mistake_cards(report.mistakes)))
    return found


def section(title: str, content: str) -> str:
    """Section of a page."""
    return f"<section>\n<h2>{text(title)}</h2>\n{content}\n</section>"


def _subtitle(report: Report) -> str:
    settings = (f"{name} {value}" for name, value in report.settings.items())
    return ", ".join([report.task, *settings, "intervals: bootstrap, of all right or all wrong Wilson, 95 %"])


def _headlines(report: Report) -> str:
    shown = {figure.name: figure for figure in report.figures}
    return f'<div class="headlines">{"".join(_headline(shown[name]) for name in HEADLINES if name in shown)}</div>'


def _headline(figure: Figure) -> str:
    span = f"<small>{text(figure.span)}</small>" if figure.span else ""
    return f'<div class="headline"><span>{text(figure.title)}</span><b>{text(str(figure))}</b>{span}</div>'


def _caution(caution: Caution) -> str:
    table = figures_table(caution.figures) if caution.figures else ""
    return f'<aside class="caution" role="note"><p>{text(caution.message)}</p>{table}</aside>'


def _resource(name: str) -> str:
    return (files("nsed.evaluate.report") / "static" / name).read_text(encoding="utf-8")
