"""Additive contributions to decisions and scores: parts that add up to them, one per operation."""

from collections.abc import Callable
from math import exp, fsum
from typing import Any, NamedTuple

from nsed.text import Edit, EditScript
from nsed.text.visible import visible


class Decision(NamedTuple):
    """Match decision: whether a pair matches, and how far from the threshold it is.

    `log_odds = slope * evidence + offset` are those of `probability`, where the evidence is the score or, of newer
    models, the log-odds of the score; `match` says whether the score reaches `threshold`, that is whether `log_odds`
    reach `needed`.
    """

    match: bool
    probability: float
    log_odds: float
    threshold: float
    slope: float
    offset: float
    needed: float
    """Decision threshold in log-odds, from which on pairs count as matches."""
    beside: tuple[tuple[str, float], ...] = ()
    """Parts of the offset that have a name, one of `REMAINDERS`, and differ from pair to pair."""
    added: tuple[float, ...] = ()
    """Parts of the offset that belong to the operations of the best script: other members of a mixture say so."""

    @classmethod
    def of(
        cls, score: float, *, threshold: float, slope: float, offset: float, evidence: Callable[[Any], Any] = float
    ) -> "Decision":
        """Decision about a score; `evidence` makes of a score what the log-odds are linear in.

        >>> Decision.of(-0.1, threshold=-0.7, slope=2.0, offset=1.4).match
        True
        """
        log_odds, needed = (slope * float(evidence(one)) + offset for one in (score, threshold))
        return cls(score >= threshold, _probability(log_odds), log_odds, threshold, slope, offset, needed)

    @property
    def threshold_probability(self) -> float:
        """Decision threshold as a probability, from which on pairs count as matches."""
        return _probability(self.needed)

    @property
    def word(self) -> str:
        """Decision as a word: `match` or `no match`."""
        return "match" if self.match else "no match"


class Output(NamedTuple):
    """N-best entry: one target that a Transducer might write.

    >>> one = Output(("HH", "AE", "N", "D"), log_prob=-0.105)
    >>> " ".join(one.symbols), round(one.probability, 2)
    ('HH AE N D', 0.9)
    """

    symbols: tuple[str, ...]
    log_prob: float

    @property
    def probability(self) -> float:
        """Conditional probability of the target, given the source."""
        return exp(min(0.0, self.log_prob))


def read_decision(read: dict[str, Any] | None) -> Decision | None:
    """Decision whose plain values are given."""
    if read is None:
        return None
    before = {"needed": read["slope"] * read["threshold"] + read["offset"]}  # what version 0.1 wrote has it not
    parts = {"beside": tuple((str(name), float(value)) for name, value in read.get("beside", ()))}
    unknown = [name for name, _ in parts["beside"] if name not in REMAINDERS]
    if unknown:
        raise ValueError(f"parts of a decision that are none: {', '.join(unknown)}")
    return Decision(**{**before, **read, **parts, "added": tuple(map(float, read.get("added", ())))})


def _probability(log_odds: float) -> float:
    return 1 / (1 + exp(-max(-700.0, min(700.0, log_odds))))


ROUNDING = 1e-9
"""Size from which on a remainder is one, and not what rounding leaves."""
REMAINDERS = {
    "ambiguity": "what all other derivations add to the best one",
    "end": "that the target ends here",
    "certainty": "how little is left for the opposite, -log(1 - alpha)",
    "lengths": "how long the strings are, and how alike in that",
    "languages": "how close the two languages are",
    "identity": "that the strings, or all of their classes, are the same",
    "coherence": "how operations fit those around them",
    "chance": "how improbable the two strings are by themselves, by chance",
    "members": "what other members of the mixture say beyond these operations",
    "threshold": "the constant of the calibration, and of the model",
}
"""Remainders: parts of a score that belong to no operation."""


class Contribution(NamedTuple):
    """Additive contribution to a score: of an operation, or (`edit` is None) a remainder with a name.

    >>> parts = Contribution("k→c", 1.2, Edit("substitute", "k", "c", 0, 0)), Contribution("threshold", -0.4)
    >>> [(one.title, one.value, one.meaning) for one in parts]
    [('k→c', 1.2, 'substitute k by c'), ('offset', -0.4, 'the constant of the calibration, and of the model')]
    """

    name: str
    value: float
    edit: Edit | None = None

    @property
    def title(self) -> str:
        """Name as people read it: what has been called `threshold` since version 0.1 is the calibration's offset."""
        return "offset" if self.edit is None and self.name == "threshold" else self.name

    @property
    def kind(self) -> str:
        """Operation kind, as the pictures have colours for it: delete, insert, replace, equal, or remainder."""
        return "remainder" if self.edit is None else self.edit.tag

    def to_dict(self) -> dict[str, object]:
        """JSON-ready dictionary of plain values."""
        return {"name": self.name, "kind": self.kind, "value": self.value}

    @property
    def meaning(self) -> str:
        """Meaning of the contribution, in words."""
        if self.edit is None:
            return REMAINDERS[self.name]
        source, target = visible(self.edit.source), visible(self.edit.target)
        words = {"delete": f"delete {source}", "insert": f"insert {target}", "equal": f"keep {source}"}
        return words.get(self.edit.tag, f"substitute {source} by {target}")


def contributions_to_decision(script: EditScript, score: float, decision: Decision) -> tuple[Contribution, ...]:
    """Contributions that add up to the log-odds of a decision."""
    added = decision.added or (0.0,) * len(script)
    parts = [
        Contribution(str(edit), decision.slope * edit.log_weight + more, edit)
        for edit, more in zip(script, added, strict=True)
    ]
    parts.append(Contribution("ambiguity", decision.slope * (score - _weight(script))))
    certainty = decision.log_odds - (decision.slope * score + decision.offset)
    if abs(certainty) > ROUNDING:
        parts.append(Contribution("certainty", certainty))
    constant = decision.offset - fsum(added) - fsum(value for _, value in decision.beside)
    return (*parts, *(Contribution(*part) for part in decision.beside), Contribution("threshold", constant))


def contributions_to_score(script: EditScript, score: float, log_alpha: float) -> tuple[Contribution, ...]:
    """Contributions that add up to a log-probability; `log_alpha` is all derivations', before the target ends."""
    parts = [Contribution(str(edit), edit.log_weight, edit) for edit in script]
    ambiguity, end = log_alpha - _weight(script), score - log_alpha
    return (*parts, Contribution("ambiguity", ambiguity), Contribution("end", end))


def _weight(script: EditScript) -> float:
    return fsum(edit.log_weight for edit in script)
