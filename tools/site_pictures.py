"""Pictures of the site, made by the program: `python -m tools.site_pictures` writes them to `docs/images/site`.

Pages show the commands; a test makes the pictures again and compares.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "docs" / "images" / "site"
READ = ["explain", "g2p-en", "--pair", "read", "R IY D", "--format", "svg"]
PICTURES: dict[str, list[str]] = {
    "lattice.svg": [*READ, "--picture", "lattice"],
    "alpha.svg": [*READ, "--picture", "alpha"],
    "posteriors.svg": [*READ, "--picture", "posteriors"],
    "waterfall.svg": [*READ, "--picture", "waterfall"],
    "odds.svg": ["explain", "names", "--pair", "moskva", "москва", "--format", "svg", "--picture", "waterfall"],
    "mixture.svg": ["explain", "g2p-en-best", "--source", "colonel", "--format", "svg", "--picture", "waterfall"],
}
"""The command of each picture, but for `nsed` and the file that it writes."""
WORDS = "READ  R EH D\nCHAOS  K EY AA S\nCHEESE  CH IY Z\nKING  K IH NG\nSCHOOL  S K UW L\nSHIP  SH IH P\n"
STYLE = """<style>text{font:12px system-ui,sans-serif;fill:#333}.tick,.count{font-size:10px;fill:#666}.grid{stroke:#ddd}
.axis{fill:none;stroke:#888}.diagonal{stroke:#888;stroke-dasharray:4 4}.series{fill:none;stroke:#00796b;stroke-width:2}
circle{fill:#00796b}</style>"""
"""The page that the diagram stands on has its style elsewhere."""


def nsed(*arguments: str, folder: str | Path) -> None:
    """Run a command in a folder."""
    subprocess.run([sys.executable, "-m", "nsed", *arguments], cwd=folder, check=True)


def becomes(folder: Path) -> str:
    """What each symbol becomes, in a few words, as a table."""
    (folder / "test.dict").write_text(WORDS, encoding="utf-8")
    nsed("rules", "g2p-en", "test.dict", "--picture", "becomes.svg", folder=folder)
    return (folder / "becomes.svg").read_text(encoding="utf-8")


def reliability(folder: Path) -> str:
    """The reliability diagram of an evaluation's page, as on the page of calibration."""
    nsed("data", "rules", "--matching", "--count", "800", "-o", "labelled.tsv", folder=folder)
    nsed("data", "rules", "--matching", "--count", "800", "--seed", "1", "-o", "test.tsv", folder=folder)
    nsed("train", "labelled.tsv", "matcher", "--set", "train.steps=30", folder=folder)
    nsed("evaluate", "matcher", "test.tsv", "--html", "report.html", folder=folder)
    page = (folder / "report.html").read_text(encoding="utf-8")
    found = re.findall(r"<figcaption>([^<]*)</figcaption>\s*(<svg.*?</svg>)", page, flags=re.DOTALL)
    drawn = next(picture for title, picture in found if "eliab" in title or "alibrat" in title)
    opened = drawn.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" width="380" height="300" ', 1)
    return opened.replace(">", f">{STYLE}", 1)


def main() -> None:
    """Write all pictures."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, command in PICTURES.items():
        nsed(*command, "-o", name, folder=FOLDER)
    with tempfile.TemporaryDirectory() as folder:
        (FOLDER / "becomes.svg").write_text(becomes(Path(folder)), encoding="utf-8")
        (FOLDER / "reliability.svg").write_text(reliability(Path(folder)), encoding="utf-8")


if __name__ == "__main__":
    main()
