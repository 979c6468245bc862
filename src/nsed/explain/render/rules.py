"""Rules and their differences rendered: rows of text (the cells of TSV and terminals), tables over symbols, pages.

A page needs no other file, its columns can be sorted, and nothing in the data can act.
"""

from collections.abc import Iterable, Iterator, Sequence
from html import escape

import numpy as np
from rich.markup import escape as escape_markup
from rich.table import Table

from nsed.explain.render.heat_maps import Grid, confusion_grid, operation_grid
from nsed.explain.rule_table import Rule, RuleDifference, RuleExample, RuleTable
from nsed.text.visible import visible

COLUMNS = (
    "operation",
    "source",
    "target",
    "count",
    "opportunities",
    "probability",
    "share",
    "surprise",
    "contexts",
    "examples",
)
DIFFERENCE_COLUMNS = (
    "operation",
    "source",
    "target",
    "count 1",
    "opportunities 1",
    "probability 1",
    "count 2",
    "opportunities 2",
    "probability 2",
    "difference",
    "G2",
    "p",
)
_COLOURS = {"delete": "red", "insert": "green", "substitute": "yellow", "keep": ""}


def rule_rows(table: RuleTable, chosen: Iterable[Rule]) -> Iterator[tuple[str, ...]]:
    """Table rows, one per rule, under `COLUMNS`."""
    for rule in chosen:
        numbers = f"{rule.count:.3f}", f"{rule.opportunities:.0f}", f"{rule.probability:.6f}", f"{rule.share:.8f}"
        examples = " | ".join("=".join(table.joined(example)) for example in rule.examples)
        yield (*rule.name, *numbers, f"{rule.surprise:.2f}", rule.told(), examples)


def difference_rows(chosen: Iterable[RuleDifference]) -> Iterator[tuple[str, ...]]:
    """Table rows, one per rule, under `DIFFERENCE_COLUMNS`."""
    for one in chosen:
        sides = zip(one.counts, one.opportunities, one.probabilities, strict=True)
        numbers = [cell for c, n, p in sides for cell in (f"{c:.3f}", f"{n:.0f}", f"{p:.6f}")]
        yield (*one.rule.name, *numbers, f"{one.difference:+.6f}", f"{one.g2:.2f}", f"{one.p_value:.3g}")


def console_table(table: RuleTable, chosen: Sequence[Rule]) -> Table:
    """Terminal table of rules, in the order given; what no rule has is left out."""
    counted, told = table.pairs > 0, any(rule.contexts for rule in chosen)
    shown = [("rule", True), ("count", counted), ("probability", True), ("share", True), ("surprise", told)]
    shown += [("where", told), ("examples", counted)]
    keep = [is_shown for _, is_shown in shown]
    console = Table(box=None, pad_edge=False)
    for name, is_shown in shown:
        if is_shown:
            console.add_column(name, justify="left" if name in ("rule", "where", "examples") else "right")
    for rule in chosen:
        cells = _cells(table, rule)
        console.add_row(*(cell for cell, is_shown in zip(cells, keep, strict=True) if is_shown))
    return console


def console_differences(chosen: Sequence[RuleDifference], names: tuple[str, str]) -> Table:
    """Terminal table of differences, in the order given."""
    console = Table(box=None, pad_edge=False)
    console.add_column("rule")
    for name in (*map(escape_markup, names), "difference", "G²", "p"):
        console.add_column(name, justify="right")
    console.add_column("where")
    for one in chosen:
        sides = [_side(*side) for side in zip(one.counts, one.opportunities, one.probabilities, strict=True)]
        numbers = f"{one.difference:+.1%}", f"{one.g2:,.1f}", f"{one.p_value:.1g}"
        console.add_row(_coloured(one.rule), *sides, *numbers, escape_markup(one.rule.told()))
    return console


def _side(count: float, opportunities: float, probability: float) -> str:
    if not opportunities:
        return f"{probability:.1%}"
    return f"{probability:.1%} ({count:,.0f} of {opportunities:,.0f})"


def _cells(table: RuleTable, rule: Rule) -> tuple[str, ...]:
    examples = ", ".join(" ".join(table.joined(example)) for example in rule.examples[:2])
    numbers = f"{rule.count:,.1f}", f"{rule.probability:.1%}", f"{rule.share:.2%}", f"{rule.surprise:,.0f}"
    return _coloured(rule), *numbers, escape_markup(rule.told()), escape_markup(examples)


def _coloured(rule: Rule) -> str:
    colour = _COLOURS[rule.kind]
    return f"[{colour}]{escape_markup(str(rule))}[/]" if colour else escape_markup(str(rule))


DELETED = "−"
"""Deletion column label."""
MOST_SYMBOLS = 40
"""Symbols of either side at most: those of the most weight."""


