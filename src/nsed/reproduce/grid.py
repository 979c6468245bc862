"""The grid: every cell of the paper's tables and figures, what it says there, and the run that each is measured by.

`cells.tsv` is the grid itself, a line per cell. Tables are numbered in the order of the paper's source: 1 cognates, 2
its ablation, 3 transduction, 4 its ablation, 5 edit scripts, 6 and 7 validation. Rows in parentheses are comments
there. Figures: 1 the lattice, 2 tables of alpha, 3 error by training pairs and by dimensions, 4 by beam and length
normalisation, 5 learning curves. `hours` are the paper's, of one training. Beyond the paper: `honest` has the rows of
Table 1 with whole concepts held out, `exact` the Transducers of Table 3 as exact models; rows in brackets are our own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from math import isnan
from pathlib import Path
from typing import Any, NamedTuple

from nsed.config import flat, from_mapping, merged, read_yaml
from nsed.datasets.catalogue import DATASETS
from nsed.errors import ArgumentError, ConfigError
from nsed.models.persistence import model_class
from nsed.text import StringConfig

TABLES, FIGURES = [tuple(f"{kind}{n}" for n in range(1, last + 1)) for kind, last in (("table", 7), ("figure", 5))]
BEYOND = ("honest", "exact")
"""Ours beside the paper's tables: with whole concepts held out, and as exact models."""
PLACES = (*TABLES, *FIGURES, *BEYOND)
READINGS = (None, "faster", "patient")
"""How the paper's terms were read, in the order in which it was tried: to the letter, then files of `readings/`."""
CONFIGS = Path("configs", "paper")
"""Where the settings are, seen from the project's root."""
COMMON = "common"
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "interpretable": {"distortion": 0.1, "likelihood": 1.0},
    "attention": {"attention": True},
    "exact": {"normalisation": "outgoing", "em": 0.0, "next_symbol": 0.0, "likelihood": 1.0},
    "no-match": {"match": 0.0},
    "no-em": {"em": 0.0},
    "no-next-symbol": {"next_symbol": 0.0},
    "no-likelihood": {"likelihood": 0.0},
}
"""What differs from the settings of a row: the column "+ Int. loss", the exact form, and the ablations."""
NUMBERED = {"dim": "encoder.dim"}
"""Variants with a number, `dim=8`, and the setting that it is; `pairs=60` cuts the training pairs instead."""


class PaperFigure(NamedTuple):
    """A mean in percent, and its standard deviation where the paper has one; no number beyond the paper."""

    mean: float
    deviation: float | None = None

    def __str__(self) -> str:
        if isnan(self.mean):
            return "–"
        return f"{self.mean:.1f}" + ("" if self.deviation is None else f" ± {self.deviation:.1f}")


@dataclass(frozen=True)
class Run:
    """What is trained once for each seed: a row's settings, perhaps varied, on a data set split by a protocol.

    >>> run = Run.named("cognates-aa@published-fixed/matcher-rnn+interpretable")
    >>> run.dataset, run.protocol, run.config, run.variants
    ('cognates-aa', 'published-fixed', 'matcher-rnn', ('interpretable',))
    """

    dataset: str
    config: str
    variants: tuple[str, ...] = ()
    protocol: str | None = None
    """Of word lists; data sets that come in parts have none."""
    reading: str | None = None
    """How the paper's terms are read, a file of `readings/`; without, to the letter."""

    @classmethod
    def named(cls, name: str) -> "Run":
        """The run of a name, `data set/settings+variant~reading`; word lists are split as in the paper by default."""
        name, _, reading = name.partition("~")
        data, _, rest = name.partition("/")
        dataset, _, protocol = data.partition("@")
        config, *variants = rest.split("+")
        is_list = DATASETS[dataset].parts is None
        return cls(dataset, config, tuple(variants), (protocol or "published") if is_list else None, reading or None)

    def read_as(self, reading: str | None) -> "Run":
        """The same run in a reading of the paper's terms; without one, to the letter."""
        return replace(self, reading=reading)

    @property
    def training_pairs(self) -> int | None:
        """How many training pairs are used, where not all are.

        >>> Run.named("translit-ar2en/transducer-rnn+pairs=60").training_pairs
        60
        """
        numbers = [int(variant.removeprefix("pairs=")) for variant in self.variants if variant.startswith("pairs=")]
        return numbers[0] if numbers else None

    @property
    def name(self) -> str:
        """As `named` reads it."""
        protocol = f"@{self.protocol}" if self.protocol not in (None, "published") else ""
        reading = f"~{self.reading}" if self.reading else ""
        return "+".join([f"{self.dataset}{protocol}/{self.config}", *self.variants]) + reading


