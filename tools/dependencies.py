"""Dependencies, with their licences: tables for the documentation, and a bill of materials.

`python -m tools.dependencies licences` makes the tables of `docs/project/licences.md`, `python -m tools.dependencies
sbom` writes a CycloneDX list of what is installed for the package and its extras. Both read what the installed packages
say of themselves; what is not installed is not listed.
"""

import json
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, NamedTuple

PACKAGE = "neural-string-edit-distance"
ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "project" / "licences.md"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MARKED = re.compile(r"(?<=<!-- tables -->\n).*(?=<!-- end of tables -->)", flags=re.DOTALL)
REQUIREMENT = re.compile(r"([\w.-]+)(?:\[([\w,.-]+)\])?[^;]*(?:;(.*))?")
SHORT = {
    "Apache Software License": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "BSD License": "BSD",
    "MIT License": "MIT",
    "The Unlicense (Unlicense)": "Unlicense",
    "Python Software Foundation License": "PSF-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "GNU General Public License v3 (GPLv3)": "GPL-3.0",
    "GNU General Public License v3 or later (GPLv3+)": "GPL-3.0-or-later",
    "GNU Affero General Public License v3 or later (AGPLv3+)": "AGPL-3.0-or-later",
}
LONGEST = 60
"""Characters of a licence field beyond which it is the licence's text, not its name."""


class Dependency(NamedTuple):
    """Installed package: name, version, licence, and the extras that bring it; none where it is always needed."""

    name: str
    version: str
    licence: str
    extras: tuple[str, ...]

    @property
    def copyleft(self) -> bool:
        """Whether the licence is the GPL or the AGPL, alone; a choice with another licence is not."""
        return "GPL" in self.licence and "LGPL" not in self.licence and " OR " not in self.licence.upper()


def normal(name: str) -> str:
    """Name of a package, as all spellings of it have it.

    >>> normal("Typing_Extensions")
    'typing-extensions'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def licence_of(package: Distribution) -> str:
    """Licence of a package: its SPDX expression, else its classifier, else the field, unless that is a whole text."""
    meta = package.metadata
    named = [line.rsplit(" :: ", 1)[-1] for line in meta.get_all("Classifier") or [] if line.startswith("License ::")]
    field = (meta.get("License") or "").strip()
    told = meta.get("License-Expression") or " and ".join(SHORT.get(one, one) for one in named)
    told = told or (field if field and len(field) < LONGEST and "\n" not in field else "")
    return SHORT.get(told, told) or "see the package"


def required(lines: Iterable[str], extras: Iterable[str] = ()) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Packages that requirements name, with the extras that they want; of requirements of extras these only."""
    for line in lines:
        match = REQUIREMENT.match(line)
        assert match is not None
        marker = (match[3] or "").replace('"', "'")
        wanted = re.findall(r"extra == '([\w.-]+)'", marker)
        if (not wanted or set(map(normal, wanted)) & set(map(normal, extras))) and _here(marker):
            yield normal(match[1]), tuple(match[2].split(",")) if match[2] else ()


def _here(marker: str) -> bool:
    """Whether a requirement is for a system like this one, as far as its marker names one."""
    system = re.search(r"(?:platform_system|sys_platform) == '(\w+)'", marker)
    return system is None or system[1].lower().startswith(sys.platform[:3])


def closure(extras: Iterable[str] = ()) -> dict[str, Distribution]:
    """All packages that are installed for ours with these extras, and for those in turn."""
    found: dict[str, Distribution] = {}
    ours = [*PROJECT["dependencies"], *(line for one in extras for line in PROJECT["optional-dependencies"][one])]
    waiting = list(required(ours))
    while waiting:
        name, inner = waiting.pop()
        if name in found:
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            continue
        waiting += required(found[name].requires or [], inner)
    return found


def dependencies() -> list[Dependency]:
    """All dependencies that are installed, by name."""
    always, extras = closure(), PROJECT["optional-dependencies"]
    brought = {extra: closure([extra]) for extra in extras}
    every = {name: package for found in [always, *brought.values()] for name, package in found.items()}
    return [
        Dependency(
            name,
            package.version,
            licence_of(package),
            () if name in always else tuple(sorted(extra for extra, found in brought.items() if name in found)),
        )
        for name, package in sorted(every.items())
    ]


def tables(found: Iterable[Dependency]) -> str:
    """Markdown tables: what is always installed, and what extras bring."""
    known = list(found)
    head = "| package | version | licence |\n|---|---|---|\n"
    always = "".join(f"| {one.name} | {one.version} | {one.licence} |\n" for one in known if not one.extras)
    head_extra = "| package | version | licence | extras |\n|---|---|---|---|\n"
    others = "".join(
        f"| {one.name} | {one.version} | {'**' if one.copyleft else ''}{one.licence}{'**' if one.copyleft else ''} "
        f"| {', '.join(one.extras)} |\n"
        for one in known
        if one.extras
    )
    return f"\n## Always installed\n\n{head}{always}\n## With extras\n\n{head_extra}{others}\n"


def sbom(found: Iterable[Dependency]) -> dict[str, Any]:
    """Software bill of materials, CycloneDX 1.6."""
    ours = distribution(PACKAGE)
    known = list(found)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": _component(PACKAGE, ours.version, "Apache-2.0", kind="library")},
        "components": [
            {
                **_component(one.name, one.version, one.licence),
                "scope": "optional" if one.extras else "required",
                "properties": [{"name": "extra", "value": extra} for extra in one.extras],
            }
            for one in known
        ],
    }


def _component(name: str, version: str, licence: str, kind: str = "library") -> dict[str, Any]:
    purl = f"pkg:pypi/{name}@{version}"
    told = [{"license": {"name": licence}}]
    return {"type": kind, "name": name, "version": version, "bom-ref": purl, "purl": purl, "licenses": told}


def main() -> None:
    """Write the tables into the page, or the list to standard output."""
    if sys.argv[1:] == ["sbom"]:
        print(json.dumps(sbom(dependencies()), indent=1))
        return
    if sys.argv[1:] != ["licences"]:
        sys.exit("expected licences or sbom")
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(MARKED.sub(lambda _: tables(dependencies()), page), encoding="utf-8")


if __name__ == "__main__":
    main()
