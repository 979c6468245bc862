"""Text rendering of an explanation, for terminals; and numbers in few characters, the same in every rendering."""

from collections.abc import Iterator
from math import exp

from nsed.explain.explanation import Evidence, Origin
from nsed.text.visible import visible


def nats(value: float) -> str:
    """Formatted log-probability, never minus zero.

    >>> nats(-0.0001), nats(-2.0)
    ('0.000', '-2.000')
    """
    return f"{value + 0.0:.3f}".replace("-0.000", "0.000")


def signed(value: float) -> str:
    """Signed part of a sum, unless it is zero.

    >>> signed(0.5), signed(-0.0001), signed(-2.0)
    ('+0.500', '0.000', '-2.000')
    """
    shown = nats(value)
    return shown if shown == "0.000" or shown.startswith("-") else f"+{shown}"


def percent(probability: float, decimals: int = 1) -> str:
    """Percentage of a probability; what rounds to nothing but is something says so.

    >>> percent(0.25), percent(0.00004), percent(0.0), percent(0.001, 0)
    ('25.0%', '<0.1%', '0.0%', '<1%')
    """
    least = 10.0 ** -(decimals + 2)
    return f"<{least:.{decimals}%}" if 0 < probability < least / 2 else f"{probability:.{decimals}%}"


def short(log_probability: float) -> str:
    """Formatted probability from its logarithm.

    >>> short(0.0), short(-0.7), short(-9.3)
    ('1', '.50', '9e-5')
    """
    value = exp(max(-700.0, min(0.0, log_probability)))
    if value >= 0.995:
        return "1"
    if value >= 0.01:
        return f"{value:.2f}".removeprefix("0")
    mantissa, exponent = f"{value:.0e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def to_text(evidence: Evidence) -> str:
    """Text of the script and how sure it is, operation by operation, with what each adds; then the alternatives."""
    return "\n".join([*_summary(evidence), *_parts(evidence), *_others(evidence), *_outputs(evidence)])


def word(symbols: tuple[str, ...]) -> str:
    """Symbols of a string; `∅` if it is empty.

    >>> word(("AE", " ")), word(())
    ('AE ␣', '∅')
    """
    return " ".join(map(visible, symbols)) or "∅"


def _summary(evidence: Evidence) -> Iterator[str]:
    script, decision = evidence.script, evidence.decision
    yield f"pair            {word(evidence.source)} ⇒ {word(evidence.target)}"
    yield f"{'log-probability' if evidence.decision is None else 'score':15} {nats(evidence.log_prob)}"
    if decision is not None:
        side = "reach" if decision.match else "are below"
        yield f"decision        {decision.word}, probability {percent(decision.probability)}"
        yield f"                pairs match from {percent(decision.threshold_probability)} on:"
        yield f"                the log-odds {nats(decision.log_odds)} {side} the threshold {nats(decision.needed)}"
    yield f"script          {script.to_text() or 'nothing to do'}"
    yield f"its share       {percent(script.share)} of all derivations, entropy {nats(evidence.entropy)} nats"


def _parts(evidence: Evidence) -> Iterator[str]:
    yield "    adds  probability"
    for part in evidence.contributions:
        probability = "      " if part.edit is None else f"{percent(part.edit.probability):>6}"
        meaning = f": {part.meaning}" if part.edit is None else ""
        yield f"{signed(part.value):>8}  {probability}  {part.title}{meaning}"
    yield f"{signed(evidence.total):>8}  in all  {evidence.total_name}"


def _others(evidence: Evidence) -> Iterator[str]:
    if len(evidence.scripts) > 1:
        yield "other scripts"
    yield from (f"{percent(script.share):>8}  {script}" for script in evidence.scripts[1:])


def _outputs(evidence: Evidence) -> Iterator[str]:
    if not evidence.outputs:
        return
    yield "most probable outputs"
    yield from (f"{percent(output.probability):>8}  {word(output.symbols)}" for output in evidence.outputs)
    yield "where each symbol came from"
    yield from (f"{visible(one.symbol):>8}  {_sources(one, evidence.source)}" for one in evidence.origins)


def _sources(origin: Origin, source: tuple[str, ...]) -> str:
    """Likely source symbols (posteriors), best first, each with its place (from 1)."""
    ways = [(share, f"{visible(source[i])} ({i + 1})") for i, share in enumerate(origin.sources)]
    likely = sorted([*ways, (origin.inserted, "inserted")], reverse=True)
    return ", ".join(f"{name} {percent(share)}" for share, name in likely if share >= 0.01)
