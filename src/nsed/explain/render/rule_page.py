"""HTML page of rules: no other file is needed, columns can be sorted, and nothing in the data can act."""

from collections.abc import Iterable, Sequence
from html import escape

from nsed.explain.rule_table import Rule, RuleDifference, RuleExample, RuleTable
from nsed.text.visible import visible

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
        _name(rule),
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
    cells = [_name(one.rule)]
    for count, tries, probability in sides:
        counted = f" ({count:,.0f} of {tries:,.0f})" if tries else ""
        cells.append(_number(probability, f"{probability:.1%}{counted}", part=probability))
    cells += [_number(one.difference, f"{one.difference:+.1%}"), _number(one.g2, f"{one.g2:,.1f}")]
    cells += [_number(one.p_value, f"{one.p_value:.1g}"), _where(one.rule)]
    return f"<tr>{''.join(cells)}</tr>"


def _name(rule: Rule) -> str:
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
