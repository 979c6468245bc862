"""Edit script as a row of HTML boxes, the source's symbol above the target's: one way for all pages.

Colour is never the only sign: where a box has one symbol only, a sign stands in for the other. How solid a box is shows
how probable the operation is, in tenths; so do its title and, where it is in doubt, a number.
"""

from nsed.explain.render.markup import COLOURS, SIGNS, tag, words
from nsed.explain.render.numbers import nats, percent
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
