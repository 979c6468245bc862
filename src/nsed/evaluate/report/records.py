"""Report records, as plain data: figures, curves, groups, mistakes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from math import isfinite
from typing import Any, Literal, NamedTuple

from nsed.evaluate.significance import Interval
from nsed.text import EditScript

FigureKind = Literal["share", "number", "count"]
TaskKind = Literal["matching", "transduction", "alignment"]

_NAMES = {"cer": "CER", "wer": "WER", "f1": "F1", "roc": "ROC", "auc": "AUC", "brier": "Brier"}
_FORMATS: dict[FigureKind, str] = {"share": ".2%", "number": ".4f", "count": ",.0f"}


@dataclass(frozen=True)
class Figure:
    """Metric value with a name, perhaps its 95 % confidence interval, and a note where it must not be misread.

    >>> print(Figure("wer", 0.2294), Figure("words", 11994, "count"), Figure("brier_score", 0.0512, "number"))
    22.94% 11,994 0.0512
    """

    name: str
    value: float | int
    kind: FigureKind = "share"
    interval: Interval | None = None
    note: str = ""

    @property
    def title(self) -> str:
        """Metric name in words."""
        return in_words(self.name)

    def __str__(self) -> str:
        return written(self.value, self.kind)

    @property
    def span(self) -> str:
        """Confidence interval in words; nothing where there is none."""
        return " to ".join(written(end, self.kind) for end in self.interval or ())


def in_words(name: str) -> str:
    """Metric name as people write it.

    >>> in_words("alignment_f1"), in_words("corpus_cer")
    ('alignment F1', 'corpus CER')
    """
    return " ".join(_NAMES.get(word, word) for word in name.split("_"))


def written(value: float | int, kind: FigureKind) -> str:
    """Formatted number, as people read it: shares in per cent, counts with commas."""
    return format(value, _FORMATS[kind])


class Point(NamedTuple):
    """Curve point; `items` is how many pairs or words it stands for, where that is known."""

    x: float
    y: float
    items: int | None = None
    name: str = ""


class Line(NamedTuple):
    """Curve line: points that belong together."""

    name: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Curve:
    """Curve plot: one or several lines over an axis each; all values of `y` are shares."""

    title: str
    x: str
    y: str
    lines: tuple[Line, ...]
    diagonal: bool = False
    """Diagonal: whether to draw the line on which both axes are the same."""
    x_kind: FigureKind = "share"


class Group(NamedTuple):
    """Breakdown group of pairs or words: what it is called, how many there are, and a figure for each column."""

    name: str
    items: int
    values: tuple[float, ...]


Categories = Mapping[str, Sequence[str]]
"""Categories of pairs, by which figures are broken down: for each name a text for each pair."""


@dataclass(frozen=True)
class Breakdown:
    """Breakdown: the same metrics for each group."""

    by: str
    of: str
    """Group items: what the groups consist of, pairs or words."""
    columns: tuple[str, ...]
    groups: tuple[Group, ...]


class NamedScript(NamedTuple):
    """Named edit script, and what it is the script of."""

    name: str
    script: EditScript


@dataclass(frozen=True)
class Mistake:
    """Error example: the string or strings given, what was said of them, what is right, and how."""

    kind: str
    given: tuple[str, ...]
    said: str
    right: str
    figures: tuple[Figure, ...] = ()
    scripts: tuple[NamedScript, ...] = ()
    languages: str = ""


@dataclass(frozen=True)
class Difference:
    """Significance test result: how far a figure is above the other model's, and the p-value of that difference."""

    name: str
    value: float
    interval: Interval
    p_value: float


@dataclass(frozen=True)
class Comparison:
    """Model comparison: another model on the same pairs."""

    model: str
    figures: tuple[Figure, ...]
    differences: tuple[Difference, ...]


@dataclass(frozen=True)
class Caution:
    """Data caution (leakage): why a score is worth less than it seems, with the figures that show it.

    >>> caution = Caution("pairs of the test are in training", (Figure("shared_pairs", 0.25),))
    >>> caution.message, *map(str, caution.figures)
    ('pairs of the test are in training', '25.00%')
    """

    message: str
    figures: tuple[Figure, ...] = ()


@dataclass(frozen=True)
class Report:
    """Evaluation report: all that is known of a model on some pairs.

    >>> report = Report("g2p", "test.tsv", "transduction", (Figure("wer", 0.2294), Figure("words", 11994, "count")))
    >>> report.to_dict()["wer"], *map(str, report.figures)
    (0.2294, '22.94%', '11,994')
    """

    model: str
    pairs: str
    task: TaskKind
    figures: tuple[Figure, ...]
    settings: Mapping[str, int | str] = field(default_factory=dict)
    curves: tuple[Curve, ...] = ()
    breakdowns: tuple[Breakdown, ...] = ()
    mistakes: tuple[Mistake, ...] = ()
    comparison: Comparison | None = None
    cautions: tuple[Caution, ...] = ()
    """Data cautions, shown beside the figures, before anything else."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready dictionary; the figures stand at the top, each by its name, its interval beside it."""
        rest = {name: value for name, value in vars(self).items() if name not in ("figures", "settings")}
        return {**plain(rest), **self.settings, **by_name(self.figures)}


def by_name(figures: tuple[Figure, ...]) -> dict[str, Any]:
    """Metrics dictionary: `f1`, and `f1_interval` where there is one."""
    named: dict[str, Any] = {}
    for figure in figures:
        named[figure.name] = plain(int(figure.value) if figure.kind == "count" else float(figure.value))
        if figure.interval is not None:
            named[f"{figure.name}_interval"] = plain(list(figure.interval))
    return named


def plain(value: Any) -> Any:
    """JSON-ready values: records as dictionaries and tuples as lists, all the way down; NaN and infinities are None.

    >>> from nsed.evaluate.report.records import Line, Point
    >>> plain(Line("f1", (Point(0.5, float("-inf")),)))
    {'name': 'f1', 'points': [{'x': 0.5, 'y': None, 'items': None, 'name': ''}]}
    """
    if isinstance(value, EditScript):
        return plain(value.to_dict())
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return _plain_sequence(value)
    return None if isinstance(value, float) and not isfinite(value) else value


def _plain_sequence(values: Any) -> Any:
    names = getattr(values, "_fields", None)
    if names is None:
        return [plain(value) for value in values]
    return {name: plain(value) for name, value in zip(names, values, strict=True)}
