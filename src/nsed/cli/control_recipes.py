"""How controls and peers are made from the command line: what takes no steps has no progress to show."""

from collections.abc import Callable
from typing import Any

from nsed.baselines.lingpy import Entry, LexStat, LexStatConfig, Sca, ScaConfig
from nsed.baselines.lookup import Lookup, LookupConfig
from nsed.baselines.majority import Majority, MajorityConfig
from nsed.baselines.phonetisaurus import Phonetisaurus, PhonetisaurusConfig
from nsed.baselines.similarity import JaroWinkler, JaroWinklerConfig, Levenshtein, LevenshteinConfig
from nsed.cli.recipes import RECIPES, Order, Recipe
from nsed.config import Config
from nsed.datasets.word_list import read_word_list
from nsed.errors import ArgumentError

__all__ = ["RECIPES"]
"""All kinds of models, these included."""


def _train_with(fit: Callable[..., Any]) -> Callable[[Order], str]:
    return lambda order: _save(order, lambda: fit(order.pairs, validation=order.validation, config=order.settings))


def _train_lexstat(order: Order) -> str:
    """LexStat learns from a word list beside the pairs."""
    if not order.settings.word_list:
        raise ArgumentError("word_list", got="nothing", expected="a word list to learn from: --set word_list=FILE")
    words = [Entry(word.language, word.concept, word.tokens) for word in read_word_list(order.settings.word_list)]
    options = {"words": words, "validation": order.validation, "config": order.settings}
    return _save(order, lambda: LexStat.fit(order.pairs, **options))


def _save(order: Order, fit: Callable[[], Any]) -> str:
    if order.resume:
        raise ArgumentError("--resume", got="a model that is made at once", expected="nothing: there is no way back in")
    fit().save(order.output)
    return f"{order.settings.model}: made of {len(order.pairs):,} pairs"


_KINDS: dict[str, tuple[type[Config], Callable[..., Any]]] = {
    "jaro-winkler": (JaroWinklerConfig, JaroWinkler.fit),
    "levenshtein": (LevenshteinConfig, Levenshtein.fit),
    "lookup": (LookupConfig, Lookup.fit),
    "majority": (MajorityConfig, Majority.fit),
    "phonetisaurus": (PhonetisaurusConfig, Phonetisaurus.fit),
    "sca": (ScaConfig, Sca.fit),
}
for _name, (_config, _fit) in _KINDS.items():
    RECIPES.register(_name, Recipe(_config, _train_with(_fit)))
RECIPES.register("lexstat", Recipe(LexStatConfig, _train_lexstat))
