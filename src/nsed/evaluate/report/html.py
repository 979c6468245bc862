"""HTML report: one page that needs nothing else, for screens, phones and paper."""

from collections.abc import Iterable, Sequence
from importlib.resources import files

from nsed.evaluate.report.plots import plot, whisker
from nsed.evaluate.report.records import (
    Breakdown,
    Caution,
    Comparison,
    Difference,
    Figure,
    Group,
    Mistake,
    NamedScript,
    Report,
    in_words,
)
from nsed.explain.render.html import BOX_STYLE, boxes, legend
from nsed.explain.render.markup import foreign, lines, text

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
    """HTML of the report, ready for a file in UTF-8."""
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
