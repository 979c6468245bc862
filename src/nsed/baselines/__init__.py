"""Baselines: models to compare with, behind the same verbs."""

from nsed.baselines.jaro_winkler import JaroWinkler, JaroWinklerConfig
from nsed.baselines.levenshtein import Levenshtein, LevenshteinConfig
from nsed.baselines.lexstat import LexStat, LexStatConfig
from nsed.baselines.lookup import Lookup, LookupConfig
from nsed.baselines.majority import Majority, MajorityConfig
from nsed.baselines.phonetisaurus import Phonetisaurus, PhonetisaurusConfig
from nsed.baselines.sca import Sca, ScaConfig
from nsed.models.edit_distance import LearnableEditDistance
from nsed.models.edit_distance_config import EditDistanceConfig
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
