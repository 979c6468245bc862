"""Evaluate: plain data in, numbers out."""

from nsed.evaluate.calibration import Calibration, fit_calibration
from nsed.evaluate.matching import MatchingScore, best_threshold, matching_score
from nsed.evaluate.transduction import TransductionScore, transduction_score

__all__ = [
    "Calibration",
    "MatchingScore",
    "TransductionScore",
    "best_threshold",
    "fit_calibration",
    "matching_score",
    "transduction_score",
]
