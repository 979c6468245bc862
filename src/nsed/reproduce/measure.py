"""Measures of a trained model, by validation pairs what can be chosen, by test pairs what is reported."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from nsed.baselines.pair_scorer import labels_of
from nsed.capabilities import Capability, can
from nsed.datasets import Splits
from nsed.evaluate import best_threshold, matching_score
from nsed.evaluate.report.answers import answer
from nsed.text import Pairs

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
