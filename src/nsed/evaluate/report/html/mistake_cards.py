"""The worst mistakes, a card for each."""

from nsed.evaluate.report.records import Mistake, NamedScript
from nsed.explain.edit_boxes import boxes, legend
from nsed.explain.markup import foreign, lines, text

BETWEEN = ' <span class="between">and</span> '


def mistake_cards(mistakes: tuple[Mistake, ...]) -> str:
    """What the colours mean, then the cards, worst first."""
    cards = (_card(number, mistake) for number, mistake in enumerate(mistakes, start=1))
    return lines([f"<p>{legend()}</p>", '<ol class="mistakes">', *cards, "</ol>"])


def _card(number: int, mistake: Mistake) -> str:
    given = BETWEEN.join(map(foreign, mistake.given))
    facts = [mistake.kind, mistake.languages, *(f"{figure.title} {figure}" for figure in mistake.figures)]
    return lines(
        [
            f'<li class="mistake {text(mistake.kind).replace(" ", "-")}">',
            f'<h3><span class="rank">{number}</span> {given}</h3>',
            f'<p class="facts">{" · ".join(text(fact) for fact in facts if fact)}</p>',
            f"<dl><dt>said</dt><dd>{foreign(mistake.said)}</dd><dt>right</dt><dd>{foreign(mistake.right)}</dd></dl>",
            *map(_script, mistake.scripts),
            "</li>",
        ]
    )


def _script(named: NamedScript) -> str:
    return f'<div class="operations"><span class="name">{text(named.name)}</span>{boxes(named.script)}</div>'
