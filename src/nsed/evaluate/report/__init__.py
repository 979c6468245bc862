"""Evaluation report: a model and pairs in; figures, curves, groups and mistakes out, as data and as a page."""

import warnings
from typing import Any

from nsed.evaluate.report.build import Groups, NamedModel, ReportOptions, evaluate
from nsed.evaluate.report.html import to_html
from nsed.evaluate.report.links import read_reference
from nsed.evaluate.report.records import Caution, Figure, Report

__all__ = [
    "Caution",
    "Figure",
    "Groups",
    "NamedModel",
    "Report",
    "ReportOptions",
    "evaluate",
    "read_reference",
    "to_html",
]

_RENAMED = {"Wishes": "ReportOptions"}
"""Old public names and what they are called now."""


def __getattr__(name: str) -> Any:
    if name not in _RENAMED:
        raise AttributeError(f"module 'nsed.evaluate.report' has no attribute {name!r}")
    message = f"nsed.evaluate.report.{name} is now nsed.evaluate.report.{_RENAMED[name]}; the old name goes with 2.0"
    warnings.warn(message, DeprecationWarning, stacklevel=2)
    return globals()[_RENAMED[name]]
