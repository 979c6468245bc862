"""Data leakage controls: what a split scores without a model, written beside its files and shown beside every score."""

import json
from pathlib import Path
from typing import Any

from nsed.cli.arguments import open_output
from nsed.datasets.leaks import Controls, check_leaks
from nsed.datasets.splits import Splits
from nsed.evaluate.report import Caution, Figure

CONTROLS_FILE = "controls.json"
CONTROLS = {
    "lookup": "a lookup table of its training pairs",
    "chains": "one that follows chains of them",
    "levenshtein": "the normalised Levenshtein similarity",
    "frequency": "how many training pairs have the rarer of the two words",
}


def write_controls(folder: Path, splits: Splits, *, protocol: str) -> None:
    """Write control scores on each part, and how many of its pairs the training part has too."""
    report = check_leaks(splits._asdict(), symbols="tokens")
    leaks = {overlap.later: overlap.leaks for overlap in report.overlaps if overlap.earlier == report.parts[0].part}
    parts = {each.part: {"leaks": leaks[each.part], **_scores(each)} for each in report.controls}
    text = json.dumps({"protocol": protocol, "parts": parts}, indent=1)
    with open_output(folder / CONTROLS_FILE) as stream:
        stream.write(text + "\n")


def cautions_of(pairs: Path) -> tuple[Caution, ...]:
    """Data cautions, what to know before one believes a score on this file; nothing where no controls are beside it."""
    part = _parts_beside(pairs).get(pairs.stem)
    if part is None:
        return ()
    leaks = f"this split leaks, {part['leaks']:,} of its pairs are in the training file. " if part["leaks"] else ""
    figures = (Figure("f1", part[name]["f1"], note=f"of {what}") for name, what in CONTROLS.items() if name in part)
    return (Caution(f"{leaks}Without a model:", tuple(figures)),)


def _scores(controls: Controls) -> dict[str, Any]:
    return {name: getattr(controls, name)._asdict() for name in CONTROLS}


def _parts_beside(pairs: Path) -> dict[str, Any]:
    try:
        found = json.loads((pairs.parent / CONTROLS_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # somebody else's file, or none
        return {}
    parts = found.get("parts") if isinstance(found, dict) else None
    return parts if isinstance(parts, dict) else {}
