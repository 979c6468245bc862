"""Hooks of the site (mkdocs): pages that are made of code, pages that stand elsewhere, links between them.

`mkdocs build` makes the site, `mkdocs serve` shows it while one writes.
"""

import re
import sys
from os.path import normpath
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]  # a hook is loaded by its path: its neighbours and the package come after

from tools.site_reference import ELSEWHERE, Page, generated_pages  # noqa: E402

TITLES = {
    "project/changelog.md": "Changelog",
    "project/contributing.md": "Contributing",
    "project/security.md": "Security",
}
FOUND_LAST = "---\nsearch: {boost: 0.4}\n---\n\n"
"""Generated pages are long, and repeat what is inherited: in searches the others come first."""
NEW_PAGES = "How-to"
"""Section of the pages that the navigation does not name yet."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Navigation: what is generated, what stands elsewhere, and pages that nobody has put in yet."""
    sections = {name: entries for section in config.nav for name, entries in section.items()}
    for section in ("Reference", "Research"):
        made = {path: page for path, page in generated_pages().items() if page.section == section}
        sections[section].extend(_grouped(made))
    sections["Reference"].append({"Tables of the lattice": ELSEWHERE["src/nsed/lattice/README.md"]})
    sections["Project"].extend({title: page} for page, title in TITLES.items())
    known = set(re.findall(r"[\w/-]+\.md", str(config.nav)))
    pages = (path.relative_to(ROOT / "docs").as_posix() for path in sorted((ROOT / "docs").rglob("*.md")))
    sections[NEW_PAGES].extend(page for page in pages if page not in known)
    return config


def _grouped(pages: dict[str, Page]) -> list[Any]:
    """Entries of the navigation; pages with a group stand together."""
    entries: list[Any] = []
    groups: dict[str, list[Any]] = {}
    for path, page in pages.items():
        if page.group and page.group not in groups:
            entries.append({page.group: groups.setdefault(page.group, [])})
        (groups[page.group] if page.group else entries).append({page.title: path})
    return entries


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Files of the site beyond those of `docs`."""
    for path, page in generated_pages().items():
        files.append(File.generated(config, path, content=f"{FOUND_LAST}{page.text}"))
    for source, path in ELSEWHERE.items():
        files.append(File.generated(config, path, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, config: MkDocsConfig, files: Files) -> str:
    """Links that lead out of `docs`, as they must in a checkout, lead to the pages of the site."""
    uri = page.file.src_uri
    stands = next((source for source, path in ELSEWHERE.items() if path == uri), f"docs/{uri}")
    return LINK.sub(lambda match: _link(match, Path(stands).parent, uri), markdown)


LINK = re.compile(r"\[([^\[\]]*)\]\(([\w./-]+)(#[\w-]*)?\)")
PAGES = {**ELSEWHERE, "README.md": "index.md"}


def _link(match: re.Match[str], folder: Path, uri: str) -> str:
    """A link as the site has it: to a page, for the README to the home page; what is no page has its text only."""
    text, target, anchor = match[1], normpath(folder / match[2]), match[3] or ""
    page = target.removeprefix("docs/") if target.startswith("docs/") else PAGES.get(target)
    return text if page is None else f"[{text}]({'../' * uri.count('/')}{page}{anchor})"
