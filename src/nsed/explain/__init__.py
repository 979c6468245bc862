"""Explain: edit scripts and explanations, learned rules, and how terminals show what was learned."""

from nsed.explain.operation_table import operation_table
from nsed.explain.rule_comparison import RuleDifference, compare
from nsed.explain.rule_table import Rule, RuleContext, RuleExample, RuleTable
from nsed.explain.rules import rules
from nsed.explain.weight_rules import table_rules, weight_rules
from nsed.models import Explanation
from nsed.text import Edit, EditScript

__all__ = [
    "Edit",
    "EditScript",
    "Explanation",
    "Rule",
    "RuleContext",
    "RuleDifference",
    "RuleExample",
    "RuleTable",
    "compare",
    "operation_table",
    "rules",
    "table_rules",
    "weight_rules",
]
