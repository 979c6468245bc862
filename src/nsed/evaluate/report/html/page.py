"""The whole page: one file that needs no other, for screens, phones, paper, by day and by night."""

from importlib.resources import files

from nsed.evaluate.report.html.mistake_cards import mistake_cards
from nsed.evaluate.report.html.plots import plot
from nsed.evaluate.report.html.tables import breakdown_table, comparison_table, figures_table
from nsed.evaluate.report.records import Caution, Figure, Report
from nsed.explain.edit_boxes import BOX_STYLE
from nsed.explain.markup import lines, text

HEADLINES = ("wer", "cer", "nbest_accuracy", "f1", "average_precision", "roc_auc", "alignment_f1")
"""Figures that stand large at the top, where there are such."""


def to_html(report: Report) -> str:
    """The report as a page, ready for a file in UTF-8."""
    title = f"{report.model} on {report.pairs}" if report.pairs else report.model
    return lines(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{text(title)}</title>\n<style>\n{BOX_STYLE}{_resource('page.css')}</style>\n</head>\n<body>\n<main>",
            f"<header><h1>{text(title)}</h1>\n<p>{text(_subtitle(report))}</p></header>",
            *map(_caution, report.cautions),
            _headlines(report),
            *_sections(report),
            f"</main>\n<script>\n{_resource('sort.js')}</script>\n</body>\n</html>\n",
        ]
    )


def _sections(report: Report) -> list[str]:
    found = [_section("Figures", figures_table(report.figures))]
    if report.comparison:
        compared = comparison_table(report.model, report.figures, report.comparison)
        found.append(_section(f"Against {report.comparison.model}", compared))
    if report.curves:
        found.append(_section("Curves", f'<div class="plots">{lines(map(plot, report.curves))}</div>'))
    groups = [_section(f"By {one.by}", breakdown_table(one)) for one in report.breakdowns]
    found += [f'<div class="groups">{lines(groups)}</div>'] if groups else []
    if report.mistakes:
        found.append(_section(f"The {len(report.mistakes)} worst errors", mistake_cards(report.mistakes)))
    return found


def _section(title: str, content: str) -> str:
    return f"<section>\n<h2>{text(title)}</h2>\n{content}\n</section>"


def _subtitle(report: Report) -> str:
    settings = (f"{name} {value}" for name, value in report.settings.items())
    return ", ".join([report.task, *settings, "intervals: bootstrap, 95 %"])


def _headlines(report: Report) -> str:
    shown = {figure.name: figure for figure in report.figures}
    return f'<div class="headlines">{"".join(_headline(shown[name]) for name in HEADLINES if name in shown)}</div>'


def _headline(figure: Figure) -> str:
    span = f"<small>{text(figure.span)}</small>" if figure.span else ""
    return f'<div class="headline"><span>{text(figure.title)}</span><b>{text(str(figure))}</b>{span}</div>'


def _caution(caution: Caution) -> str:
    table = figures_table(caution.figures) if caution.figures else ""
    return f'<aside class="caution" role="note"><p>{text(caution.message)}</p>{table}</aside>'


def _resource(name: str) -> str:
    return (files("nsed.evaluate.report.html") / name).read_text(encoding="utf-8")
