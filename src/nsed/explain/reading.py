"""Reading lattices: from a lattice and the symbols of its strings to edit scripts and explanations."""

from collections.abc import Iterable, Sequence
from math import exp

import numpy as np
import torch

from nsed.errors import NotExplainableError
from nsed.explain.decision import Decision, Output
from nsed.explain.explanation import Explanation
from nsed.lattice import Arcs, EditLattice, Step
from nsed.lattice.paths import steps_of
from nsed.text import Edit, EditScript
from nsed.text.edit_script import EditKind
from nsed.types import REACHABLE

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
