"""What a run is measured on and by: its data, the metrics of validation and test, and the links that it finds."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nsed.capabilities import Capability, can
from nsed.datasets import Splits, load
from nsed.datasets.catalogue import DATASETS
from nsed.datasets.fetching import load_words
from nsed.datasets.protocols import PROTOCOLS, SplitOptions, published_cognates
from nsed.datasets.rule_language import matching_pairs, transduction_pairs
from nsed.datasets.splits import split_by_source
from nsed.evaluate import alignment_score, best_threshold, matching_score, read_pharaoh
from nsed.evaluate.alignment import to_pharaoh
from nsed.evaluate.report.answers import answer
from nsed.explain.explanation import Evidence
from nsed.models.pair_model import labels_of
from nsed.reproduce.grid import Run
from nsed.reproduce.records import RunRecord, read_records, record_path, write_record
from nsed.text import Links, Pairs
from nsed.train.checkpoint import hash_of

MOST_TRAINING = 1_600_000
"""Training pairs of word lists: all of Indo-European, a sample of the 80 million of Austro-Asiatic."""
TOY_PAIRS = 200


def splits_of(run: Run) -> Splits:
    """Training, validation and test pairs; the split has one seed, whatever that of the training."""
    if run.protocol is None:
        return _fewer(load(run.dataset), run.training_pairs)
    if run.protocol not in ("published", "published-fixed"):
        return _without_languages(load(run.dataset, protocol=run.protocol, options=SplitOptions()))
    words = load_words(run.dataset, class_column=PROTOCOLS[run.protocol].own_column)
    return _without_languages(published_cognates(words, most_training=MOST_TRAINING))


def _fewer(splits: Splits, count: int | None) -> Splits:
    """Splits with so many training pairs, drawn once for all: the smaller sets are parts of the larger ones."""
    if count is None:
        return splits
    rows = np.random.default_rng(0).permutation(len(splits.training))[:count]
    return splits._replace(training=splits.training.chosen(rows.tolist()))


def toy_splits(run: Run) -> Splits:
    """A few pairs of the rule language, for rehearsals."""
    is_list = DATASETS[run.dataset].parts is None
    pairs = matching_pairs(TOY_PAIRS) if is_list else transduction_pairs(TOY_PAIRS)
    return split_by_source(pairs, validation=0.2, test=0.2)


def describe(splits: Splits) -> dict[str, Any]:
    """How many pairs each part has, and their SHA-256."""
    return {part: {"pairs": len(pairs), "sha256": hash_of(pairs)} for part, pairs in splits._asdict().items()}


def _without_languages(splits: Splits) -> Splits:
    return Splits(*(_plain(pairs) for pairs in splits))


def _plain(pairs: Pairs) -> Pairs:
    return replace(pairs, source_languages=None, target_languages=None)


BEAMS, LENGTH_PENALTIES, BEAM = (1, 2, 3, 5, 10, 20), (0.4, 0.8, 1.2, 1.6), 5
"""What is tried on the validation pairs: beams without a penalty, and penalties with one beam. Paper: Figure 4."""
WORDS = {
    "GOELLER": "G OW L ER",
    "VOGAN": "V OW G AH N",
    "FLAGSHIPS": "F L AE G SH IH P S",
    "ENDLER": "EH N D L ER",
    "SWOOPED": "S W UW P T",
}
"""Those of Table 5."""


class Measured(NamedTuple):
    """The figures of both parts, and what was chosen by those of validation."""

    validation: Mapping[str, float]
    test: Mapping[str, float]
    selected: Mapping[str, Any]
    decoding: Sequence[Sequence[float]] = ()
    """All that was tried on validation: beam, length penalty, CER, WER."""


def measure(model: Any, splits: Splits) -> Measured:
    """Error rates of what transduces, F1 of what scores labelled pairs."""
    return (measure_transduction if can(model, Capability.TRANSDUCE) else measure_matching)(model, splits)


def measure_matching(model: Any, splits: Splits) -> Measured:
    """F1 at the threshold that is best for the validation pairs."""
    tuned = best_threshold(model.score(splits.validation), labels_of(splits.validation))
    found = matching_score(model.score(splits.test), labels_of(splits.test), tuned.threshold)
    chosen = {"threshold": tuned.threshold, "by": "validation f1"}
    return Measured(_matching(tuned), _matching(found), chosen)


def _matching(score: Any) -> dict[str, float]:
    return {"f1": score.f1, "precision": score.precision, "recall": score.recall}


def measure_transduction(model: Any, splits: Splits) -> Measured:
    """Error rates with the beam and the length penalty of the lowest WER on the validation pairs."""
    choices = [*((beam, 0.0) for beam in BEAMS), *((BEAM, penalty) for penalty in LENGTH_PENALTIES)]
    tried = {choice: _rates(model, splits.validation, *choice) for choice in choices}
    beam, penalty = min(tried, key=lambda choice: tried[choice]["wer"])
    test = _rates(model, splits.test, beam, penalty)
    chosen = {"beam": beam, "length_penalty": penalty, "by": "validation wer"}
    decoding = [
        (*map(float, choice), round(rates["cer"], 4), round(rates["wer"], 4)) for choice, rates in tried.items()
    ]
    return Measured(tried[beam, penalty], test, chosen, decoding)


def _rates(model: Any, pairs: Pairs, beam: int, penalty: float) -> dict[str, float]:
    model.config = replace(model.config, beam=beam, length_penalty=penalty)
    score = answer(model, pairs, beam=beam).errors.score()
    return {"cer": score.cer, "corpus_cer": score.corpus_cer, "wer": score.wer}


def scripts_of(model: Any, dataset: str) -> dict[str, str]:
    """The edit scripts of Table 5's words, of models on the lattice that know pronunciations."""
    if dataset != "g2p-cmudict" or not can(model, Capability.ALIGN):
        return {}
    return {word: str(model.align(word, phones)) for word, phones in WORDS.items()}


PICTURED, SHORTEST, LONGEST = 3, 4, 8
"""Pairs of a data set whose evidence is kept, and how many symbols their strings have."""


def evidence_of(model: Any, splits: Splits, dataset: str) -> list[dict[str, Any]]:
    """Posteriors and best script of some pairs: Table 5's words, or the first test pairs of middling length.

    Of labelled pairs, the first that match and the first that does not.
    """
    if not can(model, Capability.EXPLAIN):
        return []
    pairs = list(WORDS.items()) if dataset == ALIGNED else _pictured(model, splits.test)
    return [_kept(explanation) for explanation in model.explain_all(pairs, scripts=1)]


def _pictured(model: Any, pairs: Pairs) -> list[tuple[str, str]]:
    cut = model.tokenizers.source.split, model.tokenizers.target.split
    labels = pairs.labels if pairs.labels is not None else [1] * len(pairs)
    rows = [
        (pair, bool(label))
        for pair, label in zip(pairs, labels, strict=True)
        if all(SHORTEST <= len(split(text)) <= LONGEST for split, text in zip(cut, pair, strict=True))
    ]
    matching, others = [[pair for pair, label in rows if label == wanted] for wanted in (True, False)]
    return [*matching[: PICTURED - bool(others)], *others[:1]]


def _kept(evidence: Evidence) -> dict[str, Any]:
    """What pictures need, with four digits."""
    tables = {
        name: np.round(getattr(evidence, name), 4).tolist() for name in ("log_alpha", "delete", "insert", "substitute")
    }
    script = [
        (edit.kind, edit.source, edit.target, edit.i, edit.j, round(edit.probability, 4)) for edit in evidence.script
    ]
    return {"source": evidence.source, "target": evidence.target, "script": script, **tables}


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
