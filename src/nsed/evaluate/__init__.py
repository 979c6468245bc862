"""Evaluation metrics: plain data in, numbers out."""

from nsed.evaluate.alignment import alignment_score, links_in_proportion, read_pharaoh
from nsed.evaluate.calibration import (
    Calibration,
    ReliabilityBins,
    brier_score,
    expected_calibration_error,
    fit_calibration,
    reliability_bins,
)
from nsed.evaluate.clustering import adjusted_rand, b_cubed, pairwise
from nsed.evaluate.grouping import category_groups, length_groups, script_of
from nsed.evaluate.matching import Agreement, MatchingScore, best_threshold, decisions, f1_interval, matching_score
from nsed.evaluate.ranking import RankingCurve, average_precision, ranking_curve, roc_auc
from nsed.evaluate.significance import (
    Interval,
    PairedTest,
    bootstrap_interval,
    difference_interval,
    group_totals,
    mean_interval,
    paired_statistic_test,
    paired_test,
    totals_interval,
)
from nsed.evaluate.transduction import (
    TransductionScore,
    WordErrors,
    nbest_accuracy,
    oracle_score,
    transduction_score,
    word_errors,
)

__all__ = [
    "Agreement",
    "Calibration",
    "Interval",
    "MatchingScore",
    "PairedTest",
    "RankingCurve",
    "ReliabilityBins",
    "TransductionScore",
    "WordErrors",
    "adjusted_rand",
    "alignment_score",
    "average_precision",
    "b_cubed",
    "best_threshold",
    "bootstrap_interval",
    "brier_score",
    "category_groups",
    "decisions",
    "difference_interval",
    "expected_calibration_error",
    "f1_interval",
    "fit_calibration",
    "group_totals",
    "length_groups",
    "links_in_proportion",
    "matching_score",
    "mean_interval",
    "nbest_accuracy",
    "oracle_score",
    "paired_statistic_test",
    "paired_test",
    "pairwise",
    "ranking_curve",
    "read_pharaoh",
    "reliability_bins",
    "roc_auc",
    "script_of",
    "totals_interval",
    "transduction_score",
    "word_errors",
]
