"""Rule tables as plain data: what becomes of which symbol, how often, where; and how two tables differ."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from nsed.errors import ArgumentError
from nsed.explain.rule_statistics import chance, g_squared
from nsed.text.visible import visible

RuleKind = Literal["delete", "insert", "substitute", "keep"]
ContextSide = Literal["after", "before"]
Ranking = Literal["support", "surprise"]

SIGNIFICANT = 10.83
"""Critical value of G², one degree of freedom, p = 0.001: chance exceeds it once in a thousand times."""
MUCH = 1.25
"""Minimum probability ratio: a context tells something if the operation is so many times as probable there."""
MOST_TOLD, WEAKEST = 6, 0.05
"""Contexts at most that are told of a rule, and the part of the strongest one's G² that each must have."""


@dataclass(frozen=True)
class RuleContext:
    """Rule context: a neighbour in the source, `^` before the first symbol and `$` after the last, if `edge` is true.

    Of `opportunities` places with this neighbour, the operation was used at `count`; that is `ratio` times its
    probability anywhere. `g2` is the log-likelihood ratio of the places with this neighbour against those without,
    below zero where the operation is rarer here.

    >>> at_the_end = RuleContext("before", "$", True, 9.0, opportunities=10.0, probability=0.9, ratio=1.8, g2=14.2)
    >>> at_the_end.tells
    True
    """

    side: ContextSide
    symbol: str
    edge: bool
    count: float
    opportunities: float
    probability: float
    ratio: float
    g2: float

    @property
    def tells(self) -> bool:
        """Significance of a context: whether the operation is much more probable here, and not by chance."""
        return self.g2 >= SIGNIFICANT and self.ratio >= MUCH and self.count >= 1


class RuleExample(NamedTuple):
    """Rule example: a pair in which the operation is used, with its posterior probability there.

    `i` and `j` are the symbols of source and target before the operation, as in `Edit`.

    >>> example = RuleExample(("c", "a", "t"), ("k", "a", "t"), 0, 0, probability=0.98)
    >>> example.source[example.i], example.target[example.j]
    ('c', 'k')
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    i: int
    j: int
    probability: float


@dataclass(frozen=True)
class Rule:
    """Learned rule: one operation and what is known of it.

    `count` is how often it is expected in the data, the sum of its posteriors; `opportunities` how often it could have
    been: occurrences of its source symbol, or for an insertion places between symbols, both ends included.
    `probability` is one divided by the other, `share` the part of all operations that are this one. Rules that come
    from weights alone have no counts, contexts or examples.

    >>> rule = Rule("substitute", "c", "k", count=3.0, opportunities=4.0, probability=0.75, share=0.2)
    >>> str(rule), f"{rule.probability:.0%}"
    ('c→k', '75%')
    """

    kind: RuleKind
    source: str
    target: str
    count: float
    opportunities: float
    probability: float
    share: float
    contexts: tuple[RuleContext, ...] = ()
    """Contexts: the neighbours that it was seen with, expected at least half a time, the most surprising first."""
    examples: tuple[RuleExample, ...] = ()

    @property
    def name(self) -> tuple[str, str, str]:
        """Rule name: kind, source and target."""
        return self.kind, self.source, self.target

    @property
    def surprise(self) -> float:
        """G² of the neighbour that says most about it: how far it is from happening alike everywhere; 0 at least."""
        return max((context.g2 for context in self.contexts), default=0.0)

    @property
    def telling(self) -> tuple[RuleContext, ...]:
        """Significant contexts, in which it is much more probable than elsewhere, strongest first."""
        return tuple(one for one in self.contexts if one.tells and one.g2 >= WEAKEST * self.surprise)[:MOST_TOLD]

    def told(self) -> str:
        """Significant contexts in words, say `before e i y, at the end`."""
        phrases: dict[str, list[str]] = {}
        for context in self.telling:
            edge = {"after": "at the beginning", "before": "at the end"}[context.side]
            symbols = phrases.setdefault(edge if context.edge else context.side, [])
            symbols += [] if context.edge else [visible(context.symbol)]
        return ", ".join(" ".join([phrase, *symbols]) for phrase, symbols in phrases.items())

    def __str__(self) -> str:
        source, target = visible(self.source), visible(self.target)
        shown = {"delete": f"-{source}", "insert": f"+{target}", "substitute": f"{source}→{target}", "keep": source}
        return shown[self.kind]


@dataclass(frozen=True)
class RuleTable:
    """Rule table of a model on some pairs, or of its weights alone (`pairs` is 0).

    >>> rules = Rule("keep", "a", "a", 5.0, 5.0, 1.0, 0.6), Rule("delete", "e", "", 3.0, 4.0, 0.75, 0.4)
    >>> table = RuleTable(rules, pairs=4)
    >>> [str(rule) for rule in table.ranked(top=1)], table.find("delete", "e").probability
    (['a'], 0.75)
    """

    rules: tuple[Rule, ...]
    pairs: int = 0
    """Number of pairs that the rules were counted in."""
    underivable: int = 0
    """Underivable pairs, left out because no operations of the model make them."""
    separators: tuple[str, str] = ("", "")
    """Symbol separators of a source and of a target."""

    def __len__(self) -> int:
        return len(self.rules)

    def ranked(self, by: Ranking = "support", *, top: int | None = None, min_count: float = 0.0) -> list[Rule]:
        """Top rules by support (count; of weights their share) or by surprise (see `Rule.surprise`)."""
        if by == "surprise" and not any(rule.contexts for rule in self.rules):
            raise ArgumentError("by", got="surprise", expected="support: these rules have no contexts")
        chosen = [rule for rule in self.rules if rule.count >= min_count]
        if by == "surprise":
            chosen.sort(key=lambda rule: (-rule.surprise, -rule.count, rule.name))
        else:
            chosen.sort(key=lambda rule: (-rule.count, -rule.share, rule.name))
        return chosen[:top]

    def find(self, kind: RuleKind, source: str = "", target: str = "") -> Rule | None:
        """Rule of this operation; None if it never happens."""
        return self.by_name.get((kind, source, target))

    @cached_property
    def by_name(self) -> Mapping[tuple[str, str, str], Rule]:
        """All rules by what they are called."""
        return {rule.name: rule for rule in self.rules}

    def opportunities(self, rule: Rule) -> float:
        """Opportunities: how often another table's rule could have been used here."""
        return self._opportunities.get(rule.source, 0.0)

    @cached_property
    def _opportunities(self) -> Mapping[str, float]:
        """Opportunities by source symbol; the empty one stands for places between symbols."""
        return {rule.source: rule.opportunities for rule in self.rules}

    def joined(self, example: RuleExample) -> tuple[str, str]:
        """Joined strings of an example."""
        return self.separators[0].join(example.source), self.separators[1].join(example.target)


