"""Baselines: models to compare with, behind the same verbs."""

from nsed.baselines.edit_distance_config import EditDistanceConfig
from nsed.baselines.jaro_winkler import JaroWinkler, JaroWinklerConfig
from nsed.baselines.learnable_edit_distance import LearnableEditDistance
from nsed.baselines.levenshtein import Levenshtein, LevenshteinConfig
from nsed.baselines.lexstat import LexStat, LexStatConfig
from nsed.baselines.lookup import Lookup, LookupConfig
from nsed.baselines.majority import Majority, MajorityConfig
from nsed.baselines.operation_table import LearnedOperation
from nsed.baselines.phonetisaurus import Phonetisaurus, PhonetisaurusConfig
from nsed.baselines.sca import Sca, ScaConfig

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
