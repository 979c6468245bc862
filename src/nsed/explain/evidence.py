"""All that a model knows about one pair, as plain data."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from nsed.explain.contributions import Contribution, contributions_to_decision, contributions_to_score
from nsed.explain.decision import Decision, Output, read_decision
from nsed.explain.origins import Origin, origins_of
from nsed.text import EditScript

TABLES = ("log_alpha", "log_beta", "delete", "insert", "substitute")


@dataclass(frozen=True, eq=False)
class Evidence:
    """Why a model gave a pair its score: the best scripts and, in tables, all of them.

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
        """The most probable script."""
        return self.scripts[0]

    @property
    def contributions(self) -> tuple[Contribution, ...]:
        """Parts that add up to `total`: one per operation of the best script, then the remainders, by name."""
        if self.decision is not None:
            return contributions_to_decision(self.script, self.log_prob, self.decision)
        return contributions_to_score(self.script, self.log_prob, float(self.log_alpha[-1, -1]))

    @property
    def total(self) -> float:
        """What is explained: the log-odds of a Matcher's decision, otherwise the log-probability."""
        return self.log_prob if self.decision is None else self.decision.log_odds

    @property
    def total_name(self) -> str:
        """What `total` is, in words."""
        return "log-probability" if self.decision is None else "log-odds"

    @property
    def origins(self) -> tuple[Origin, ...]:
        """Per target symbol, the source symbols it came from, with probabilities."""
        return origins_of(self.target, self.insert, self.substitute)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; what follows from the rest (contributions, origins) too."""
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
    """The fields of an `Evidence` from what its `to_dict` gave."""
    return {
        "source": tuple(read["source"]),
        "target": tuple(read["target"]),
        "scripts": tuple(EditScript.from_dict(script) for script in read["scripts"]),
        "log_prob": read["log_prob"],
        "entropy": read["entropy"],
        **{name: np.array(read[name], dtype=float) for name in TABLES},
        "decision": read_decision(read["decision"]),
        "outputs": tuple(Output(tuple(one["symbols"]), one["log_prob"]) for one in read["outputs"]),
    }
