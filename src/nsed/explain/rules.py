"""What a model does to symbols, over a whole data set: posteriors of all its lattices, added up per operation."""

import numpy as np

from nsed.errors import ArgumentError
from nsed.explain.rule_contexts import contexts_of
from nsed.explain.rule_counts import HasLattices, RuleCounts, count_rules
from nsed.explain.rule_examples import Shown
from nsed.explain.rule_table import Rule, RuleContext, RuleExample, RuleKind, RuleTable
from nsed.progress import OnBatch, ignore
from nsed.text import Coders, Pairs
from nsed.text.pairs import PairsLike
from nsed.types import PAD


def rules(
    model: HasLattices, pairs: PairsLike, *, contexts: bool = True, examples: int = 4, on_batch: OnBatch = ignore
) -> RuleTable:
    """The rules that a model applies to pairs; of labelled pairs, to those that match.

    Every source symbol is deleted or substituted once and every target symbol inserted or substituted once, in
    expectation, so the counts of a symbol's rules add up to its occurrences. `on_batch` gets the number of pairs just
    done. Raises `ArgumentError` where there is no pair.
    """
    chosen = Pairs.of(pairs).positives()
    if not len(chosen):
        raise ArgumentError("pairs", got="no pair, or none that matches", expected="at least one to find rules in")
    counts = count_rules(model, chosen, contexts=contexts, examples=examples, on_batch=on_batch)
    found = contexts_of(counts) if contexts else {}
    shown = _examples(counts, chosen, model.coders)
    made = _rules(counts, found, shown)
    return RuleTable(made, len(chosen) - counts.underivable, counts.underivable, separators_of(model.coders))


def separators_of(coders: Coders) -> tuple[str, str]:
    """What stands between symbols on both sides."""
    source, target = (coder.symboliser.join(("", "")) for coder in (coders.source, coders.target))
    return source, target


def kind_of(source: str, target: str) -> RuleKind:
    """What an operation does with these symbols, empty where it has none."""
    if not source:
        return "insert"
    if not target:
        return "delete"
    return "keep" if source == target else "substitute"


def _rules(
    counts: RuleCounts, contexts: dict[int, tuple[RuleContext, ...]], examples: dict[int, list[RuleExample]]
) -> tuple[Rule, ...]:
    sources, targets = counts.source.vocabulary, counts.target.vocabulary
    totals = counts.left.grouped(counts.left.keys // len(sources))
    tries = counts.left_opportunities.grouped(counts.left_opportunities.keys // len(sources))
    possible, everything = tries.of(totals.keys // len(targets)), totals.values.sum()
    columns = zip(totals.keys.tolist(), totals.values.tolist(), possible.tolist(), strict=True)
    made = []
    for number, count, opportunities in columns:
        s, t = divmod(number, len(targets))
        source, target = "" if s == PAD else sources.names[s], "" if t == PAD else targets.names[t]
        known = contexts.get(number, ()), tuple(examples.get(number, ()))
        figures = count, opportunities, count / opportunities, count / everything
        made.append(Rule(kind_of(source, target), source, target, *figures, *known))
    return tuple(made)


def _examples(counts: RuleCounts, pairs: Pairs, coders: Coders) -> dict[int, list[RuleExample]]:
    found: dict[int, list[RuleExample]] = {}
    for number, pair, i, j, weight in _rows(counts.examples):
        source, target = coders.source.split(pairs.sources[pair]), coders.target.split(pairs.targets[pair])
        found.setdefault(number, []).append(RuleExample(source, target, i, j, min(1.0, weight)))
    return found


def _rows(shown: Shown) -> "zip[tuple[int, int, int, int, float]]":
    columns: list[np.ndarray] = [shown.operation, shown.pair, shown.i, shown.j, shown.weight]
    return zip(*(column.tolist() for column in columns), strict=True)
