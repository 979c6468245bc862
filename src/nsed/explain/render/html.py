"""HTML rendering of an explanation: a fragment without script, link or anything from elsewhere; and its style.

An edit script is a row of boxes, the source's symbol above the target's: one way for all pages. Colour is never the
only sign: where a box has one symbol only, a sign stands in for the other. How solid a box is shows how probable the
operation is, in tenths; so do its title and, where it is in doubt, a number.
"""

from collections.abc import Iterable, Iterator
from html import escape

from nsed.explain.decision import Decision
from nsed.explain.explanation import Evidence
from nsed.explain.render.markup import COLOURS, SIGNS, tag, words
from nsed.explain.render.pictures import to_svg
from nsed.explain.render.text import nats, percent
from nsed.text import Edit, EditScript
from nsed.text.visible import drawn

WORDS = {"equal": "keep", "replace": "substitute", "delete": "delete", "insert": "insert"}
"""Operation names: what an operation does, by its tag."""
UNSURE = 0.9
"""Uncertainty threshold: operations that are less probable say so."""


def boxes(script: EditScript, *, exact: bool = False) -> str:
    """Edit boxes, one per operation, in the order in which the strings are read.

    `exact` adds all that is known of an operation, for programs that read the page.

    >>> boxes(EditScript((Edit("delete", "<", "", 0, 0, 0.5),)))
    '<span class="nsed-script" dir="ltr" lang=""><i class="d p5" title="delete -&lt;, 50.0%"><bdi>&lt;</bdi><u>−</u>...
    """
    shown = [box(edit, exact=exact) for edit in script] or [tag("em", {}, "nothing to do")]
    return tag("span", {"class": "nsed-script", "dir": "ltr", "lang": ""}, *shown)


def box(edit: Edit, *, exact: bool = False) -> str:
    """Edit box of one operation; the element `bdi` keeps the direction of a symbol from its neighbours."""
    sign = tag("u", {}, SIGNS[edit.tag])
    above = sign if edit.tag == "insert" else _symbol(edit.source)
    below = sign if edit.tag in ("delete", "equal") else _symbol(edit.target)
    doubt = tag("small", {}, words(percent(edit.probability, 0))) if edit.probability < UNSURE else ""
    title = f"{WORDS[edit.tag]} {edit}, {percent(edit.probability)}"
    shown = {"class": f"{WORDS[edit.tag][0]} p{round(10 * edit.probability)}", "title": title}
    return tag("i", {**shown, **_facts(edit)} if exact else shown, above, below, doubt)


def legend() -> str:
    """Legend: what the colours and signs mean.

    >>> legend().count("<i class=")
    4
    """
    kinds = [Edit("substitute", "a", "a", 0, 0), Edit("substitute", "a", "b", 0, 0)]
    kinds += [Edit("delete", "a", "", 0, 0), Edit("insert", "", "b", 0, 0)]
    return tag("span", {"class": "nsed-script nsed-legend"}, *(box(edit) + words(WORDS[edit.tag]) for edit in kinds))


def _symbol(symbol: str) -> str:
    return tag("bdi", {}, words(drawn(symbol)))


def _facts(edit: Edit) -> dict[str, object]:
    return {
        "data-kind": edit.kind,
        "data-source": drawn(edit.source),
        "data-target": drawn(edit.target),
        "data-probability": repr(edit.probability),
        "data-weight": nats(edit.log_weight),
    }


def _channels(colour: str) -> str:
    return ",".join(str(int(colour[place : place + 2], 16)) for place in (1, 3, 5))


_COLOURS = "".join(
    f".nsed-script>.{word[0]}{{--nsed-colour:{_channels(COLOURS[name])}}}\n" for name, word in WORDS.items()
)
_SOLID = "".join(f".nsed-script>.p{tenth}{{--nsed-solid:{0.05 + 0.045 * tenth:.3f}}}\n" for tenth in range(11))

BOX_STYLE = f"""
.nsed-script{{display:inline-flex;flex-wrap:wrap;align-items:flex-start;gap:3px}}
.nsed-script>i{{display:inline-flex;flex-direction:column;align-items:center;min-width:1.5em;padding:0 .3em;
font-style:normal;line-height:1.35;white-space:nowrap;border-radius:.25em;border:1px solid rgb(var(--nsed-colour));
background:rgba(var(--nsed-colour),var(--nsed-solid));print-color-adjust:exact;-webkit-print-color-adjust:exact}}
.nsed-script>i>u{{text-decoration:none;opacity:.6}}
.nsed-script>i>small{{font-size:.68em;line-height:1.3;color:inherit;opacity:.85}}
.nsed-legend{{align-items:center;gap:3px 5px}}
.nsed-legend>i~i{{margin-left:.6em}}
{_COLOURS}{_SOLID}"""
"""CSS of the boxes, on light and on dark pages."""


