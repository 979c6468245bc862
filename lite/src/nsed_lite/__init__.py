"""A runtime for models of Neural String Edit Distance that needs NumPy alone: it loads folders that `nsed` saved.

>>> import nsed_lite
>>> nsed_lite.load("no/such/folder")
Traceback (most recent call last):
nsed_lite.folder.ModelFolderError: no/such/folder: no model here: model.json cannot be read (No such file...
"""

from pathlib import Path

import numpy as np

from nsed_lite.folder import ModelFolderError, OtherKindError, read_folder
from nsed_lite.lattice import Edit, EditScript
from nsed_lite.matcher import Matcher
from nsed_lite.matcher_mixture import MatcherMixture
from nsed_lite.mixture import Mixture
from nsed_lite.model import Model, Transduction
from nsed_lite.packed import reuse_freed_memory
from nsed_lite.symbols import UnknownSymbolWarning
from nsed_lite.tables import EditDistance, OddsMatcher
from nsed_lite.transducer import Transducer

__version__ = "1.0.0"

__all__ = [
    "Edit",
    "EditDistance",
    "EditScript",
    "Matcher",
    "MatcherMixture",
    "Mixture",
    "Model",
    "ModelFolderError",
    "OddsMatcher",
    "Transducer",
    "Transduction",
    "UnknownSymbolWarning",
    "load",
    "reuse_freed_memory",
]

AnyModel = Transducer | Mixture | Matcher | MatcherMixture | OddsMatcher | EditDistance
KINDS: dict[str, type[AnyModel]] = {
    "edit-distance": EditDistance,
    "matcher": Matcher,
    "matcher-mixture": MatcherMixture,
    "mixture": Mixture,
    "odds": OddsMatcher,
    "transducer": Transducer,
}
"""Class of each kind of model that this runtime runs."""


def load(path: str | Path) -> AnyModel:
    """Load the model of a folder that `nsed train` or `model.save` wrote.

    Raises `ModelFolderError` where there is none, or one that this runtime cannot run.
    """
    folder = read_folder(path, KINDS)
    try:
        with np.errstate(all="ignore"):  # weights may be too large to compute with: `check` says so
            model = KINDS[folder.kind](folder)
            model.check()
        return model
    except OtherKindError as error:
        raise ModelFolderError(path, str(error)) from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        reason = f"missing {error}" if isinstance(error, KeyError) else str(error)
        raise ModelFolderError(path, f"the parts of the model do not fit together: {reason}") from None
