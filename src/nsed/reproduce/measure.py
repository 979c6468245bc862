"""What a run is measured on and by: its data, the metrics of validation and test, and the links that it finds."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nsed.baselines.pair_scorer import labels_of
from nsed.capabilities import Capability, can
from nsed.datasets import Splits, load
from nsed.datasets.catalogue import DATASETS
from nsed.datasets.loading import load_words
from nsed.datasets.protocols import PROTOCOLS, SplitOptions
from nsed.datasets.published import published_cognates
from nsed.datasets.reference_alignments import to_pharaoh
from nsed.datasets.rule_language import matching_pairs, transduction_pairs
from nsed.datasets.splits import split_by_source
from nsed.evaluate import alignment_score, best_threshold, matching_score, read_pharaoh
from nsed.evaluate.report.answers import answer
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
        return load(run.dataset)
    if run.protocol not in ("published", "published-fixed"):
        return _without_languages(load(run.dataset, protocol=run.protocol, options=SplitOptions()))
    words = load_words(run.dataset, class_column=PROTOCOLS[run.protocol].own_column)
    return _without_languages(published_cognates(words, most_training=MOST_TRAINING))


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


BEAMS, LENGTH_PENALTIES = (1, 3, 5, 10), (0.4, 1.0)
"""What is tried on the validation pairs. Paper: Figure 4 has beams of 1 to 20, and penalties of 0 to 1.6."""
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
    """Error rates with the beam, and then the length penalty, of the lowest WER on the validation pairs."""
    tried = {(beam, 0.0): _rates(model, splits.validation, beam, 0.0) for beam in BEAMS}
    best, _ = min(tried, key=lambda choice: tried[choice]["wer"])
    if best > 1:
        tried |= {(best, penalty): _rates(model, splits.validation, best, penalty) for penalty in LENGTH_PENALTIES}
    beam, penalty = min(tried, key=lambda choice: tried[choice]["wer"])
    test = _rates(model, splits.test, beam, penalty)
    chosen = {"beam": beam, "length_penalty": penalty, "by": "validation wer"}
    return Measured(tried[beam, penalty], test, chosen)


def _rates(model: Any, pairs: Pairs, beam: int, penalty: float) -> dict[str, float]:
    model.config = replace(model.config, beam=beam, length_penalty=penalty)
    score = answer(model, pairs, beam=beam).errors.score()
    return {"cer": score.cer, "corpus_cer": score.corpus_cer, "wer": score.wer}


def scripts_of(model: Any, dataset: str) -> dict[str, str]:
    """The edit scripts of Table 5's words, of models on the lattice that know pronunciations."""
    if dataset != "g2p-cmudict" or not can(model, Capability.ALIGN):
        return {}
    return {word: str(model.align(word, phones)) for word, phones in WORDS.items()}


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
