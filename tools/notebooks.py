"""Notebooks of the tutorials: `python -m tools.notebooks [NAME ...]` executes the pages and keeps what came out.

What a page shows is a cell: commands of the shell, a Python session whose last value is the cell's result, a program.
The tests execute the cells of each page by the same functions, one after the other, in one folder, and hold the kept
notebooks to the pages: their cells are the same, and their outputs are what the pages show of them.
"""

import ast
import base64
import contextlib
import doctest
import io
import json
import re
import shlex
import subprocess
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from typer.testing import CliRunner

from nsed.__main__ import app
from nsed.cli.console import show_warning

TUTORIALS = Path(__file__).parents[1] / "docs" / "tutorials"
FENCED = re.compile(r"^```(sh|python)\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?", flags=re.MULTILINE | re.DOTALL)
"""A block of code, and the block of text right below it, which is what its last command writes."""
LINK = re.compile(r"(?<!!)\[([^\[\]]*)\]\([\w./#-]+\)")
PICTURE = re.compile(r"^!\[.*\]\(.*\).*\n", flags=re.MULTILINE)
STATEMENT = re.compile(r"^[^\n]*<< 'END'\n.*?\nEND$|^[^\n]+$", flags=re.MULTILINE | re.DOTALL)
"""A statement of the shell: a line, or what stands between a line and its END."""

Output = dict[str, Any]
"""Output of a cell, as notebooks have it."""


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


def execute(cell: Cell, space: dict[str, Any]) -> list[Output]:
    """Execute a cell of code in the current folder and a namespace: its outputs, with the pictures that it writes."""
    known = set(_pictures())
    outputs = _shell(cell.source) if cell.kind == "sh" else _python(cell.source, space)
    return outputs + [_picture(path) for path in _pictures() if path not in known]


def _shell(source: str) -> list[Output]:
    written = map(_command, STATEMENT.findall(source.replace("\\\n", "")))
    return [one for stdout, stderr in written for one in (*_stream("stdout", stdout), *_stream("stderr", stderr))]


def _command(statement: str) -> tuple[str, str]:
    """What a statement writes to standard output and standard error; commands of ours run in this process."""
    if not statement.startswith("nsed "):
        done = subprocess.run(["sh", "-c", statement], check=True, capture_output=True, text=True)
        return done.stdout, done.stderr
    ours = CliRunner(env={"COLUMNS": "110"}).invoke(app, shlex.split(statement, comments=True)[1:])
    if ours.exit_code:
        raise RuntimeError(f"{statement}: {ours.output}") from ours.exception
    return ours.stdout, ours.stderr


def _python(source: str, space: dict[str, Any]) -> list[Output]:
    """What is printed, and the value of the last line."""
    *before, last = ast.parse(source).body
    stdout, stderr = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr), _values() as values:
        exec(compile(ast.Module(before, []), "cell", "exec"), space)
        exec(compile(ast.Interactive([last]), "cell", "single"), space)
    return [*_stream("stdout", stdout.getvalue()), *_stream("stderr", stderr.getvalue()), *map(_result, values)]


@contextlib.contextmanager
def _values() -> Iterator[list[Any]]:
    """Values that sessions show, as they come."""
    values: list[Any] = []
    kept, sys.displayhook = sys.displayhook, lambda value: None if value is None else values.append(value)
    try:
        yield values
    finally:
        sys.displayhook = kept


def _stream(name: str, text: str) -> list[Output]:
    return [{"output_type": "stream", "name": name, "text": text}] if text else []


def _result(value: Any) -> Output:
    """Value of a cell, with the page that it shows itself by, if it has one."""
    page = {"text/html": value._repr_html_()} if hasattr(value, "_repr_html_") else {}
    return {"output_type": "execute_result", "metadata": {}, "data": {"text/plain": repr(value), **page}}


def _pictures() -> list[Path]:
    return sorted(path for path in Path().rglob("*") if path.suffix in (".png", ".svg"))


def _picture(path: Path) -> Output:
    """Picture that a cell has written."""
    content = path.read_bytes()
    vector = path.suffix == ".svg"
    shown = {"image/svg+xml": content.decode()} if vector else {"image/png": base64.b64encode(content).decode()}
    return {"output_type": "display_data", "metadata": {}, "data": {"text/plain": str(path), **shown}}


def answer(kind: str, outputs: Sequence[Output]) -> str:
    """What a page shows of a cell: of the shell, what the last command writes; of a session, all that it prints."""
    printed = [one["text"] for one in outputs if one["output_type"] == "stream" and one["name"] == "stdout"]
    values = [f"{one['data']['text/plain']}\n" for one in outputs if one["output_type"] == "execute_result"]
    return "".join(printed[-1:] if kind == "sh" else [*printed, *values])


def notebook(page: str, executed: Sequence[list[Output]] = ()) -> dict[str, Any]:
    """Notebook of a page (nbformat 4.5), with the outputs of its cells of code if they are executed."""
    runs = iter(enumerate(executed, 1))
    made = [_json(number, cell, runs) for number, cell in enumerate(cells(page))]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _json(number: int, cell: Cell, runs: Iterator[tuple[int, list[Output]]]) -> dict[str, Any]:
    common = {"id": f"cell-{number}", "metadata": {}}
    if cell.kind == "markdown":
        return {"cell_type": "markdown", **common, "source": cell.source}
    source = f"%%sh\n{cell.source}" if cell.kind == "sh" else cell.source
    count, found = next(runs, (None, []))
    outputs = [{**one, "execution_count": count} if one["output_type"] == "execute_result" else one for one in found]
    return {"cell_type": "code", **common, "execution_count": count, "source": source, "outputs": outputs}


def pages() -> dict[str, str]:
    """Texts of all tutorials, by their names."""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(TUTORIALS.glob("*.md"))}
    return {name: text for name, text in texts.items() if FENCED.search(text)}


def executed_notebook(page: str) -> str:
    """Notebook of a page as its file has it, executed in a folder of its own."""
    space: dict[str, Any] = {"__name__": "__main__"}
    with TemporaryDirectory() as folder, contextlib.chdir(folder), warnings.catch_warnings():
        warnings.showwarning = show_warning  # as the program does: without the places of files
        executed = [execute(cell, space) for cell in cells(page) if cell.kind != "markdown"]
    return json.dumps(notebook(page, executed), ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    for name in sys.argv[1:] or pages():
        text = executed_notebook(pages()[name])
        (TUTORIALS / f"{name}.ipynb").write_text(text, encoding="utf-8")
