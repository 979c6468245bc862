"""Served models, and what they answer, without the web: plain values in, records of `schemas` out."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, isfinite
from pathlib import Path
from typing import Any, Literal

from nsed.capabilities import Capability, can
from nsed.errors import ArgumentError, NotExplainableError
from nsed.explain.rule_table import Ranking, Rule, RuleTable, plain
from nsed.explain.rules import rules as rules_in
from nsed.models.persistence import load, shipped_models
from nsed.models.transduction import Overrides, Transduction
from nsed.progress import OnBatch, ignore
from nsed.registry import Registry
from nsed.text import EditScript, Pairs, Tokenizer
from nsed.web.limits import Limits
from nsed.web.schemas import (
    AlignResult,
    Answer,
    ExplainRequest,
    ExplainResponse,
    MatchResult,
    RulesResponse,
    Script,
    TransduceResult,
)

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
    "cognates-austronesian": (("m a t a", "m a k a"), ("l i m a", "r i m a"), ("t e l u", "t o r u")),
    "names": (("london", "лондон"), ("madrid", "مدريد"), ("berlin", "ベルリン"), ("athens", "αθήνα")),
}
"""Example pairs worth a look, of those that match."""
Transducing = Callable[[Sequence[str]], list[TransduceResult]]


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
        return replace(self, table=rules_in(self.model, pairs, on_batch=on_batch), examples=self.examples or shown)

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

    def __init__(self, overrides: Overrides, models: Iterable[ServedModel]) -> None:
        self._overrides = overrides
        self._settled = {one.name: overrides.by_source(one.model.tokenizers) for one in models}

    def __len__(self) -> int:
        return len(self._overrides)

    def of(self, served: ServedModel, sources: Sequence[str]) -> Overrides:
        """Overrides of some sources."""
        settled, split = self._settled[served.name], served.model.tokenizers.source.split
        different = {split(source): source for source in sources}
        return Overrides(
            Pairs.of([(source, target) for key, source in different.items() for target in settled.get(key, [])])
        )


def transduce(
    served: ServedModel,
    sources: Sequence[str],
    overrides: Overrides,
    *,
    nbest: int = 1,
    beam: int | None = None,
    scripts: bool = False,
) -> list[TransduceResult]:
    """N-best targets of each source, overrides first."""
    found = served.model.transduce(sources, nbest=nbest, beam=beam, overrides=overrides)
    told = _scripts(served, sources, found) if scripts and "align" in served.abilities else _no_scripts(found)
    tokenizer = served.model.tokenizers.source
    return [
        TransduceResult(
            source=source, answers=list(map(_answer, best, row)), unknown=unknown_symbols(tokenizer, source)
        )
        for source, best, row in zip(sources, found, told, strict=True)
    ]


def match(served: ServedModel, pairs: Sequence[tuple[str, str]]) -> list[MatchResult]:
    """Match decision of each pair."""
    model = served.model
    scores = model.score(Pairs.of(pairs))
    sure = model.calibration.probability(scores)
    return [
        MatchResult(
            source=source,
            target=target,
            match=bool(score >= model.threshold),
            probability=float(probability),
            score=finite(float(score)),
            threshold=float(model.threshold),
            threshold_probability=model.threshold_probability,
        )
        for (source, target), score, probability in zip(pairs, scores, sure, strict=True)
    ]


def align(served: ServedModel, pairs: Sequence[tuple[str, str]]) -> list[AlignResult]:
    """Alignment: the edit script of each pair."""
    scripts = served.model.align_all(Pairs.of(pairs))
    return [AlignResult(source=s, target=t, script=_script(one)) for (s, t), one in zip(pairs, scripts, strict=True)]


def explain(served: ServedModel, asked: ExplainRequest, overrides: Overrides, limits: Limits) -> ExplainResponse:
    """Explanation of a pair's score. Raises `NotExplainableError` where the model cannot make the target at all."""
    tokenizers = served.model.tokenizers
    limits.check_drawn("source", tokenizers.source.split(asked.source))
    target, override = _target(served, asked, overrides)
    limits.check_drawn("target", tokenizers.target.split(target))
    made = served.model.explain(asked.source, target, scripts=asked.scripts)
    return ExplainResponse(
        model=served.name,
        source=asked.source,
        target=target,
        override=override,
        explanation=finite(made.to_dict()),
        html=made.to_html(style=False) if asked.html else None,
        pictures={name: made.to_svg(name) for name in asked.pictures},
    )


def rules(
    served: ServedModel, pairs: Sequence[tuple[str, str]] | None, *, by: Ranking = "support", top: int = 50
) -> RulesResponse:
    """Learned rules, the first: in these pairs, or those that are known of the model."""
    table = served.table if pairs is None else rules_in(served.model, pairs)
    if table is None:
        advice = "give pairs, or start the server with --rules-data"
        raise NotExplainableError(f"{served.name} sees context, so that its weights alone tell no rules: {advice}")
    chosen = [_rule(table, rule) for rule in table.ranked(by, top=top)]
    return RulesResponse(model=served.name, pairs=table.pairs, total=len(table), rules=chosen)


def unknown_symbols(tokenizer: Tokenizer, text: str) -> list[str]:
    """Out-of-vocabulary symbols, which a model reads as known kin (é as e), if any, or as one it does not know."""
    return sorted({symbol for symbol in tokenizer.split(text) if symbol not in tokenizer.vocabulary})


def finite(value: Any) -> Any:
    """JSON-safe plain values: what is infinite, or no number, becomes nothing.

    >>> finite({"log_prob": float("-inf"), "share": [0.5]})
    {'log_prob': None, 'share': [0.5]}
    """
    if isinstance(value, dict):
        return {key: finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def _target(served: ServedModel, asked: ExplainRequest, overrides: Overrides) -> tuple[str, bool]:
    """Target to be explained, and whether the overrides have it."""
    tokenizers = served.model.tokenizers
    settled = overrides.by_source(tokenizers).get(tokenizers.source.split(asked.source), [])
    if asked.target is not None:
        return asked.target, tokenizers.target.split(asked.target) in map(tokenizers.target.split, settled)
    served.check("transduce")
    return (settled[0], True) if settled else (served.model.best_target(asked.source), False)


def _scripts(
    served: ServedModel, sources: Sequence[str], found: Sequence[Sequence[Transduction]]
) -> list[list[Script | None]]:
    """Edit script of every target that the model can write."""
    asked = [(s, one.text) for s, best in zip(sources, found, strict=True) for one in best if isfinite(one.log_prob)]
    made = iter(served.model.align_all(Pairs.of(asked)) if asked else [])
    return [[_script(next(made)) if isfinite(one.log_prob) else None for one in best] for best in found]


def _no_scripts(found: Sequence[Sequence[Transduction]]) -> list[list[Script | None]]:
    return [[None for _ in best] for best in found]


def _answer(one: Transduction, script: Script | None) -> Answer:
    return Answer(
        target=one.text,
        symbols=list(one.symbols),
        log_prob=finite(one.log_prob),
        probability=exp(min(0.0, one.log_prob)),
        override=one.override,
        script=script,
    )


def _rule(table: RuleTable, rule: Rule) -> dict[str, Any]:
    """Rule with its name and the strings of its examples, as people read them."""
    examples = [dict(zip(("source", "target"), table.joined(one), strict=True)) for one in rule.examples]
    told: dict[str, Any] = finite(plain(rule))
    return told | {"rule": str(rule), "examples": examples}


def _script(script: EditScript) -> Script:
    return Script(text=script.to_text(), edits=finite(script.to_dict()["edits"]))
