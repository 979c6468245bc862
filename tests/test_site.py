"""The documentation: every snippet is run by a test, every public name has an example, the site holds together."""

import ast
import doctest
import importlib
import inspect
import json
import re
from collections import Counter
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType

import pytest
from tools.notebooks import TUTORIALS, pages
from tools.site_pictures import FOLDER, PICTURES
from tools.site_reference import ROOMS, command_page, generated_pages

import nsed
from nsed.cli.commands import COMMANDS, EXAMPLES
from support.commands import run

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
HERE_DOCUMENT = re.compile(r"^[^\n]*<< 'END'\n.*?\nEND$", flags=re.MULTILINE | re.DOTALL)
SESSION = re.compile(r"^\s*(?:>>>|\.\.\.) (.*)$", flags=re.MULTILINE)
SOURCES = sorted((ROOT / "src").rglob("*.py"))
MEMBERS = (FunctionType, classmethod, staticmethod, property, cached_property)
"""Parts of a class that have docstrings of their own."""
OTHER_TESTS = {
    ROOT / "README.md": "pip install ",  # .ci/run
    ROOT / "docs/serve.md": "",  # tests/web/test_command.py runs the whole block
}
"""Documents with lines for a shell that are no commands of ours, how these lines begin, and who runs them."""


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_block_of_code_is_of_a_kind_that_a_test_runs(path):
    """Sessions are doctests, lines `nsed ...` run by test_project.py, and whole tutorials by test_tutorials.py."""
    for language, text in BLOCK.findall(path.read_text(encoding="utf-8")):
        assert language in ("python", "sh", "text"), (path, language)
        if language == "python":
            assert text.startswith(">>> ") or re.match(r"# \w+\.py\n", text), (path, text)
            assert not text.startswith(">>> ") or text.endswith("\n\n"), (
                path,
                "a doctest ends with an empty line",
                text,
            )
        if language == "sh" and path.parent != TUTORIALS:
            lines = HERE_DOCUMENT.sub("", text).replace("\\\n", "").split("\n")
            others = [line for line in lines if line.strip() and not line.startswith("nsed ")]
            assert all(path in OTHER_TESTS and line.startswith(OTHER_TESTS[path]) for line in others), (path, others)


def test_every_public_name_has_an_example():
    """In its own docstring, a method's, or the code of a page; a constant, which has none, in any session."""
    pages = "\n".join(_lines_of_code(path.read_text(encoding="utf-8")) for path in DOCUMENTS)
    modules = "\n".join(_lines_of_code(path.read_text(encoding="utf-8")) for path in SOURCES)
    without = [
        f"{room.__name__}.{name}"
        for room in map(importlib.import_module, ("nsed", *ROOMS))
        for name in room.__all__
        if not name.startswith("__") and not _has_example(room, name, pages=pages, modules=modules)
    ]
    assert without == []


def _lines_of_code(text):
    """Lines that somebody types: of sessions, and of whole scripts, which other tests run."""
    scripts = (script for language, script in BLOCK.findall(text) if language == "python" and script.startswith("# "))
    return "\n".join([*SESSION.findall(text), *scripts])


def _has_example(room, name, *, pages, modules):
    """Whether a session of its own names it, or a page takes it from its room, or from `nsed`, and so shows whence."""
    one = getattr(room, name)
    places = "|".join(re.escape(place) for place in {room.__name__, room.__name__.rpartition(".")[2], "nsed"})
    if re.search(rf"\b(?:{places})\.{name}\b|\bfrom nsed[\w.]* import [^\n]*\b{name}\b", pages):
        return True
    if not inspect.isclass(one) and not inspect.isroutine(one):
        return re.search(rf"\b{name}\b", modules) is not None
    methods = vars(one).items() if inspect.isclass(one) else ()
    described = [(name, one), *((method, member) for method, member in methods if isinstance(member, MEMBERS))]
    return any(re.search(rf"\b(?:{name}|{shown})\b", _session(member.__doc__)) for shown, member in described)


def _session(docstring):
    """What the doctests of a docstring say, and what they are answered."""
    return "\n".join(f"{one.source}\n{one.want}" for one in doctest.DocTestParser().get_examples(docstring or ""))