def rule_grid(table: RuleTable, *, symbols: int = MOST_SYMBOLS) -> Grid:
    """Heat map of rules: substitutions, what is kept, and in the last column what is deleted.

    Rules that were counted give counts (a confusion matrix), those of weights alone give probabilities.
    """
    rules = [rule for rule in table.rules if rule.source]
    sources, targets = (_strongest(rules, side, symbols) for side in ("source", "target"))
    columns = [*targets, DELETED]
    numbers = np.zeros((len(sources), len(columns)))
    for rule in rules:
        target = rule.target or DELETED
        if rule.source in sources and target in columns:
            numbers[sources.index(rule.source), columns.index(target)] = _weight(rule)
    if table.pairs:
        return confusion_grid(numbers.round(1), sources, columns)
    return operation_grid(np.log(numbers.clip(min=1e-30)), sources, columns)


def _strongest(rules: Sequence[Rule], side: str, most: int) -> list[str]:
    """Top symbols of one side, by weight; in alphabetical order."""
    weights: dict[str, float] = {}
    for rule in rules:
        symbol = getattr(rule, side)
        weights[symbol] = weights.get(symbol, 0.0) + _weight(rule)
    weights.pop("", None)
    return sorted(sorted(weights, key=weights.__getitem__, reverse=True)[:most])


def _weight(rule: Rule) -> float:
    return rule.count or rule.probability


