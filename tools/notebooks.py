"""Notebooks of the tutorials, made of their pages: `python -m tools.notebooks FOLDER`; the site has them too.

What a page shows is a cell: commands of the shell, a Python session whose answers are the cell's output, a program. The
tests run the cells of each page one after the other, in one folder, so that pages and notebooks cannot drift apart.
"""

import doctest
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

TUTORIALS = Path(__file__).parents[1] / "docs" / "tutorials"
FENCED = re.compile(r"^```(sh|python)\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?", flags=re.MULTILINE | re.DOTALL)
"""A block of code, and the block of text right below it, which is what its last command writes."""
LINK = re.compile(r"(?<!!)\[([^\[\]]*)\]\([\w./#-]+\)")
PICTURE = re.compile(r"^!\[.*\]\(.*\).*\n", flags=re.MULTILINE)


class Cell(NamedTuple):
    """Cell of a notebook: `markdown`, `sh` or `python`, its source, and what it answers."""

    kind: str
    source: str
    answer: str = ""


def cells(page: str) -> Iterator[Cell]:
    r"""Cells of a page.

    >>> list(cells("# One\n\n```python\n>>> 1 + 1\n2\n\n```\n"))
    [Cell(kind='markdown', source='# One', answer=''), Cell(kind='python', source='1 + 1', answer='2')]
    """
    end = 0
    for block in FENCED.finditer(page):
        yield from _prose(page[end : block.start()])
        yield from _code(block[1], block[2], (block[3] or "").rstrip())
        end = block.end()
    yield from _prose(page[end:])


def _prose(text: str) -> Iterator[Cell]:
    """Text without links and pictures, which lead nowhere outside of the site."""
    plain = LINK.sub(r"\1", PICTURE.sub("", text)).strip()
    if plain:
        yield Cell("markdown", plain)


def _code(language: str, text: str, answer: str) -> Iterator[Cell]:
    if language == "sh" or ">>> " not in text:
        yield Cell(language, text.rstrip("\n"), answer)
        return
    lines: list[str] = []
    for example in doctest.DocTestParser().get_examples(text):
        lines.append(example.source.rstrip("\n"))
        if example.want:
            yield Cell("python", "\n".join(lines), example.want.rstrip("\n"))
            lines = []
    if lines:
        yield Cell("python", "\n".join(lines))


def notebook(page: str) -> str:
    """Notebook of a page, as its file has it (nbformat 4.5)."""
    made = [_json(number, cell) for number, cell in enumerate(cells(page))]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"


def _json(number: int, cell: Cell) -> dict[str, Any]:
    common = {"id": f"cell-{number}", "metadata": {}}
    if cell.kind == "markdown":
        return {"cell_type": "markdown", **common, "source": cell.source}
    source = f"%%sh\n{cell.source}" if cell.kind == "sh" else cell.source
    shown = [{"output_type": "stream", "name": "stdout", "text": f"{cell.answer}\n"}] if cell.answer else []
    return {"cell_type": "code", **common, "execution_count": None, "source": source, "outputs": shown}


def notebooks() -> dict[str, str]:
    """Notebooks of all tutorials, by the names of their files."""
    pages = {path.stem: path.read_text(encoding="utf-8") for path in sorted(TUTORIALS.glob("*.md"))}
    return {f"{name}.ipynb": notebook(text) for name, text in pages.items() if FENCED.search(text)}


if __name__ == "__main__":
    for name, text in notebooks().items():
        path = Path(sys.argv[1]) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
