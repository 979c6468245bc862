"""HTML rendering of an explanation: a fragment without script, link or anything from elsewhere; and its style."""

from collections.abc import Iterable, Iterator
from html import escape

from nsed.explain.decision import Decision
from nsed.explain.explanation import Evidence
from nsed.explain.render.edit_boxes import BOX_STYLE, boxes
from nsed.explain.render.markup import tag, words
from nsed.explain.render.numbers import nats, percent
from nsed.explain.render.pictures import to_svg
from nsed.text import EditScript
from nsed.text.visible import drawn

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
    facts = _decision(evidence.decision, evidence.log_prob) if evidence.decision else _log_prob(evidence)
    return tag("p", {"class": "nsed-pair"}, *sides, " ", facts)


def _log_prob(evidence: Evidence) -> str:
    return words(f" log-probability {nats(evidence.log_prob)}")


def _decision(decision: Decision, score: float) -> str:
    sign, side = ("✓", "reaches") if decision.match else ("✗", "is below")
    marks = {"class": "nsed-decision", "data-match": str(decision.match).lower()}
    border = f"score {nats(score)} {side} the threshold {nats(decision.threshold)}"
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
