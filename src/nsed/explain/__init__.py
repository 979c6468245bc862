"""Explain: edit scripts and explanations, and how terminals show what was learned."""

from nsed.explain.operation_table import operation_table
from nsed.models import Explanation
from nsed.text import Edit, EditScript

__all__ = ["Edit", "EditScript", "Explanation", "operation_table"]
