"""Tutorials run as their pages and notebooks have them: one cell after the other, in one folder."""

import contextlib
import doctest
import io
import json
import re
import shlex
import subprocess

import pytest
from tools.notebooks import TUTORIALS, Cell, cells, notebooks

from nsed.jobs import unsupervised
from support.commands import run

PAGES = sorted(path.stem for path in TUTORIALS.glob("*.md") if f"{path.stem}.ipynb" in notebooks())
SAME = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
STATEMENT = re.compile(r"^[^\n]*<< 'END'\n.*?\nEND$|^[^\n]+$", flags=re.MULTILINE | re.DOTALL)
"""A statement of the shell: a line, or what stands between a line and its END."""


def shell(source):
    """What the last statement of a cell writes; commands of ours run in this process."""
    shown = ""
    for statement in STATEMENT.findall(source.replace("\\\n", "")):
        if statement.startswith("nsed "):
            shown = run(*shlex.split(statement, comments=True)[1:])
        else:
            shown = subprocess.run(["sh", "-c", statement], check=True, capture_output=True, text=True).stdout
    return shown


def python(source, space):
    """What a session shows: what is printed, and the value of the last line."""
    written = io.StringIO()
    *before, last = doctest.DocTestParser().get_examples(as_session(source))
    with contextlib.redirect_stdout(written):
        for example in before:
            exec(example.source, space)
        exec(compile(last.source, "cell", "single"), space)
    return written.getvalue()


def as_session(source):
    return "".join(f"{'...' if line.startswith((' ', ')', ']')) else '>>>'} {line}\n" for line in source.splitlines())


def answer_of(cell, space):
    if cell.kind == "sh":
        return shell(cell.source)
    if cell.answer or not cell.source.startswith("# "):
        return python(cell.source, space)
    exec(cell.source, {})  # a program, which is saved and run
    return ""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("name", PAGES)
def test_tutorial_runs_and_answers_as_its_page_says(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(unsupervised.SETTINGS, "train__steps", 20)  # of `nsed cluster auto`: a fraction of the time
    space = {}
    for cell in cells((TUTORIALS / f"{name}.md").read_text(encoding="utf-8")):
        if cell.kind != "markdown":
            shown = answer_of(cell, space)
            if cell.answer:
                wanted, found = f"{cell.answer}\n", shown
                assert doctest.OutputChecker().check_output(wanted, found, SAME), (cell.source, wanted, found)


def test_notebooks_have_the_code_of_their_pages():
    made = {name: json.loads(text) for name, text in notebooks().items()}
    assert set(made) == {f"{name}.ipynb" for name in PAGES}
    for name in PAGES:
        page = [one for one in cells((TUTORIALS / f"{name}.md").read_text(encoding="utf-8")) if one.kind != "markdown"]
        code = [one for one in made[f"{name}.ipynb"]["cells"] if one["cell_type"] == "code"]
        assert [one["source"].removeprefix("%%sh\n") for one in code] == [one.source for one in page]
        assert len(code) >= 5


def test_what_a_command_writes_stands_right_below_it():
    page = "Do:\n\n```sh\nnsed --version\n```\n\n```text\n0...\n```\n\nDone.\n"
    assert list(cells(page)) == [
        Cell("markdown", "Do:"),
        Cell("sh", "nsed --version", "0..."),
        Cell("markdown", "Done."),
    ]
