"""Served models: their names, what they can do, what there is to try, and their overrides."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from nsed.capabilities import Capability, can
from nsed.errors import ArgumentError, NotExplainableError
from nsed.explain.rule_table import RuleTable
from nsed.explain.rules import rules
from nsed.models.persistence import load, shipped_models
from nsed.models.transduction import Overrides
from nsed.progress import OnBatch, ignore
from nsed.registry import Registry
from nsed.text import Pairs

NO_OVERRIDES = Overrides(Pairs((), ()))
SHOWN_PAIRS = 5
"""Example count: pairs of a file that are shown as examples."""
Ability = Literal["transduce", "match", "align", "explain", "rules"]

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "g2p-en": ("flagships", "thought", "colonel", "read", "supercalifragilistic"),
    "g2p-en-best": ("flagships", "thought", "colonel", "read", "supercalifragilistic"),
    "g2p-en-stress": ("photography", "record", "flagships", "understand"),
    "translit-ar-en": ("محمد", "القاهرة", "شكسبير", "نيويورك"),
    "translit-ar-en-best": ("محمد", "القاهرة", "شكسبير", "نيويورك"),
}
"""Example sources worth a look, of the models that come with the package."""
EXAMPLE_PAIRS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "cognates": (("h a n t", "h æ n d"), ("f a t ə r", "p a t e r"), ("m a t a", "m a k a")),
    "names": (("london", "лондон"), ("madrid", "مدريد"), ("berlin", "ベルリン"), ("athens", "αθήνα")),
}
"""Example pairs worth a look, of those that match."""


@dataclass(frozen=True)
class ServedModel:
    """Served model, under the name it is asked by."""

    name: str
    model: Any
    title: str = ""
    table: RuleTable | None = None
    """Rule table, counted beforehand."""
    examples: tuple[tuple[str, str | None], ...] = ()

    @classmethod
    def read(cls, path: str | Path) -> "ServedModel":
        """Load from a folder or the name of a shipped model; the folder's name becomes the model's."""
        shipped = shipped_models().get(str(path))
        name, model = (shipped.name if shipped else Path(path).resolve().name), load(path)
        examples = (*((source, None) for source in EXAMPLES.get(name, ())), *EXAMPLE_PAIRS.get(name, ()))
        return cls(name, model, shipped.title if shipped else name, _own_rules(model), examples)

    def by_language(self) -> "list[ServedModel]":
        """The model once for each language that it has learned to write; itself where it has none."""
        known = getattr(self.model, "languages", None) if can(self.model, Capability.TRANSDUCE) else None
        if known is None:
            return [self]
        return [
            replace(self, name=f"{self.name}-{one}", title=f"{self.title}, {one}", model=self.model.for_language(one))
            for one in known.symbols
        ]

    def with_rules(self, pairs: Pairs, *, on_batch: OnBatch = ignore) -> "ServedModel":
        """Copy with the rules in these pairs; some of which become examples, if there are none."""
        shown = tuple(pairs.positives())[:SHOWN_PAIRS]
        return replace(self, table=rules(self.model, pairs, on_batch=on_batch), examples=self.examples or shown)

    def warm_up(self) -> None:
        """Warm up: answer once, so that what compiles at first use is compiled before anybody waits."""
        source = self.examples[0][0] if self.examples else "a"
        if "transduce" in self.abilities:
            self.model.transduce([source])
        if "explain" in self.abilities:
            self.model.explain(source, source)

    @property
    def kind(self) -> str:
        """Model class name."""
        return type(self.model).__name__

    @property
    def abilities(self) -> list[Ability]:
        """Capabilities: what may be asked of it."""
        return list(_abilities(self.model))

    def check(self, ability: Ability) -> None:
        """Capability check: raise `ArgumentError` if it cannot do this."""
        if ability not in self.abilities:
            able = ", ".join(self.abilities) or "nothing"
            raise ArgumentError("model", got=f"{self.name}, which can {able}", expected=f"a model that can {ability}")


class ServedModels:
    """Served models by name."""

    def __init__(self, models: Iterable[ServedModel]) -> None:
        self._registry: Registry[ServedModel] = Registry("model")
        self._all = tuple(models)
        for one in self._all:
            if one.name in self._registry:
                raise ArgumentError("models", got=f"two models named {one.name}", expected="different names")
            self._registry.register(one.name, one)

    def __iter__(self) -> Iterator[ServedModel]:
        return iter(self._all)

    def able(self, name: str, ability: Ability) -> ServedModel:
        """Capable model of this name; raises `ArgumentError` if there is none, or it cannot do this."""
        found = self._registry[name]
        found.check(ability)
        return found


def _abilities(model: object) -> Iterator[Ability]:
    asked: dict[Ability, Capability] = {
        "transduce": Capability.TRANSDUCE,
        "match": Capability.MATCH,
        "align": Capability.ALIGN,
        "explain": Capability.EXPLAIN,
        "rules": Capability.RULES,
    }
    return (ability for ability, capability in asked.items() if can(model, capability))


def _own_rules(model: Any) -> RuleTable | None:
    """Learned rules that need no data, if the model has such."""
    if not can(model, Capability.RULES):
        return None
    try:
        return model.own_rules()  # type: ignore[no-any-return]  # of any model
    except NotExplainableError:
        return None


class RequestOverrides:
    """Overrides of each model, by the symbols that it reads.

    Raises `DataError`, with file and line, where a source has a target twice.
    """

    def __init__(self, exceptions: Overrides, models: Iterable[ServedModel]) -> None:
        self._exceptions = exceptions
        self._settled = {one.name: exceptions.by_source(one.model.tokenizers) for one in models}

    def __len__(self) -> int:
        return len(self._exceptions)

    def of(self, served: ServedModel, sources: Sequence[str]) -> Overrides:
        """Overrides of some sources."""
        settled, split = self._settled[served.name], served.model.tokenizers.source.split
        different = {split(source): source for source in sources}
        return Overrides(
            Pairs.of([(source, target) for key, source in different.items() for target in settled.get(key, [])])
        )
