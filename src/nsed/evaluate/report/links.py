"""Alignment metrics: agreement of a model's links with reference alignments. Paper: section 4, interpretability."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nsed.capabilities import Capability, can
from nsed.errors import DataError, NotExplainableError
from nsed.evaluate import Agreement, alignment_score, group_totals, links_in_proportion, read_pharaoh
from nsed.evaluate.report.records import Figure
from nsed.evaluate.significance import rate_estimate
from nsed.progress import OnBatch, Progress, silent
from nsed.text import Links, Pairs, Tokenizers


def read_reference(path: Path, pairs: Pairs) -> list[Links]:
    r"""Reference links of each pair, from a Pharaoh file with a line for each. Raises `DataError`.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "links"
    >>> _ = path.write_text("0-0 1-2\n", encoding="utf-8")
    >>> read_reference(path, Pairs.of([("ab", "acb"), ("a", "a")]))
    Traceback (most recent call last):
    nsed.errors.DataError: ...: has 1 lines, expected 2, one for each pair
    """
    expected = read_pharaoh(path)
    if len(expected) != len(pairs):
        raise DataError(path, f"has {len(expected):,} lines, expected {len(pairs):,}, one for each pair")
    if not any(expected):
        raise DataError(path, "has no link in any line, expected some such as 0-0 1-2")
    return expected


def alignment_figures(
    model: Any,
    pairs: Pairs,
    expected: Sequence[Links],
    *,
    groups: Sequence[str] | None = None,
    progress: Progress = silent,
) -> tuple[Figure, ...]:
    """Alignment precision, recall and F1 of the substitutions of all pairs; of labelled pairs, of those that match.

    Beside them, where the model's symbols are known, what links in proportion to the lengths would have.
    """
    matches = [row for row in range(len(pairs)) if pairs.labels is None or pairs.labels[row]]
    pairs, reference = pairs.chosen(matches), [expected[row] for row in matches]
    with progress("aligning", len(matches)) as on_batch:
        found = _links(model, pairs, on_batch)
    counts = np.array(
        [(len(ours & theirs), len(ours), len(theirs)) for ours, theirs in zip(found, reference, strict=True)]
    )
    if groups is not None:
        counts = group_totals(counts, [groups[row] for row in matches])
    score = alignment_score(found, reference)
    return (
        Figure("alignment_precision", score.precision),
        Figure("alignment_recall", score.recall),
        Figure("alignment_f1", score.f1, "share", *rate_estimate(counts, _f1)),
        *_control(model, pairs, reference),
    )


def _control(model: Any, pairs: Pairs, reference: Sequence[Links]) -> Iterator[Figure]:
    tokenizers: Tokenizers | None = getattr(model, "tokenizers", None)
    if tokenizers is not None:
        split, write = tokenizers.source.split, tokenizers.target.split
        found = [links_in_proportion(len(split(source)), len(write(target))) for source, target in pairs]
        note = "of links in proportion to the lengths, without a model"
        yield Figure("alignment_f1_control", alignment_score(found, reference).f1, note=note)


def _links(model: Any, pairs: Pairs, on_batch: OnBatch) -> list[Links]:
    if can(model, Capability.LINKS):
        found: list[Links] = model.links(pairs, on_batch=on_batch)
        return found
    if can(model, Capability.ALIGN):
        return [model.align(source, target).links for source, target in pairs]
    raise NotExplainableError("this model cannot align: it has no links to compare with those of a file")


def _f1(totals: np.ndarray) -> float:
    hits, found, expected = totals.tolist()
    return Agreement.of(hits / max(found, 1), hits / max(expected, 1)).f1
