"""Evaluate: plain data in, numbers out."""

from nsed.evaluate.matching import MatchingScore, best_threshold, matching_score
from nsed.evaluate.transduction import TransductionScore, transduction_score

__all__ = ["MatchingScore", "TransductionScore", "best_threshold", "matching_score", "transduction_score"]
