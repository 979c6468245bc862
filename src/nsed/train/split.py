"""Train/validation split: pairs to learn from and to validate with, held out at random where nobody says which."""

from random import Random

from nsed.errors import ArgumentError
from nsed.text import Pairs

HELD_OUT_SHARE, MOST_HELD_OUT = 20, 2000


def split(pairs: Pairs, validation: Pairs | None, *, seed: int) -> tuple[Pairs, Pairs]:
    """Training and validation pairs; without the latter a twentieth of the sources, at most 2,000, is held out.

    A source never stands on both sides of a split made here, unless there is only one.
    """
    if validation is not None:
        if not len(validation):
            raise ArgumentError("validation", got="no pairs", expected="at least one")
        return pairs, validation
    sources = sorted(set(pairs.sources))
    Random(seed).shuffle(sources)
    held_out = set(sources[: max(1, min(MOST_HELD_OUT, len(sources) // HELD_OUT_SHARE))])
    kept, apart = (
        pairs.chosen([row for row, source in enumerate(pairs.sources) if (source in held_out) == wanted])
        for wanted in (False, True)
    )
    return (kept if len(kept) else pairs), apart


def transduction_split(pairs: Pairs, validation: Pairs | None, *, seed: int) -> tuple[Pairs, Pairs]:
    """Split for transduction: positive pairs; validation sources that are also learned from do not count."""
    positives = pairs.positives()
    if not len(positives):
        raise ArgumentError("pairs", got="no positive pair", expected="at least one to learn from")
    checked = None if validation is None else validation.positives()
    training, held_out = split(positives, checked, seed=seed)
    return training, unseen(held_out, training)


def labelled_split(pairs: Pairs, validation: Pairs | None, *, seed: int) -> tuple[Pairs, Pairs]:
    """Split for matching, with labels of both kinds on both sides: to learn, to set a threshold, and to calibrate."""
    training, held_out = split(_labelled(pairs, "labels"), validation, seed=seed)
    return training, _labelled(held_out, "labels of the validation pairs")


def unseen(validation: Pairs, training: Pairs) -> Pairs:
    """Unseen validation pairs, whose source is not learned from; all of them, where every source is.

    A dictionary gives words with several pronunciations to both sides of a split, and says so nowhere.
    """
    seen = set(training.sources)
    new = [row for row, source in enumerate(validation.sources) if source not in seen]
    return validation.chosen(new) if new else validation


def _labelled(pairs: Pairs, name: str) -> Pairs:
    kinds = set(pairs.labels or ())
    if len(kinds) < 2:
        got = "no labels" if not kinds else f"only labels {int(kinds.pop())}"
        raise ArgumentError(name, got=got, expected="pairs that match and pairs that do not, with labels 1 and 0")
    return pairs
