"""The report of many pairs: one file to search, sort, filter and print."""

from nsed.explain.report.page import report_page

__all__ = ["report_page"]
