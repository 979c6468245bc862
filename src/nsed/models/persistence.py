"""Model loading: by the folder that they are saved in, or by name if they come with the package."""

import errno
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

from nsed.capabilities import Capability, can
from nsed.config import shortened, shown
from nsed.errors import ArgumentError, MissingExtraError, ModelFileError, NsedError
from nsed.registry import did_you_mean
from nsed.train.saved_model import DESCRIPTION, SavedModel, read_model

MODEL_KINDS = {
    "cross-encoder": "nsed.baselines.classifier:PairClassifier",
    "edit-distance": "nsed.models.edit_distance:LearnableEditDistance",
    "jaro-winkler": "nsed.baselines.similarity:JaroWinkler",
    "levenshtein": "nsed.baselines.similarity:Levenshtein",
    "lexstat": "nsed.baselines.lingpy:LexStat",
    "lookup": "nsed.baselines.lookup:Lookup",
    "majority": "nsed.baselines.majority:Majority",
    "matcher": "nsed.models.matcher:Matcher",
    "matcher-mixture": "nsed.models.matcher_mixture:MatcherMixture",
    "mixture": "nsed.models.mixture:Mixture",
    "odds": "nsed.models.odds:OddsMatcher",
    "phonetisaurus": "nsed.baselines.phonetisaurus:Phonetisaurus",
    "sca": "nsed.baselines.lingpy:Sca",
    "seq2seq": "nsed.baselines.seq2seq:Seq2Seq",
    "stance": "nsed.baselines.classifier:PairClassifier",
    "transducer": "nsed.models.transducer:Transducer",
}
"""Model registry: the class of each kind, whose `from_saved` makes it again, imported when a folder holds one."""


def model_class(kind: str) -> Any:
    """Model class that makes models of this kind."""
    return resolve_name(MODEL_KINDS[kind])


def load(path: str | Path | Sequence[str | Path]) -> Any:
    """Load the model saved in a folder, or the shipped model of that name, whatever its kind.

    Of several folders or names, `load(["a", "b"])`, the mixture of their models: see `nsed.Mixture`, and of Matchers
    `nsed.models.matcher_mixture.MatcherMixture`.

    Raises `ModelFileError` if something is missing or truncated, is no number, or does not fit together, and
    `ArgumentError` for what is no path.
    """
    given: object = path  # whatever the caller has
    if not isinstance(given, Iterable | Path):
        expected = "the folder of a model, the name of a shipped one, or several of them"
        raise ArgumentError("path", got=shown(path), expected=expected)
    if not isinstance(path, str | Path):
        members = [load(one) for one in path]
        decide = all(can(one, Capability.MATCH) and not can(one, Capability.TRANSDUCE) for one in members)
        return model_class("matcher-mixture" if decide and members else "mixture")(members)
    saved = read_model(resolved(path))
    if saved.kind not in MODEL_KINDS:
        known = ", ".join(MODEL_KINDS)
        raise ModelFileError(path, f"holds a model of kind {shown(saved.kind)}; this version of nsed knows: {known}")
    return restored(path, model_class(saved.kind), saved)


def read_kind(path: str | Path, *kinds: str) -> SavedModel:
    """Serialised model, as `write_model` wrote it, if it is of one of those kinds."""
    saved = read_model(resolved(path))
    if saved.kind not in kinds:
        expected = f"expected {' or '.join(map(repr, kinds))}; nsed.load reads any kind"
        raise ModelFileError(path, f"holds a model of kind {shown(saved.kind)}, {expected}")
    return saved


def restored(path: str | Path, model: Any, saved: SavedModel) -> Any:
    """Model of a class from what is on disk. Raises `ModelFileError` for parts of which no model can be made."""
    for name, tensor in saved.tensors.items():
        if tensor.is_floating_point() and not bool(tensor.float().isfinite().all()):
            raise ModelFileError(path, f"the tensor {shown(name)} has NaN or infinite values: train or copy it again")
    try:
        return model.from_saved(saved)
    except MissingExtraError:
        raise
    except (ArithmeticError, AttributeError, LookupError, NsedError, RuntimeError, TypeError, ValueError) as error:
        reason = shortened(str(error) or type(error).__name__, 1000)
        raise ModelFileError(path, f"the parts of the model do not fit together: {reason}") from None


FOLDER = Path(__file__).parent / "shipped"
CARD = "card.md"


class ShippedModel(NamedTuple):
    """Shipped (pretrained) model, which needs no download; `nsed.load` takes its name."""

    name: str
    path: Path

    @property
    def card(self) -> str:
        """Model card: data, licence, protocol and figures, as Markdown."""
        return (self.path / CARD).read_text(encoding="utf-8")

    @property
    def title(self) -> str:
        """Title, the first line of the card."""
        return self.card.splitlines()[0].lstrip("# ")

    @property
    def size(self) -> int:
        """Size in bytes on disk."""
        return sum(file.stat().st_size for file in self.path.iterdir())


def shipped_models() -> dict[str, ShippedModel]:
    """Shipped models by name.

    >>> sorted(shipped_models())
    ['cognates', 'cognates-austronesian', 'g2p-en', 'g2p-en-best', 'g2p-en-stress', 'names', 'translit-ar-en', ...]
    """
    return {path.parent.name: ShippedModel(path.parent.name, path.parent) for path in sorted(FOLDER.glob(f"*/{CARD}"))}


def resolved(path: str | Path) -> Path:
    """Model folder that is named, or that of the shipped model of this name. Raises `ModelFileError` for neither."""
    shipped, reason = shipped_models().get(str(path)), _reason(Path(path))
    if shipped and reason == os.strerror(errno.ENOENT):
        return shipped.path
    if reason:
        is_file = reason == os.strerror(errno.ENOTDIR)
        found = "a file; the folder of a model comes first" if is_file else "there is no such folder"
        known = f"{found}; shipped models: {', '.join(shipped_models())}"
        message = f"no saved model here: {DESCRIPTION} cannot be read: {reason} ({known})"
        question = did_you_mean(shortened(str(path)), shipped_models())
        raise ModelFileError(shortened(str(path)), f"{message}. {question}" if question else message)
    return Path(path)


def _reason(path: Path) -> str:
    """Why there is no folder of that name; empty where there is one."""
    try:
        return "" if path.is_dir() else os.strerror(errno.ENOTDIR if path.exists() else errno.ENOENT)
    except OSError as error:  # a name of 5,000 characters
        return str(error.strerror)
