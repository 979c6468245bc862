"""Figures, groups and comparisons as tables."""

from collections.abc import Iterable, Sequence

from nsed.evaluate.report.html.plots import whisker
from nsed.evaluate.report.records import Breakdown, Comparison, Difference, Figure, Group, in_words
from nsed.explain.markup import foreign, lines, text

_NUMBER = ' class="number"'


def figures_table(figures: Sequence[Figure]) -> str:
    """A row for each figure, with its interval as numbers and as a line."""
    return _table(["figure", "value", "95 % interval", "", ""], map(_figure, figures))


def _figure(figure: Figure) -> list[str]:
    picture = f"<td>{whisker(figure)}</td>"
    return [_left(figure.title), _right(str(figure)), _right(figure.span), picture, _left(figure.note)]


def comparison_table(model: str, figures: Sequence[Figure], comparison: Comparison) -> str:
    """Both models side by side, then whether they differ."""
    theirs = {figure.name: figure for figure in comparison.figures}
    rows = [
        [_left(ours.title), *(_right(cell) for one in (ours, theirs.get(ours.name)) for cell in _with_span(one))]
        for ours in figures
    ]
    heads = ["figure", model, "95 % interval", comparison.model, "95 % interval"]
    return lines([_table(heads, rows), _differences(comparison.differences) if comparison.differences else ""])


def breakdown_table(breakdown: Breakdown) -> str:
    """A row for each group; a click on a head sorts by it."""
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