class TableCell(NamedTuple):
    """A cell of a table: the paper's figures, and where ours come from."""

    place: str
    """One of `PLACES`."""
    row: str
    column: str
    run: Run
    part: str
    """What of the run: figures of `test` or `validation`, the edit `script` of the row's word, the `alphas` of pairs,
    the learning `curve`, or what `decoding` does."""
    parameters: float | None
    """In millions, as the paper has it."""
    hours: float | None
    """Of one training, as the paper has it."""
    paper: Mapping[str, PaperFigure]

    @property
    def is_of_the_paper(self) -> bool:
        """Whether it is printed there: no comment of its source, in parentheses, and no row of ours, in brackets."""
        return self.row[0] not in "([" and self.place not in BEYOND

    @property
    def name(self) -> str:
        """For people, and to choose by."""
        return f"{self.place}: {self.row}, {self.column} [{self.run.name}]"


@cache
def grid() -> tuple[TableCell, ...]:
    """All cells, in the order of the tables, then of the figures.

    >>> [cell.row for cell in grid() if cell.place == "table2"]
    ['Complete loss', '--- binary XENT for alpha', '--- expectation-maximization']
    """
    text = resources.files("nsed.reproduce").joinpath("cells.tsv").read_text(encoding="utf-8")
    return tuple(_cell(line.split("\t")) for line in text.splitlines()[1:])


def _cell(values: Sequence[str]) -> TableCell:
    place, row, column, run, part, parameters, hours, figures = values
    size, time = (float(number) if number else None for number in (parameters, hours))
    return TableCell(place, row, column, Run.named(run), part, size, time, dict(map(_figure, figures.split())))


def _figure(text: str) -> tuple[str, PaperFigure]:
    name, _, value = text.partition("=")
    mean, _, deviation = value.partition("±")
    return name, PaperFigure(float(mean or "nan"), float(deviation) if deviation else None)


def chosen_cells(what: Sequence[str], *, only: str = "") -> list[TableCell]:
    """The cells of tables and figures, `table1` or `all`, whose names have a text, in upper or lower case.

    >>> len(chosen_cells(["table2", "table4"], only="complete"))
    2
    """
    for name in what:
        if name not in (*PLACES, "all"):
            raise ArgumentError("WHAT", got=repr(name), expected=f"one of {', '.join(PLACES)}, all")
    places = set(PLACES) if "all" in what else set(what)
    return [cell for cell in grid() if cell.place in places and only.casefold() in cell.name.casefold()]


def settings_of(run: Run, *, folder: Path = CONFIGS) -> StringConfig:
    """The settings of a run: the paper's own, those of its row, its variants and the symbols of its data set."""
    own = read_yaml(_settings_path(run.config, folder))
    kind = model_class(own["model"]).configs[own["model"]]
    source, target = DATASETS[run.dataset].symbols
    values = merged({"source_symbols": source, "target_symbols": target}, dict(flat(own)))
    if "encoder" in own:
        values = merged(read_yaml(_settings_path(COMMON, folder)), dict(flat(values)))
    changes = {name: value for variant in run.variants for name, value in _changes(variant).items()}
    known = {name: value for name, value in changes.items() if name.partition(".")[0] in kind.__dataclass_fields__}
    values = _read_as(run.reading, merged(values, known), folder)
    settings = from_mapping(kind, values, where=run.name)
    assert isinstance(settings, StringConfig)
    return settings


def _changes(variant: str) -> Mapping[str, Any]:
    name, _, number = variant.partition("=")
    if not number:
        return VARIANTS[variant]
    return {NUMBERED[name]: int(number)} if name in NUMBERED else {}


def _read_as(reading: str | None, values: dict[Any, Any], folder: Path) -> dict[Any, Any]:
    """Settings in a reading: its values in place of those that a row has; a loss that is left out stays out."""
    if reading is None:
        return values
    changes, there = dict(flat(read_yaml(_settings_path(f"readings/{reading}", folder)))), dict(flat(values))
    return merged(values, {name: value for name, value in changes.items() if there.get(name)})


def _settings_path(name: str, folder: Path) -> Path:
    path = folder / f"{name}.yaml"
    if not path.exists():
        advice = "run this in the folder of the project's source, which has configs/paper, or name it: --configs"
        raise ConfigError(str(path), [f"is not here: {advice}"])
    return path
