"""What a release consists of beside the code: metadata, licences, a bill of materials, a workflow, forms for issues."""

import importlib
import json
import re
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from tools.clean_installs import EXTRAS, SMOKE
from tools.dependencies import dependencies, sbom
from typer.testing import CliRunner

import nsed
from nsed.__main__ import app
from nsed.web.telemetry import ROUTES

ROOT = Path(__file__).parents[1]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
PROJECTS = {
    folder: tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for folder in (".", "lite")
}
"""Metadata of both distributions, by their folders."""
WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))["jobs"]


@pytest.mark.parametrize("folder", PROJECTS)
def test_metadata_says_what_the_citation_and_the_licence_say(folder):
    project = PROJECTS[folder]
    assert project["authors"] == CITATION["authors"]
    assert project["license"] == CITATION["license"]
    assert set(project["urls"].values()) <= {one.get("url") for one in [CITATION, *CITATION["references"]]}
    (name,) = project["license-files"]
    assert (ROOT / folder / name).read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_every_extra_is_installed_and_tried():
    assert set(SMOKE) == {"", *EXTRAS}
    assert {*EXTRAS, "test"} == set(PROJECTS["."]["optional-dependencies"])


def test_release_has_one_date():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## {nsed.__version__} ({CITATION['date-released']})\n" in changelog


