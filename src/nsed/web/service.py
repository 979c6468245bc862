"""Service layer, the verbs without the web: plain values in, records of `schemas` out."""

from collections.abc import Callable, Sequence
from math import exp, isfinite
from typing import Any

from nsed.errors import NotExplainableError
from nsed.explain.rule_table import Ranking, Rule, RuleTable, plain
from nsed.explain.rules import rules as rules_in
from nsed.models.transduction import Overrides, Transduction
from nsed.text import EditScript, Pairs, Tokenizer
from nsed.web.limits import Limits
from nsed.web.schemas import Aligned, Answer, Answers, Decided, ExplainRequest, ExplainResponse, RulesResponse, Script
from nsed.web.served_models import ServedModel

Transducing = Callable[[Sequence[str]], list[Answers]]


def transduce(
    served: ServedModel,
    sources: Sequence[str],
    exceptions: Overrides,
    *,
    nbest: int = 1,
    beam: int | None = None,
    scripts: bool = False,
) -> list[Answers]:
    """N-best targets of each source, overrides first."""
    found = served.model.transduce(sources, nbest=nbest, beam=beam, overrides=exceptions)
    told = _scripts(served, sources, found) if scripts and "align" in served.abilities else _no_scripts(found)
    tokenizer = served.model.tokenizers.source
    return [
        Answers(source=source, answers=list(map(_answer, best, row)), unknown=unknown_symbols(tokenizer, source))
        for source, best, row in zip(sources, found, told, strict=True)
    ]


def match(served: ServedModel, pairs: Sequence[tuple[str, str]]) -> list[Decided]:
    """Match decision of each pair."""
    model = served.model
    scores = model.score(Pairs.of(pairs))
    sure = model.calibration.probability(scores)
    return [
        Decided(
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


def align(served: ServedModel, pairs: Sequence[tuple[str, str]]) -> list[Aligned]:
    """Alignment: the edit script of each pair."""
    scripts = served.model.align_all(Pairs.of(pairs))
    return [Aligned(source=s, target=t, script=_script(one)) for (s, t), one in zip(pairs, scripts, strict=True)]


def explain(served: ServedModel, asked: ExplainRequest, exceptions: Overrides, limits: Limits) -> ExplainResponse:
    """Explanation of a pair's score. Raises `NotExplainableError` where the model cannot make the target at all."""
    tokenizers = served.model.tokenizers
    limits.check_drawn("source", tokenizers.source.split(asked.source))
    target, exception = _target(served, asked, exceptions)
    limits.check_drawn("target", tokenizers.target.split(target))
    made = served.model.explain(asked.source, target, scripts=asked.scripts)
    return ExplainResponse(
        model=served.name,
        source=asked.source,
        target=target,
        exception=exception,
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
    """Out-of-vocabulary symbols, which a model reads as one it does not know."""
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


def _target(served: ServedModel, asked: ExplainRequest, exceptions: Overrides) -> tuple[str, bool]:
    """Target to be explained, and whether the overrides have it."""
    tokenizers = served.model.tokenizers
    settled = exceptions.by_source(tokenizers).get(tokenizers.source.split(asked.source), [])
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
        exception=one.override,
        script=script,
    )


def _rule(table: RuleTable, rule: Rule) -> dict[str, Any]:
    """Rule with its name and the strings of its examples, as people read them."""
    examples = [dict(zip(("source", "target"), table.joined(one), strict=True)) for one in rule.examples]
    told: dict[str, Any] = finite(plain(rule))
    return told | {"rule": str(rule), "examples": examples}


def _script(script: EditScript) -> Script:
    return Script(text=script.to_text(), edits=finite(script.to_dict()["edits"]))
