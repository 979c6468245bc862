"""Report: a model and pairs in; figures, curves, groups and mistakes out, as data and as a page."""

from nsed.report.build import NamedModel, Wishes, evaluate
from nsed.report.html.page import to_html
from nsed.report.links import read_reference
from nsed.report.records import Caution, Figure, Report

__all__ = ["Caution", "Figure", "NamedModel", "Report", "Wishes", "evaluate", "read_reference", "to_html"]