_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --bar: #4a90d944; --mark: #f5c84288 }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 80rem; padding: 0 1rem }
h1 { font-size: 1.35rem; margin: 0 } p { margin: .3rem 0 1rem; opacity: .8 }
.scroll { overflow-x: auto } table { border-collapse: collapse; width: 100% }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .6rem; text-align: start; vertical-align: top }
th { position: sticky; top: 0; background: Canvas; white-space: nowrap }
th button { all: unset; cursor: pointer; font-weight: 600 } th button:focus-visible { outline: 2px solid }
th[aria-sort=ascending] button::after { content: " ▲" } th[aria-sort=descending] button::after { content: " ▼" }
tbody tr:hover { background: var(--soft) } .number { text-align: end; font-variant-numeric: tabular-nums }
.share { background: linear-gradient(to left, var(--bar) var(--part), transparent 0) }
.rule { font-weight: 600; white-space: nowrap } .delete { color: #c0392b } .insert { color: #27864a }
.substitute { color: #a06a00 } mark { background: var(--mark); color: inherit; border-radius: .2em }
.example { white-space: nowrap; margin-inline-end: 1em } .where { min-width: 11em }
input { font: inherit; padding: .25rem .5rem; margin-bottom: .6rem }
@media (prefers-color-scheme: dark) {
  .delete { color: #ff8a7a } .insert { color: #6fd694 } .substitute { color: #f0b94d } }
"""

_SCRIPT = """
const body = document.querySelector("tbody"), heads = [...document.querySelectorAll("th")];
const value = (row, at) => row.cells[at].dataset.value;
const compare = (a, b) => (isNaN(a) || isNaN(b)) ? a.localeCompare(b) : a - b;
heads.forEach((head, at) => head.firstChild.addEventListener("click", () => {
  const down = head.ariaSort ? head.ariaSort === "ascending" : head.className === "number";
  heads.forEach(other => other.ariaSort = null);
  head.ariaSort = down ? "descending" : "ascending";
  const rows = [...body.rows].sort((a, b) => compare(value(a, at), value(b, at)) * (down ? -1 : 1));
  body.append(...rows);
}));
document.querySelector("input").addEventListener("input", event => {
  for (const row of body.rows) row.hidden = !row.textContent.includes(event.target.value);
});
"""

_MEANING = (
    "<b>Count</b>: expected uses, the sum of posteriors. <b>Probability</b>: of the source symbol's occurrences, or "
    "for an insertion of the places between symbols. <b>Share</b>: of all operations. <b>Surprise</b>: log-likelihood "
    "ratio (G²) of the neighbour that says most about the operation. <b>Where</b>: neighbours with which it is much "
    "more probable than elsewhere."
)
_DIFFERENCE_MEANING = (
    "Per side: probability, and expected uses out of opportunities. <b>G²</b>: log-likelihood ratio of two "
    "probabilities against a single one; <b>p</b>: how probable that is by chance, if all opportunities were "
    "independent."
)


def rules_page(table: RuleTable, chosen: Sequence[Rule], *, title: str) -> str:
    """HTML page with these rules, in the order given."""
    numbers = ("count", "probability", "share", "surprise")
    rows = (_rule_row(table, rule) for rule in chosen)
    about = f"{len(chosen):,} of {len(table):,} rules" + (f" in {table.pairs:,} pairs. " if table.pairs else ". ")
    return _page(title, about + _MEANING, ["rule", *numbers, "where", "examples"], rows, numbers=numbers)


def differences_page(chosen: Sequence[RuleDifference], names: tuple[str, str], *, title: str) -> str:
    """HTML page with these differences, in the order given."""
    numbers = (*names, "difference", "G²", "p")
    rows = (_difference_row(one) for one in chosen)
    return _page(title, _DIFFERENCE_MEANING, ["rule", *numbers, "where"], rows, numbers=numbers)


def _page(title: str, about: str, heads: Sequence[str], rows: Iterable[str], *, numbers: Sequence[str]) -> str:
    """HTML page; `about` is HTML already, everything else is text."""
    cells = "".join(f"<th{_class(head, numbers)}><button>{_isolated(head)}</button></th>" for head in heads)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{_isolated(title)}</h1>\n<p>{about}</p>\n"
        '<input type="search" placeholder="Show only …" aria-label="Show only rows with this text">\n'
        f'<div class="scroll"><table>\n<thead><tr>{cells}</tr></thead>\n<tbody>\n'
        + "\n".join(rows)
        + f"\n</tbody>\n</table></div>\n<script>{_SCRIPT}</script>\n</body>\n</html>\n"
    )


def _class(head: str, numbers: Sequence[str]) -> str:
    return ' class="number"' if head in numbers else ""


def _rule_row(table: RuleTable, rule: Rule) -> str:
    cells = [
        _rule_cell(rule),
        _number(rule.count, f"{rule.count:,.1f}" if table.pairs else "–"),
        _number(rule.probability, f"{rule.probability:.1%}", part=rule.probability),
        _number(rule.share, f"{rule.share:.2%}"),
        _number(rule.surprise, f"{rule.surprise:,.0f}" if rule.contexts else "–"),
        _where(rule),
        _cell("", " ".join(_example(table, rule, example) for example in rule.examples[:3])),
    ]
    return f"<tr>{''.join(cells)}</tr>"


def _difference_row(one: RuleDifference) -> str:
    sides = zip(one.counts, one.opportunities, one.probabilities, strict=True)
    cells = [_rule_cell(one.rule)]
    for count, tries, probability in sides:
        counted = f" ({count:,.0f} of {tries:,.0f})" if tries else ""
        cells.append(_number(probability, f"{probability:.1%}{counted}", part=probability))
    cells += [_number(one.difference, f"{one.difference:+.1%}"), _number(one.g2, f"{one.g2:,.1f}")]
    cells += [_number(one.p_value, f"{one.p_value:.1g}"), _where(one.rule)]
    return f"<tr>{''.join(cells)}</tr>"


def _rule_cell(rule: Rule) -> str:
    source, target = _isolated(visible(rule.source)), _isolated(visible(rule.target))
    shown = {"delete": f"−{source}", "insert": f"+{target}", "substitute": f"{source} → {target}", "keep": source}
    return _cell(f"rule {rule.kind}", shown[rule.kind], sort=f"{rule.source} {rule.target}")


def _where(rule: Rule) -> str:
    strength = "; ".join(
        f"{one.side} {visible(one.symbol)}: {one.probability:.1%} of {one.opportunities:,.0f}" for one in rule.telling
    )
    return (
        f'<td class="where" title="{escape(strength)}" data-value="{escape(rule.told())}">{_isolated(rule.told())}</td>'
    )


def _example(table: RuleTable, rule: Rule, example: RuleExample) -> str:
    """Example pair, with what the operation reads and writes marked."""
    read, written = example.i if rule.source else None, example.j if rule.target else None
    source = _marked(example.source, read, table.separators[0])
    target = _marked(example.target, written, table.separators[1])
    return f'<span class="example" title="{example.probability:.1%}">{source} → {target}</span>'


def _marked(symbols: Sequence[str], place: int | None, separator: str) -> str:
    """Marked symbol of a string, in its own direction."""
    shown = [escape(symbol) for symbol in symbols]
    if place is not None:
        shown[place] = f"<mark>{shown[place]}</mark>"
    return f"<bdi>{separator.join(shown)}</bdi>"


def _number(value: float, shown: str, *, part: float | None = None) -> str:
    """Sortable number cell; with a bar for a part of one."""
    bar = "" if part is None else f' style="--part: {min(part, 1.0):.1%}"'
    return f'<td class="number{"" if part is None else " share"}"{bar} data-value="{value:.9g}">{escape(shown)}</td>'


def _cell(kind: str, content: str, *, sort: str = "") -> str:
    """Table cell; `content` is HTML already."""
    return f'<td class="{kind}" data-value="{escape(sort)}">{content}</td>'


def _isolated(text: str) -> str:
    """Bidi-isolated text, which leaves the direction of what stands beside it alone."""
    return f"<bdi>{escape(text)}</bdi>"