def plain(rule: Rule) -> dict[str, Any]:
    """JSON-ready values of a rule."""
    return {
        **asdict(rule),
        "examples": [example._asdict() for example in rule.examples],
        "surprise": rule.surprise,
        "told": rule.told(),
    }


@dataclass(frozen=True)
class RuleDifference:
    """Rule difference: one operation on both sides, its expected count, its opportunities and its probability.

    `g2` is the log-likelihood ratio of two probabilities against a single one, `p_value` how probable so large a G² is
    by chance if all opportunities were independent. Two models on the same data are not: there, G² is an order of
    importance rather than a test. Rules from weights alone have neither; their `p_value` is 1.

    >>> rule = Rule("delete", "e", "", 30.0, 40.0, 0.75, 0.4)
    >>> one = RuleDifference(rule, (10.0, 30.0), (40.0, 40.0), probabilities=(0.25, 0.75), g2=20.9, p_value=5e-6)
    >>> one.difference
    0.5
    """

    rule: Rule
    """Rule of the operation, with the contexts and examples of the side that uses it more."""
    counts: tuple[float, float]
    opportunities: tuple[float, float]
    probabilities: tuple[float, float]
    g2: float
    p_value: float

    @property
    def difference(self) -> float:
        """Probability difference: the second minus the first."""
        return self.probabilities[1] - self.probabilities[0]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready dictionary of plain values."""
        names = {"kind": self.rule.kind, "source": self.rule.source, "target": self.rule.target}
        figures = {name: value for name, value in asdict(self).items() if name != "rule"}
        return {**names, **figures, "difference": self.difference}


def compare(first: RuleTable, second: RuleTable, *, min_count: float = 0.0) -> list[RuleDifference]:
    """Compare two tables: all rules of both, those first that differ most (G², then the difference of probabilities).

    `min_count` leaves out rules that neither side uses so often.

    >>> british = RuleTable((Rule("keep", "u", "u", 9.0, 10.0, 0.9, 1.0),), pairs=10)
    >>> rules = Rule("keep", "u", "u", 1.0, 10.0, 0.1, 0.1), Rule("delete", "u", "", 9.0, 10.0, 0.9, 0.9)
    >>> [(str(one.rule), one.counts, round(one.difference, 1)) for one in compare(british, RuleTable(rules, pairs=10))]
    [('-u', (0.0, 9.0), 0.9), ('u', (9.0, 1.0), -0.8)]
    """
    both = (first, second)
    names = sorted({*first.by_name, *second.by_name})
    sides = [[table.by_name.get(name) for table in both] for name in names]
    used = [side for side in sides if max(rule.count for rule in side if rule) >= min_count]
    counts = np.array([[rule.count if rule else 0.0 for rule in side] for side in used]).reshape(-1, 2)
    tries = np.array([_opportunities(both, side) for side in used]).reshape(-1, 2)
    g2 = np.where(tries.min(1) > 0, g_squared(counts[:, 0], tries[:, 0], counts[:, 1], tries[:, 1]), 0.0)
    rows = zip(used, counts.tolist(), tries.tolist(), g2.tolist(), strict=True)
    differences = [_difference(side, (c[0], c[1]), (n[0], n[1]), value) for side, c, n, value in rows]
    return sorted(differences, key=lambda one: (-one.g2, -abs(one.difference), one.rule.name))


def _opportunities(tables: tuple[RuleTable, RuleTable], side: list[Rule | None]) -> list[float]:
    (known, *_) = (rule for rule in side if rule)
    return [table.opportunities(known) for table in tables]


def _difference(
    side: list[Rule | None], counts: tuple[float, float], tries: tuple[float, float], g2: float
) -> RuleDifference:
    first, second = (rule.probability if rule else 0.0 for rule in side)
    (shown, *_) = sorted((rule for rule in side if rule), key=lambda rule: -rule.probability)
    return RuleDifference(shown, counts, tries, (first, second), g2, chance(g2))
