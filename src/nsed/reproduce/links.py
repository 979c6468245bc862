"""Links of a run's test pairs: kept in a file, and scored against a reference, rightly and as published."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from nsed.datasets.reference_alignments import to_pharaoh
from nsed.evaluate import alignment_score, read_pharaoh
from nsed.reproduce.records import RunRecord, read_records, record_path, write_record
from nsed.text import Links

ALIGNED = "g2p-cmudict"
"""The data set whose alignments Table 3 scores."""


def keep_links(folder: Path, record: RunRecord, links: Sequence[Links]) -> None:
    """Write a line for each test pair, in Pharaoh's form."""
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{to_pharaoh(one)}\n" for one in links)
    links_path(folder, record).write_text(text, encoding="utf-8")


def links_path(folder: Path, record: RunRecord) -> Path:
    """Where the links of a record's run are."""
    return record_path(folder, record.run, record.seed).with_suffix(".pharaoh")


def score_links(records: Path, links: Path, reference: Path) -> int:
    """Add alignment figures to all records whose links were kept; how many these are."""
    expected, count = read_pharaoh(reference), 0
    for record in [one for several in read_records(records).values() for one in several]:
        if links_path(links, record).exists():
            figures = alignment_figures(read_pharaoh(links_path(links, record)), expected)
            write_record(records, replace(record, test={**record.test, **figures}))
            count += 1
    return count


def alignment_figures(found: Sequence[Links], expected: Sequence[Links]) -> dict[str, float]:
    """F1 of all links together; and as the paper's scripts seem to score them, which shift one side by one.

    Ours is their F1 with the same indices on both sides, over all pairs together; theirs is averaged over pairs.
    """
    return {"align": alignment_score(found, expected).f1, "align_as_published": shifted_f1(found, expected)}


def shifted_f1(found: Sequence[Links], expected: Sequence[Links]) -> float:
    """The mean over pairs of the F1 of links that are counted from 1 against links that are counted from 0.

    >>> shifted_f1([frozenset({(0, 0), (1, 1)})], [frozenset({(0, 0), (1, 1)})])
    0.5
    """
    moved = [frozenset((i + 1, j + 1) for i, j in links) for links in found]
    hits = [2 * len(a & b) / max(len(a) + len(b), 1) for a, b in zip(moved, expected, strict=True)]
    return float(np.mean(hits))
