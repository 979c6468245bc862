"""What a release consists of beside the code: licences, a bill of materials, a workflow, forms for issues."""

from pathlib import Path

import yaml
from tools.dependencies import dependencies, sbom

import nsed

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


def test_workflow_does_what_the_project_does_itself():
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))["jobs"]
    assert {"run": ".ci/run"} in jobs["test"]["steps"]
    for version in jobs["test"]["strategy"]["matrix"]["python"]:
        assert f'"Programming Language :: Python :: {version}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for form in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"):
        assert yaml.safe_load(form.read_text(encoding="utf-8"))
