"""What a release consists of beside the code: licences, a bill of materials, a workflow, forms for issues."""

import json
import re
import tomllib
from pathlib import Path

import yaml
from tools.dependencies import dependencies, sbom
from typer.testing import CliRunner

import nsed
from nsed.__main__ import app
from nsed.web.telemetry import ROUTES

ROOT = Path(__file__).parents[1]


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
    assert {"pyproject.toml", "README.md", "LICENSE", "src", "constraints.txt"} <= set(copied)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
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
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))["jobs"]
    assert {"run": ".ci/run"} in jobs["test"]["steps"]
    for version in jobs["test"]["strategy"]["matrix"]["python"]:
        assert f'"Programming Language :: Python :: {version}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for form in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"):
        assert yaml.safe_load(form.read_text(encoding="utf-8"))
