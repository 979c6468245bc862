"""Evaluation report: a model and pairs in; figures, curves, groups and mistakes out, as data and as a page."""

from nsed.evaluate.report.build import Groups, NamedModel, Wishes, evaluate
from nsed.evaluate.report.html import to_html
from nsed.evaluate.report.links import read_reference
from nsed.evaluate.report.records import Caution, Figure, Report

__all__ = ["Caution", "Figure", "Groups", "NamedModel", "Report", "Wishes", "evaluate", "read_reference", "to_html"]
