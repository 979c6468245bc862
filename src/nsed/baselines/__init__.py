"""Baselines: models to compare with, behind the same verbs."""

from nsed.baselines.edit_distance_config import EditDistanceConfig
from nsed.baselines.jaro_winkler import JaroWinkler, JaroWinklerConfig
from nsed.baselines.learnable_edit_distance import LearnableEditDistance
from nsed.baselines.levenshtein import Levenshtein, LevenshteinConfig
from nsed.baselines.lookup import Lookup, LookupConfig
from nsed.baselines.majority import Majority, MajorityConfig
from nsed.baselines.operation_table import LearnedOperation

__all__ = [
    "EditDistanceConfig",
    "JaroWinkler",
    "JaroWinklerConfig",
    "LearnableEditDistance",
    "LearnedOperation",
    "Levenshtein",
    "LevenshteinConfig",
    "Lookup",
    "LookupConfig",
    "Majority",
    "MajorityConfig",
]
