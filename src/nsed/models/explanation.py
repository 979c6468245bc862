"""From a lattice and the symbols of its strings to the answers people read: edit scripts and explanations."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from nsed.errors import NotExplainableError
from nsed.lattice import EditLattice, Step
from nsed.lattice.arcs import REACHABLE
from nsed.lattice.path import steps_of
from nsed.text import Edit, EditScript
from nsed.text.edit_script import EditKind

_KINDS: dict[int, EditKind] = {1: "delete", 2: "insert", 3: "substitute"}


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a model gave a pair its score: the best script and, in tables, all the others.

    `log_alpha[i, j]` is the log-probability of the first i source and j target symbols; `delete`, `insert` and
    `substitute` hold, at the cell an operation leads to, the probability that it was used. `entropy` (nats) says how
    uncertain the derivation is: 0 means that there is only one.
    """

    script: EditScript
    log_prob: float
    entropy: float
    log_alpha: Float[np.ndarray, "src tgt"]
    delete: Float[np.ndarray, "src tgt"]
    insert: Float[np.ndarray, "src tgt"]
    substitute: Float[np.ndarray, "src tgt"]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        tables = ("log_alpha", "delete", "insert", "substitute")
        return {
            "log_prob": self.log_prob,
            "entropy": self.entropy,
            "script": self.script.to_dict(),
            **{name: getattr(self, name).tolist() for name in tables},
        }

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def to_text(self) -> str:
        """The script and how sure it is, operation by operation."""
        lines = [
            f"log-probability {self.log_prob:.3f}",
            f"script          {self.script}",
            f"its share       {self.script.share:.1%} of all derivations, entropy {self.entropy:.3f} nats",
        ]
        return "\n".join([*lines, *(f"  {edit.probability:6.1%}  {edit}" for edit in self.script)])

    def __str__(self) -> str:
        return self.to_text()


def read_scripts(
    lattice: EditLattice, sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]
) -> list[EditScript]:
    """The best script of every pair of a lattice, with the symbols that the pairs are made of.

    Raises `NotExplainableError` for a pair that no derivation makes.
    """
    paths = lattice.best_path()
    posteriors = [table.detach().cpu().numpy() for table in lattice.posteriors]
    columns = (paths.operations.tolist(), paths.score.tolist(), (paths.score - lattice.log_prob).tolist())
    scripts = []
    for pair, (codes, weight, log_share) in enumerate(zip(*columns, strict=True)):
        if weight <= REACHABLE:
            shown = f"{' '.join(sources[pair])!r} into {' '.join(targets[pair])!r}"
            raise NotExplainableError(f"no operations of probability above zero turn {shown}")
        edits = [_edit(step, sources[pair], targets[pair], posteriors, pair) for step in steps_of(codes)]
        scripts.append(EditScript(tuple(edits), weight, min(1.0, exp(log_share))))
    return scripts


def read_explanation(
    lattice: EditLattice, source: Sequence[str], target: Sequence[str], *, log_prob: float
) -> Explanation:
    """All that the lattice of a single pair has to say."""
    (script,) = read_scripts(lattice, [source], [target])
    return Explanation(
        script,
        log_prob,
        lattice.entropy.item(),
        _table(lattice.log_alpha),
        *(_table(table) for table in lattice.posteriors),
    )


def _edit(step: Step, source: Sequence[str], target: Sequence[str], posteriors: list[np.ndarray], pair: int) -> Edit:
    kind = _KINDS[step.operation]
    reads, writes = kind != "insert", kind != "delete"
    probability = float(posteriors[step.operation - 1][pair, step.i, step.j])
    return Edit(
        kind,
        source[step.i - 1] if reads else "",
        target[step.j - 1] if writes else "",
        step.i - reads,
        step.j - writes,
        min(1.0, probability),
    )


def _table(table: torch.Tensor) -> np.ndarray:
    return table[0].detach().cpu().double().numpy()