def test_long_description_leads_nowhere_that_an_index_does_not_have(monkeypatch):
    hook = SimpleNamespace(MetadataHookInterface=object)  # the tests do without the backend of the build
    monkeypatch.setitem(sys.modules, "hatchling.metadata.plugin.interface", hook)
    made = importlib.import_module("tools.long_description").LongDescription()
    made.root = str(ROOT)
    metadata = {}
    made.update(metadata)
    text = metadata["readme"]["text"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    outward = re.findall(r"\]\(https://[^()]*\)", readme)
    assert re.findall(r"\]\(.*?\)", text) == outward != []
    assert "![" not in text
    assert "<!--" not in text
    words = re.findall(r"\w+", text)
    assert words[:6] == re.findall(r"\w+", readme)[:6]
    assert {"Quickstart", "CONTRIBUTING", "5", "741"} <= set(words)  # texts of links, figures between comments
    assert (ROOT / "lite/README.md").read_text(encoding="utf-8").count("](") == 0


def test_the_gpl_is_in_extras_only_and_the_page_says_so():
    found = dependencies()
    assert {"torch", "numpy"} <= {one.name for one in found if not one.extras}
    assert [one.name for one in found if one.copyleft and not one.extras] == []
    page = (ROOT / "docs/project/licences.md").read_text(encoding="utf-8")
    for one in found:
        if one.copyleft:
            assert set(one.extras) <= {"cognates", "align", "test"}
            assert f"\n| {one.name.lower()}" in page.lower()


def test_bill_of_materials_has_what_is_installed():
    bill = sbom(dependencies())
    assert (bill["bomFormat"], bill["metadata"]["component"]["version"]) == ("CycloneDX", nsed.__version__)
    parts = {part["name"]: part for part in bill["components"]}
    assert parts["torch"]["scope"] == "required"
    assert parts["torch"]["purl"].startswith("pkg:pypi/torch@")
    assert parts["pytest"]["scope"] == "optional"
    assert all(part["licenses"] and part["version"] for part in bill["components"])


def test_container_file_names_what_there_is():
    lines = (ROOT / "Containerfile").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    steps = [line.partition(" ")[::2] for line in lines if line and not line.startswith("#")]
    copied = [one for step, rest in steps if step == "COPY" and "--from" not in rest for one in rest.split()[:-1]]
    assert [one for one in copied if not (ROOT / one).exists()] == []
    assert {"pyproject.toml", "README.md", "LICENSE", "src", "constraints.txt", "tools/long_description.py"} <= set(
        copied
    )
    project = PROJECTS["."]
    (extras,) = [re.search(r"'\.\[(.*?)\]'", rest)[1].split(",") for step, rest in steps if "pip install" in rest]
    assert set(extras) <= set(project["optional-dependencies"])
    given = dict(steps)
    (python,) = [rest.removeprefix("PYTHON=") for step, rest in steps if step == "ARG" and rest.startswith("PYTHON=")]
    assert f"Programming Language :: Python :: {python}" in project["classifiers"]
    assert given["USER"].isdigit()
    assert given["USER"] != "0"
    assert json.loads(given["ENTRYPOINT"]) == list(project["scripts"])
    shown = CliRunner().invoke(app, ["serve", "--help"], env={"COLUMNS": "200"}).stdout
    assert [one for one in json.loads(given["CMD"]) if one.startswith("--") and one not in shown] == []
    assert "/readyz" in given["HEALTHCHECK"]
    assert "/readyz" in ROUTES


def test_workflow_does_what_the_project_does_itself():
    assert {"run": ".ci/run"} in WORKFLOW["test"]["steps"]
    commands = [step.get("run", "") for step in WORKFLOW["distribution"]["steps"]]
    assert {"python -m build", "python -m build --outdir dist lite", "twine check --strict dist/*"} <= set(commands)
    for form in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"):
        assert yaml.safe_load(form.read_text(encoding="utf-8"))


@pytest.mark.parametrize("folder", PROJECTS)
def test_workflow_tests_every_python_of_the_classifiers(folder):
    named = [one.rpartition(" ")[2] for one in PROJECTS[folder]["classifiers"] if ":: Python ::" in one]
    assert named == WORKFLOW["test"]["strategy"]["matrix"]["python"]
    assert PROJECTS[folder]["requires-python"] == f">={named[0]}"


def test_workflow_tests_the_oldest_torch():
    (lowest,) = [one.removeprefix("torch>=") for one in PROJECTS["."]["dependencies"] if one.startswith("torch>=")]
    matrix = WORKFLOW["test"]["strategy"]["matrix"]
    assert [leg["torch"] for leg in matrix["include"]] == [lowest]
    assert matrix["torch"] == ["pinned"]  # a leg that gave no other value would only add to those that there are
    assert any(
        "constraints.txt" in step.get("run", "") and "matrix.torch" in step["run"] for step in WORKFLOW["test"]["steps"]
    )


def test_versions_that_the_page_shows_are_those_that_ran():
    runs = json.loads((ROOT / "results/versions.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs/project/versions.md").read_text(encoding="utf-8")
    cells = r"([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d-]+)"
    rows = re.findall(rf"^\| {cells} \| <!--results/versions\.json:([\d. ]+)/passed-->", page, flags=re.MULTILINE)
    named = ("python", "torch", "numpy", "triton", "date")
    assert {key: run for *run, key in rows} == {key: [run[name] for name in named] for key, run in runs.items()}
    for key, run in runs.items():
        assert key == f"{run['python']} {run['torch']}"
        assert run["failed"] == 0
        assert any(one.endswith(f" {run['python'].rpartition('.')[0]}") for one in PROJECTS["."]["classifiers"])


RESULT = re.compile(r"^\| `([^`]+)` \| [^|]+ \| ([^|]+) \|$", flags=re.MULTILINE)


def test_every_result_says_what_makes_it_again():
    folder = ROOT / "results"
    named = dict(RESULT.findall((folder / "README.md").read_text(encoding="utf-8")))
    assert set(named) == {path.name for path in folder.iterdir()} - {"README.md"}
    for name, command in named.items():
        has_own = name != "records" and "again" in json.loads((folder / name).read_text(encoding="utf-8"))
        assert has_own == (command == "in the file: `again`"), name


def test_tools_that_make_results_again_are_there():
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "results").glob("*.*"))
    tools = set(re.findall(r"python (?:-m tools\.|tools/)(\w+)", text))
    assert len(tools) >= 10
    assert all((ROOT / "tools" / f"{tool}.py").is_file() for tool in tools)
