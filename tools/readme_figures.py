"""Put the measured figures into the documents, each between its marks: `python tools/readme_figures.py`.

A mark says where a figure comes from, `file: key/key`, and perhaps its unit: % of one, k thousands, M millions; the
spaces beside its punctuation may be left out. As many decimals are shown as before.
"""

import json
import re
from functools import reduce
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DOCUMENTS = (
    "README.md",
    "docs/cognate-sets.md",
    "docs/concepts/calibration.md",
    "docs/corrections.md",
    "docs/jobs.md",
    "docs/project/versions.md",
    "docs/results.md",
    "docs/serve.md",
    "docs/speed.md",
    "docs/train.md",
)
MARKED = re.compile(r"<!-- ?([\w./-]+): ?([\w .,:/-]+?)( [%kM])? ?-->([\d.]+)<!-- ?end ?-->")
END = re.compile(r"<!-- ?end ?-->")
UNITS = {None: 1.0, " %": 100.0, " k": 1e-3, " M": 1e-6}


def measured(match: re.Match[str]) -> str:
    """The same place in the text, with the figure of the file."""
    file, keys, unit, shown = match.groups()
    value = reduce(_part, keys.split("/"), json.loads((ROOT / file).read_text())) * UNITS[unit]
    decimals = len(shown.partition(".")[2])
    return match[0].replace(f"-->{shown}<", f"-->{value:.{decimals}f}<")


def _part(found: Any, key: str) -> Any:
    return found[int(key)] if isinstance(found, list) else found[key]


if __name__ == "__main__":
    for document in map(ROOT.joinpath, DOCUMENTS):
        document.write_text(MARKED.sub(measured, document.read_text(encoding="utf-8")), encoding="utf-8")
