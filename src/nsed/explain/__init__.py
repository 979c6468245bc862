"""Explanations: evidence for a pair's score, and learned rules, as text, JSON, HTML, SVG and LaTeX."""

from nsed.explain.decision import Contribution, Decision, Output
from nsed.explain.explanation import Explanation, Origin
from nsed.explain.render import RENDERINGS
from nsed.explain.rule_table import Rule, RuleContext, RuleDifference, RuleExample, RuleTable, compare
from nsed.explain.rules import rules
from nsed.explain.weight_rules import table_rules, weight_rules
from nsed.text import Edit, EditScript

__all__ = [
    "RENDERINGS",
    "Contribution",
    "Decision",
    "Edit",
    "EditScript",
    "Explanation",
    "Origin",
    "Output",
    "Rule",
    "RuleContext",
    "RuleDifference",
    "RuleExample",
    "RuleTable",
    "compare",
    "rules",
    "table_rules",
    "weight_rules",
]