def test_page_of_a_command_says_what_its_help_says():
    page = command_page("score", COMMANDS["score"][0])
    assert page.startswith("# nsed score\n\nScore each pair by its log-probability")
    assert "```text\nnsed score [OPTIONS] MODEL [PAIRS...]\n```" in page
    assert "| `--shard-rows` |" in page
    assert f"```sh\n{EXAMPLES['score'][0]}\n" in page


def test_settings_of_the_reference_are_those_of_the_code():
    text = generated_pages()["reference/settings.md"].text
    assert text.count("\n## ") == sum(name.endswith("Config") for name in nsed.__all__)
    assert "| `dim` | `int` | `256` | Hidden dimension: size of all vectors. |" in text


def test_reference_has_every_public_name():
    pages = generated_pages()
    for module in ("nsed", *ROOMS):
        folder = ROOT / "src" / module.replace(".", "/")
        source = (folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")).read_text(encoding="utf-8")
        (listed,) = (ast.literal_eval(names) for names in re.findall(r"^__all__ = (\[.*?\])$", source, re.M | re.S))
        found = re.findall(rf"^::: {module}\.(\w+)$", pages[f"reference/{module}.md"].text, flags=re.MULTILINE)
        assert Counter(found) == Counter(n for n in listed if not n.endswith("Config") and not n.startswith("__"))


def test_navigation_names_pages_that_there_are():
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    named = re.findall(r"[\w/-]+\.md", nav)
    assert len(named) == len(set(named)) >= 35
    assert [page for page in named if not (ROOT / "docs" / page).exists()] == []


@pytest.mark.parametrize("name", ["dependencies", "griffe_doctests", "notebooks"])
def test_examples_of_the_tools_run(name):
    if name == "griffe_doctests":
        pytest.importorskip("griffe")
    done = doctest.testmod(importlib.import_module(f"tools.{name}"))
    assert done.attempted
    assert not done.failed


@pytest.mark.slow
@pytest.mark.skipif(find_spec("mkdocs") is None or find_spec("mkdocstrings") is None, reason="extra docs")
@pytest.mark.filterwarnings("ignore")  # others' code
def test_site_builds_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path, monkeypatch):
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    monkeypatch.chdir(ROOT)
    config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(tmp_path / "site"))
    assert config.strict
    config.plugins.on_startup(command="build", dirty=False)
    build(config)  # raises where something is missing, or a link leads nowhere
    site = tmp_path / "site"
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"<(?:script|img|iframe)[^>]*\bsrc=[\"']?(?:https?:)?//", text), page
        assert not re.search(r"<link[^>]*rel=[\"']?(?:stylesheet|preconnect)[^>]*href=[\"']?(?:https?:)?//", text), page
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    assert {"concepts/calibration.html", "reference/commands/link.html", "faq.html"} <= {
        entry["location"].partition("#")[0] for entry in index["docs"]
    }
    reference = (site / "reference" / "nsed.html").read_text(encoding="utf-8")
    documented = [name for name in nsed.__all__ if not name.endswith("Config") and not name.startswith("__")]
    assert [name for name in documented if f'id="nsed.{name}"' not in reference] == []
    assert all((site / "tutorials" / f"{name}.ipynb").exists() for name in pages())
    scale = re.sub(r"<[^>]*>", "", (site / "tutorials" / "scale.html").read_text(encoding="utf-8"))
    assert "colour\tcolor" in scale  # whoever copies a table from the page copies its tabs


NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in PICTURES if name != "mixture.svg"])  # four models take their time
def test_pictures_are_those_that_the_program_makes(name, tmp_path):
    run(*PICTURES[name], "-o", tmp_path / name)
    made, kept = ((folder / name).read_text(encoding="utf-8") for folder in (tmp_path, FOLDER))
    assert NUMBER.sub("0", made) == NUMBER.sub("0", kept)
    numbers = zip(NUMBER.findall(made), NUMBER.findall(kept), strict=True)
    assert all(abs(float(one) - float(other)) <= 0.01 * max(1, abs(float(other))) for one, other in numbers)


def test_commands_of_the_pictures_are_on_the_pages():
    pages = "\n".join(path.read_text(encoding="utf-8") for path in DOCUMENTS)
    for name, command in PICTURES.items():
        written = " ".join(f'"{word}"' if " " in word else word for word in command)
        assert f"nsed {written} -o {name}\n" in pages
        assert f"/{name})" in pages
