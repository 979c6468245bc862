"""Tutorials run as their pages and notebooks have them: one cell after the other, in one folder."""

import doctest
import json
import re

import pytest
from tools.notebooks import TUTORIALS, Cell, answer, cells, execute, notebook, pages

from nsed.jobs import unsupervised

PAGES = pages()
NOTEBOOKS = {name: json.loads((TUTORIALS / f"{name}.ipynb").read_text(encoding="utf-8")) for name in PAGES}
SAME = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def code_of(page):
    return [cell for cell in cells(page) if cell.kind != "markdown"]


def assert_shown(cell, outputs):
    wanted, found = f"{cell.answer}\n", answer(cell.kind, outputs)
    assert not cell.answer or doctest.OutputChecker().check_output(wanted, found, SAME), (cell.source, wanted, found)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("name", PAGES)
def test_tutorial_runs_and_answers_as_its_page_says(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(unsupervised.SETTINGS, "train__steps", 20)  # of `nsed cluster auto`: a fraction of the time
    space = {"__name__": "__main__"}
    for cell in code_of(PAGES[name]):
        assert_shown(cell, execute(cell, space))


@pytest.mark.parametrize("name", PAGES)
def test_notebook_has_the_cells_of_its_page(name):
    kept, made = NOTEBOOKS[name], notebook(PAGES[name])
    bare = [cell | {"execution_count": None, "outputs": []} if "outputs" in cell else cell for cell in kept["cells"]]
    assert kept | {"cells": bare} == made, f"python -m tools.notebooks {name}"
    assert len(code_of(PAGES[name])) >= 5


@pytest.mark.parametrize("name", PAGES)
def test_notebook_was_executed_and_answers_as_its_page_says(name):
    ran = [cell for cell in NOTEBOOKS[name]["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in ran] == list(range(1, len(ran) + 1))
    for cell, kept in zip(code_of(PAGES[name]), ran, strict=True):
        assert_shown(cell, kept["outputs"])
        values = [one for one in kept["outputs"] if one["output_type"] == "execute_result"]
        assert all(one["execution_count"] == kept["execution_count"] for one in values)


def test_notebooks_have_pictures_and_name_no_machine():
    text = "".join((TUTORIALS / f"{name}.ipynb").read_text(encoding="utf-8") for name in PAGES)
    assert text.count('"image/svg+xml": "<?xml') >= 5  # learning curves
    assert text.count('"text/html": "<section') >= 2  # explanations
    assert not re.search(r"(?<![\w.<])/(?:home|root|tmp|usr|var|work)/", text)
    assert len(text.encode()) < 1_000_000


def test_what_a_command_writes_stands_right_below_it():
    page = "Do:\n\n```sh\nnsed --version\n```\n\n```text\n0...\n```\n\nDone.\n"
    assert list(cells(page)) == [
        Cell("markdown", "Do:"),
        Cell("sh", "nsed --version", "0..."),
        Cell("markdown", "Done."),
    ]


def test_outputs_are_those_of_a_notebook(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space = {}
    assert execute(Cell("python", "one = 1"), space) == []
    assert execute(Cell("python", "print(one)\none + 1"), space) == [
        {"output_type": "stream", "name": "stdout", "text": "1\n"},
        {"output_type": "execute_result", "metadata": {}, "data": {"text/plain": "2"}},
    ]
    written, picture = execute(Cell("sh", "echo '<svg/>' > a.svg\necho done >&2"), space)
    assert written == {"output_type": "stream", "name": "stderr", "text": "done\n"}
    assert picture["data"] == {"text/plain": "a.svg", "image/svg+xml": "<svg/>\n"}
