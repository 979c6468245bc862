"""An edit script as a row of coloured boxes, the source's symbol above the target's."""

from nsed.evaluate.report.html.markup import foreign
from nsed.text import Edit, EditScript
from nsed.text.visible import drawn

_WORDS = {"equal": "keep", "replace": "substitute", "delete": "delete", "insert": "insert"}

LEGEND = "".join(f'<span class="edit {kind}"><span>{kind}</span></span>' for kind in _WORDS.values())
"""What the colours mean."""


def boxes(script: EditScript) -> str:
    """One box per operation, from left to right in the order in which the strings are read.

    >>> boxes(EditScript((Edit("delete", "<", "", 0, 0),)))
    '<span class="script" dir="ltr"><span class="edit delete" title="delete"><bdi ...>&lt;</bdi><i>·</i></span></span>'
    """
    return f'<span class="script" dir="ltr">{"".join(map(_box, script))}</span>'


def _box(edit: Edit) -> str:
    kind = _WORDS[edit.tag]
    sure = "" if edit.probability == 1 else f", {edit.probability:.0%}"
    return f'<span class="edit {kind}" title="{kind}{sure}">{_symbol(edit.source)}{_symbol(edit.target)}</span>'


def _symbol(symbol: str) -> str:
    return foreign(drawn(symbol)) if symbol else "<i>·</i>"
