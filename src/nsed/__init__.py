"""Neural String Edit Distance: learn how strings turn into other strings, and show the work.

Whatever is named here is imported when it is first asked for (PEP 562): `import nsed` itself costs next to nothing.
"""

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nsed.baselines.classifier import CrossEncoderConfig, PairClassifier, StanceConfig
    from nsed.baselines.seq2seq import Seq2Seq, Seq2SeqConfig
    from nsed.encoders import EncoderConfig
    from nsed.errors import NsedError, UnknownSymbolWarning
    from nsed.explain.explanation import Explanation
    from nsed.jobs.candidates import Candidates
    from nsed.jobs.choices import cdist, extract, extract_one
    from nsed.kernels import use_backend
    from nsed.lattice import EditLattice
    from nsed.models.edit_distance import EditDistanceConfig, LearnableEditDistance
    from nsed.models.matcher import Matcher, MatcherConfig
    from nsed.models.mixture import Mixture, MixtureConfig
    from nsed.models.odds import OddsMatcher
    from nsed.models.odds_training import OddsConfig
    from nsed.models.persistence import load
    from nsed.models.transducer import Transducer, TransducerConfig
    from nsed.models.transduction import Overrides
    from nsed.text import Edit, EditScript, Pairs, read_pairs
    from nsed.train.config import TrainConfig

__version__ = "1.0.0"

__all__ = [
    "Candidates",
    "CrossEncoderConfig",
    "Edit",
    "EditDistanceConfig",
    "EditLattice",
    "EditScript",
    "EncoderConfig",
    "Explanation",
    "LearnableEditDistance",
    "Matcher",
    "MatcherConfig",
    "Mixture",
    "MixtureConfig",
    "NsedError",
    "OddsConfig",
    "OddsMatcher",
    "Overrides",
    "PairClassifier",
    "Pairs",
    "Seq2Seq",
    "Seq2SeqConfig",
    "StanceConfig",
    "TrainConfig",
    "Transducer",
    "TransducerConfig",
    "UnknownSymbolWarning",
    "__version__",
    "cdist",
    "extract",
    "extract_one",
    "load",
    "read_pairs",
    "use_backend",
]

_HOMES = {
    "Candidates": "nsed.jobs.candidates",
    "CrossEncoderConfig": "nsed.baselines.classifier",
    "Edit": "nsed.text",
    "EditDistanceConfig": "nsed.models.edit_distance",
    "EditLattice": "nsed.lattice",
    "EditScript": "nsed.text",
    "EncoderConfig": "nsed.encoders",
    "Explanation": "nsed.explain.explanation",
    "LearnableEditDistance": "nsed.models.edit_distance",
    "Matcher": "nsed.models.matcher",
    "MatcherConfig": "nsed.models.matcher",
    "Mixture": "nsed.models.mixture",
    "MixtureConfig": "nsed.models.mixture",
    "NsedError": "nsed.errors",
    "OddsConfig": "nsed.models.odds_training",
    "OddsMatcher": "nsed.models.odds",
    "Overrides": "nsed.models.transduction",
    "PairClassifier": "nsed.baselines.classifier",
    "Pairs": "nsed.text",
    "Seq2Seq": "nsed.baselines.seq2seq",
    "Seq2SeqConfig": "nsed.baselines.seq2seq",
    "StanceConfig": "nsed.baselines.classifier",
    "TrainConfig": "nsed.train.config",
    "Transducer": "nsed.models.transducer",
    "TransducerConfig": "nsed.models.transducer",
    "UnknownSymbolWarning": "nsed.errors",
    "cdist": "nsed.jobs.choices",
    "extract": "nsed.jobs.choices",
    "extract_one": "nsed.jobs.choices",
    "load": "nsed.models.persistence",
    "read_pairs": "nsed.text",
    "use_backend": "nsed.kernels",
}
"""The module of each public name; type checkers read the imports above instead, and a test compares the two."""

_ROOMS = (
    "baselines",
    "capabilities",
    "config",
    "datasets",
    "duckdb",
    "encoders",
    "errors",
    "evaluate",
    "explain",
    "export",
    "jobs",
    "kernels",
    "lattice",
    "models",
    "networks",
    "progress",
    "registry",
    "sklearn",
    "spark",
    "text",
    "train",
    "types",
)
"""Modules that one may use as `nsed.text` after `import nsed` alone."""

_RENAMED: dict[str, str] = {"Exceptions": "Overrides"}
"""Old public names and what they are called now."""

_REPLACED = {"transduce_with_exceptions": "nsed.models.transduction"}
"""Old public functions that something else replaces; they still work, and say themselves what to use now."""


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        new = _RENAMED[name]
        message = f"nsed.{name} is now nsed.{new}; the old name goes with 2.0"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return getattr(import_module(_HOMES[new]), new)
    if name in _REPLACED:
        return getattr(import_module(_REPLACED[name]), name)
    if name in _ROOMS:
        return import_module(f"nsed.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'nsed' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_HOMES[name]), name)  # the next time nobody asks here
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
