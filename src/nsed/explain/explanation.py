"""Explanation of a pair: all that a model knows about it, as plain data, read off its lattice; and its renderings."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import exp
from typing import Any, NamedTuple, final

import numpy as np
import torch
from jaxtyping import Float

from nsed.errors import NotExplainableError
from nsed.explain.decision import (
    Contribution,
    Decision,
    Output,
    contributions_to_decision,
    contributions_to_score,
    read_decision,
)
from nsed.lattice import Arcs, EditLattice, Step
from nsed.lattice.paths import steps_of
from nsed.registry import Registry
from nsed.text import Edit, EditScript
from nsed.text.edit_script import EditKind, parsing
from nsed.types import REACHABLE


class Origin(NamedTuple):
    """Posterior origins of a target symbol: that it was inserted, that it stands for each source symbol; sum is 1.

    >>> origin = Origin("c", inserted=0.1, sources=(0.8, 0.1))
    >>> origin.best, origin.sources[origin.best]
    (0, 0.8)
    """

    symbol: str
    inserted: float
    sources: tuple[float, ...]

    @property
    def best(self) -> int | None:
        """Most probable source symbol (from 0) that it stands for; None if it was rather inserted."""
        place = max(range(len(self.sources)), key=self.sources.__getitem__, default=None)
        return None if place is None or self.sources[place] < self.inserted else place


def origins_of(
    target: tuple[str, ...], insert: Float[np.ndarray, "src tgt"], substitute: Float[np.ndarray, "src tgt"]
) -> tuple[Origin, ...]:
    """Posterior origins of the target symbols, from the posteriors of insertions and substitutions."""
    inserted = insert.sum(0)
    return tuple(
        Origin(symbol, float(inserted[j]), tuple(substitute[1:, j].tolist())) for j, symbol in enumerate(target, 1)
    )


TABLES = ("log_alpha", "log_beta", "delete", "insert", "substitute")


@dataclass(frozen=True, eq=False)
class Evidence:
    """Evidence for a pair's score: the best scripts (n-best) and, in tables of posteriors, all of them.

    `log_alpha[i, j]` is the log-probability of the first i source and j target symbols, `log_beta[i, j]` that of the
    rest; -1e30 where there is no way. `delete`, `insert` and `substitute` hold, at the cell an operation leads to, the
    probability that it was used. `entropy` (nats) says how uncertain the derivation is: 0 means that there is only one.
    A Matcher gives its `decision`, a Transducer the `outputs` that it finds most probable, best first.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    scripts: tuple[EditScript, ...]
    log_prob: float
    entropy: float
    log_alpha: Float[np.ndarray, "src tgt"]
    log_beta: Float[np.ndarray, "src tgt"]
    delete: Float[np.ndarray, "src tgt"]
    insert: Float[np.ndarray, "src tgt"]
    substitute: Float[np.ndarray, "src tgt"]
    decision: Decision | None = None
    outputs: tuple[Output, ...] = ()

    @property
    def script(self) -> EditScript:
        """Viterbi script, the most probable one."""
        return self.scripts[0]

    @property
    def contributions(self) -> tuple[Contribution, ...]:
        """Additive contributions to `total`: one per operation of the best script, then the remainders, by name."""
        if self.decision is not None:
            return contributions_to_decision(self.script, self.log_prob, self.decision)
        return contributions_to_score(self.script, self.log_prob, float(self.log_alpha[-1, -1]))

    @property
    def constant(self) -> float:
        """Constant of the model and its calibration: what no operation and no named part adds; of a model that decides.

        Every pair gets the same, unless the calibration has a bend: then the model's constant counts as steeply as the
        pair's other evidence.
        """
        return self.contributions[-1].value

    @property
    def total(self) -> float:
        """Explained quantity: the log-odds of a Matcher's decision, otherwise the log-probability."""
        return self.log_prob if self.decision is None else self.decision.log_odds

    @property
    def total_name(self) -> str:
        """Name of `total`, in words."""
        return "log-probability" if self.decision is None else "log-odds"

    @property
    def origins(self) -> tuple[Origin, ...]:
        """Posterior origins: per target symbol, the source symbols it came from, with probabilities."""
        return origins_of(self.target, self.insert, self.substitute)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready dictionary of plain values; what follows from the rest (contributions, origins) too."""
        return {
            "source": list(self.source),
            "target": list(self.target),
            "log_prob": self.log_prob,
            "entropy": self.entropy,
            "scripts": [script.to_dict() for script in self.scripts],
            **{name: getattr(self, name).tolist() for name in TABLES},
            "decision": None if self.decision is None else self.decision._asdict(),
            "outputs": [output._asdict() for output in self.outputs],
            "contributions": [part.to_dict() for part in self.contributions],
            "total": {self.total_name: self.total},
            "origins": [origin._asdict() for origin in self.origins],
        }


def fields_from(read: dict[str, Any]) -> dict[str, Any]:
    """Evidence fields from what its `to_dict` gave. Raises `ValueError` for tables of another shape than the pair's."""
    tables = {name: np.array(read[name], dtype=float) for name in TABLES}
    if {table.shape for table in tables.values()} != {(len(read["source"]) + 1, len(read["target"]) + 1)}:
        raise ValueError("tables that are not of the size of the pair")
    scripts = tuple(EditScript.from_dict(script) for script in read["scripts"])
    decision = read_decision(read["decision"])
    if decision is not None and len(decision.added) not in (0, len(scripts[0])):
        raise ValueError("a decision with parts of another number of operations than the script has")
    return {
        "source": tuple(read["source"]),
        "target": tuple(read["target"]),
        "scripts": scripts,
        "log_prob": float(read["log_prob"]),
        "entropy": float(read["entropy"]),
        **tables,
        "decision": decision,
        "outputs": tuple(Output(tuple(one["symbols"]), one["log_prob"]) for one in read["outputs"]),
    }


