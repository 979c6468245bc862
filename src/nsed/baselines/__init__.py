"""Baselines: models to compare with, behind the same verbs."""

from nsed.baselines.lingpy import LexStat, LexStatConfig, Sca, ScaConfig
from nsed.baselines.lookup import Lookup, LookupConfig
from nsed.baselines.majority import Majority, MajorityConfig
from nsed.baselines.phonetisaurus import Phonetisaurus, PhonetisaurusConfig
from nsed.baselines.similarity import JaroWinkler, JaroWinklerConfig, Levenshtein, LevenshteinConfig
from nsed.models.edit_distance import EditDistanceConfig, LearnableEditDistance
from nsed.networks.operation_table import LearnedOperation

__all__ = [
    "EditDistanceConfig",
    "JaroWinkler",
    "JaroWinklerConfig",
    "LearnableEditDistance",
    "LearnedOperation",
    "Levenshtein",
    "LevenshteinConfig",
    "LexStat",
    "LexStatConfig",
    "Lookup",
    "LookupConfig",
    "Majority",
    "MajorityConfig",
    "Phonetisaurus",
    "PhonetisaurusConfig",
    "Sca",
    "ScaConfig",
]