STYLE = f"""
.nsed-explanation{{font-family:system-ui,sans-serif;line-height:1.5;overflow-x:auto}}
.nsed-explanation p{{margin:.4em 0}}
.nsed-explanation table{{border-collapse:collapse;margin:.4em 0;border:0}}
.nsed-explanation td{{padding:0 .45em;border:0;text-align:center;background:none}}
.nsed-string{{font-weight:600}}
.nsed-decision{{border:1.5px solid currentColor;border-radius:.3em;padding:0 .4em}}
.nsed-explanation .nsed-outputs td,.nsed-explanation .nsed-others td{{text-align:start}}
.nsed-pictures{{display:flex;flex-wrap:wrap;gap:1.5em;align-items:flex-start}}
.nsed-explanation svg{{max-width:100%;height:auto}}
.nsed-explanation summary{{cursor:pointer}}
{BOX_STYLE}"""
"""CSS for the fragments of `Explanation.to_html`; all names begin with `nsed-`."""


def page(fragments: Iterable[str], *, title: str = "explanations") -> Iterator[str]:
    """HTML page around fragments that were made without style, part by part."""
    yield f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
    yield f'<meta name="color-scheme" content="light dark"><style>{STYLE}</style></head><body>\n'
    yield from (f"{fragment}\n<hr>\n" for fragment in fragments)
    yield "</body></html>\n"


def to_html(evidence: Evidence, *, style: bool = True) -> str:
    """HTML fragment: the decision, the script as coloured boxes, the pictures and what else there might have been."""
    parts = [
        tag("style", {}, STYLE) if style else "",
        _headline(evidence),
        _script(evidence.script),
        tag("p", {"class": "nsed-sure"}, words(_how_sure(evidence))),
        tag("div", {"class": "nsed-pictures"}, to_svg(evidence, "waterfall"), to_svg(evidence, "alpha")),
        *_more(evidence),
    ]
    return tag("section", {"class": "nsed-explanation", "dir": "ltr"}, *parts)


def _script(script: EditScript) -> str:
    return tag("div", {"data-share": repr(script.share)}, boxes(script, exact=True))


def _headline(evidence: Evidence) -> str:
    sides = [_string(evidence.source), " ⇒ ", _string(evidence.target)]
    facts = _decision(evidence.decision) if evidence.decision else _log_prob(evidence)
    return tag("p", {"class": "nsed-pair"}, *sides, " ", facts)


def _log_prob(evidence: Evidence) -> str:
    return words(f" log-probability {nats(evidence.log_prob)}")


def _decision(decision: Decision) -> str:
    sign, side = ("✓", "reach") if decision.match else ("✗", "are below")
    marks = {"class": "nsed-decision", "data-match": str(decision.match).lower()}
    border = f"log-odds {nats(decision.log_odds)} {side} the threshold {nats(decision.needed)}"
    badge = tag("strong", marks, words(f"{sign} {decision.word}"))
    sure = f" probability {percent(decision.probability)}, a match from {percent(decision.threshold_probability)} on"
    return badge + words(f"{sure}; {border}")


def _string(symbols: Iterable[str]) -> str:
    """Symbols of a string, in the direction of its script."""
    return tag("bdi", {"class": "nsed-string", "dir": "auto"}, words(" ".join(map(drawn, symbols)) or "∅"))


def _how_sure(evidence: Evidence) -> str:
    return f"This script is {percent(evidence.script.share)} of all derivations; entropy {nats(evidence.entropy)} nats."


def _more(evidence: Evidence) -> Iterator[str]:
    if evidence.outputs:
        rows = ((percent(output.probability), _string(output.symbols)) for output in evidence.outputs)
        yield _folded("most probable outputs", _ranked("nsed-outputs", rows), unfolded=True)
    if len(evidence.scripts) > 1:
        others = ((percent(script.share), _script(script)) for script in evidence.scripts[1:])
        yield _folded("other scripts", _ranked("nsed-others", others), unfolded=True)
    yield _folded("which symbol became which", to_svg(evidence, "posteriors"))
    yield _folded("the lattice", to_svg(evidence, "lattice"))


def _ranked(name: str, rows: Iterable[tuple[str, str]]) -> str:
    lines = [tag("tr", {}, tag("td", {}, words(share)), tag("td", {}, shown)) for share, shown in rows]
    return tag("table", {"class": name}, *lines)


def _folded(summary: str, content: str, *, unfolded: bool = False) -> str:
    return tag("details", {"open": ""} if unfolded else {}, tag("summary", {}, words(summary)), content)
