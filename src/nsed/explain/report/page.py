"""The report as a page: one file that needs no other, for screens, phones and paper, by day and by night."""

from collections.abc import Iterator, Sequence
from importlib.resources import files

from nsed.explain.edit_boxes import BOX_STYLE, UNSURE, legend
from nsed.explain.markup import text
from nsed.explain.numbers import percent
from nsed.explain.outline import Outline
from nsed.explain.report.rows import table
from nsed.explain.report.summary import choices, operations_of, summary

_ALONE = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
"""What the page allows itself: nothing from outside."""


def report_page(outlines: Sequence[Outline], *, title: str) -> Iterator[str]:
    """The page, part by part, ready for a file in UTF-8. All of it can be read and printed without its script."""
    operations = operations_of(outlines)
    yield '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_ALONE}">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield f"<title>{text(title)}</title>\n<style>{BOX_STYLE}{_resource('page.css')}</style>\n"
    yield '<script>document.documentElement.className = "js"</script></head><body>\n<header>'
    yield f"<h1><bdi>{text(title)}</bdi></h1>\n{summary(outlines, operations)}</header>\n<main>\n"
    yield _controls(choices(operations))
    yield f'<p class="legend">{legend()} <span>{_PALE}</span><b></b></p>\n'
    yield from table(outlines)
    yield f"{_PAGES}</main>\n<script>\n{_resource('page.js')}</script>\n</body></html>\n"


_PALE = f"the paler, the less probable; below {percent(UNSURE, 0)} with a number"
_SORT = '<label class="sort">sort by <select></select></label>\n'
_PAGES = (
    '<nav class="pages"><button type="button" data-step="-1" aria-label="previous pairs">‹</button>'
    '<output></output><button type="button" data-step="1" aria-label="next pairs">›</button></nav>\n'
)


def _controls(options: str) -> str:
    return (
        '<form class="controls" role="search"><input type="search" autocomplete="off" spellcheck="false" dir="auto" '
        'placeholder="source, target or operation, say a→b" aria-label="search source, target or operation">\n'
        f'<select aria-label="pairs with this operation">{options}</select>\n{_SORT}{_PAGES}</form>\n'
    )


def _resource(name: str) -> str:
    return (files("nsed.explain.report") / name).read_text(encoding="utf-8")