RENDERINGS: Registry[Callable[..., str]] = Registry("rendering")
"""Renderer registry, how explanations are shown, by name; the room `explain` fills it."""


@final
class Explanation(Evidence):
    """Explanation: why a model gave a pair its score, for people and for programs; shows itself in notebooks.

    All renderings tell the same: the best script with the probability of each operation, what each contributes to the
    score, and what else might have been.

    >>> from nsed.explain import RENDERINGS
    >>> sorted(RENDERINGS)
    ['html', 'latex', 'svg', 'text']
    """

    def to_text(self) -> str:
        """Text rendering, for terminals."""
        return RENDERINGS["text"](self)

    def to_json(self) -> str:
        """JSON rendering, in one line."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "Explanation":
        """Explanation parsed from what `to_json` wrote. Raises `ArgumentError` for anything else."""
        with parsing("Explanation"):
            return cls(**fields_from(json.loads(text)))

    def to_html(self, *, style: bool = True) -> str:
        """HTML fragment that needs nothing else; without `style` the page brings `explain.render.html.STYLE`."""
        return RENDERINGS["html"](self, style=style)

    def to_svg(self, picture: str = "alpha") -> str:
        """SVG picture: `alpha`, `posteriors`, `lattice` or `waterfall`; a file of its own, or part of a page."""
        return RENDERINGS["svg"](self, picture)

    def to_latex(self, *, standalone: bool = False) -> str:
        """LaTeX rendering: coloured boxes, as in the paper; `standalone` makes it a document (for XeLaTeX or LuaLaTeX).

        Letters that the document's font lacks need another one (`fontspec`). Without `standalone` it needs the packages
        `tikz` and `xcolor`, the latter with the option `dvipsnames`.
        """
        return RENDERINGS["latex"](self, standalone=standalone)

    def _repr_html_(self) -> str:
        return self.to_html()

    def __str__(self) -> str:
        return self.to_text()


class ExplanationSummary(NamedTuple):
    """Explanation without its tables: the best script, the score and the entropy, how uncertain the derivation is."""

    source: str
    target: str
    script: EditScript
    log_prob: float
    entropy: float
    decision: Decision | None = None

    @property
    def probability(self) -> float:
        """Match probability, of a model that decides; otherwise what the log-probability is of."""
        return exp(min(0.0, self.log_prob)) if self.decision is None else self.decision.probability

    @property
    def alternatives(self) -> float:
        """Perplexity of the derivation: how many equally probable scripts would leave as much doubt; 1 for only one."""
        return exp(min(700.0, self.entropy))


_KINDS: dict[int, EditKind] = {1: "delete", 2: "insert", 3: "substitute"}


def read_scripts(
    lattice: EditLattice, sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]
) -> list[EditScript]:
    """Viterbi script of every pair of a lattice, with the symbols that the pairs are made of.

    Raises `NotExplainableError` for a pair that no derivation makes.
    """
    paths = lattice.best_path()
    columns = (paths.operations.tolist(), paths.score.tolist(), (paths.score - lattice.log_prob).tolist())
    posteriors, weights = _arrays(lattice.posteriors), _arrays(lattice.arcs)
    scripts = []
    for pair, (codes, weight, log_share) in enumerate(zip(*columns, strict=True)):
        if weight <= REACHABLE:
            shown = f"{' '.join(sources[pair])!r} into {' '.join(targets[pair])!r}"
            raise NotExplainableError(f"no operations of probability above zero turn {shown}")
        edits = _edits(codes, sources[pair], targets[pair], posteriors[:, pair], weights[:, pair])
        scripts.append(EditScript(edits, weight, min(1.0, exp(log_share))))
    return scripts


def read_best_scripts(
    lattice: EditLattice, source: Sequence[str], target: Sequence[str], *, count: int
) -> tuple[EditScript, ...]:
    """N-best scripts of the single pair of a lattice, best first."""
    (best,) = read_scripts(lattice, [source], [target])
    if count == 1:
        return (best,)
    paths, total = lattice.best_paths(count), lattice.log_prob.item()
    posteriors, weights = _arrays(lattice.posteriors)[:, 0], _arrays(lattice.arcs)[:, 0]
    found = [
        EditScript(_edits(codes, source, target, posteriors, weights), weight, min(1.0, exp(weight - total)))
        for codes, weight in zip(paths.operations[0].tolist(), paths.score[0].tolist(), strict=True)
        if weight > REACHABLE
    ]
    return (best, *found[1:])


def read_explanation(
    lattice: EditLattice,
    source: Sequence[str],
    target: Sequence[str],
    *,
    log_prob: float,
    scripts: int = 1,
    decision: Decision | None = None,
    outputs: Iterable[Output] = (),
) -> Explanation:
    """Explanation from the lattice of a single pair, and what the model says beside it."""
    return Explanation(
        tuple(source),
        tuple(target),
        read_best_scripts(lattice, source, target, count=scripts),
        log_prob,
        lattice.entropy.item(),
        log_alpha=_table(lattice.log_alpha),
        log_beta=_table(lattice.log_beta),
        delete=_table(lattice.posteriors.delete),
        insert=_table(lattice.posteriors.insert),
        substitute=_table(lattice.posteriors.substitute),
        decision=decision,
        outputs=tuple(outputs),
    )


def _edits(
    codes: Iterable[int], source: Sequence[str], target: Sequence[str], posteriors: np.ndarray, weights: np.ndarray
) -> tuple[Edit, ...]:
    return tuple(_edit(step, source, target, posteriors, weights) for step in steps_of(codes))


def _edit(
    step: Step, source: Sequence[str], target: Sequence[str], posteriors: np.ndarray, weights: np.ndarray
) -> Edit:
    kind, place = _KINDS[step.operation], (step.operation - 1, step.i, step.j)
    reads, writes = kind != "insert", kind != "delete"
    return Edit(
        kind,
        source[step.i - 1] if reads else "",
        target[step.j - 1] if writes else "",
        step.i - reads,
        step.j - writes,
        min(1.0, float(posteriors[place])),
        float(weights[place]),
    )


def _arrays(arcs: Arcs) -> np.ndarray:
    """Arc tables in one array: operation, pair, i, j."""
    return np.stack([table.detach().cpu().numpy() for table in arcs])


def _table(table: torch.Tensor) -> np.ndarray:
    return table[0].detach().cpu().double().numpy()
