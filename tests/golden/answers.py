"""What models answer, as plain values: to be compared with what version 0.1 answered.

    python tests/golden/answers.py FILE CMUDICT_TEST   # every bit of every number, to compare two versions here

The folders in `models` were written by version 0.1: 400 pairs of the rule language, 16 dimensions, 60 steps.
"""

import hashlib
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import nsed
from nsed.capabilities import Capability, can
from nsed.datasets import rule_language
from nsed.errors import NotExplainableError

HERE = Path(__file__).parent
FOLDERS, ANSWERS, G2P = HERE / "models", HERE / "answers.json", HERE / "g2p-en.json"
WORDS = 2000
"""Of CMUDict's test part."""
PAIRS = [
    *rule_language.matching_pairs(20, seed=5),
    ("", ""), ("A", ""), ("", "c"), ("ABC" * 10, "abc" * 10), ("ÄB", "áb"),
]  # fmt: skip


def answers(model: Any) -> dict[str, Any]:
    """Everything that a model says about the same pairs, by verb."""
    said: dict[str, Any] = {}
    if hasattr(model, "score"):
        said["score"] = model.score(PAIRS).tolist()
    if can(model, Capability.MATCH):
        said["match"] = model.match(PAIRS).tolist()
        said["probability"] = model.probability(PAIRS).tolist()
    if hasattr(model, "transduce"):
        sources = [source for source, _ in PAIRS]
        for beam in (1, 4):
            found = model.transduce(sources, nbest=beam, beam=beam)
            said[f"transduce, beam {beam}"] = [[[one.text, one.log_prob] for one in few] for few in found]
    for verb, ask in (("align", _scripts), ("links", _links), ("explain", _explained)):
        try:
            said[verb] = ask(model)
        except (NotExplainableError, AttributeError):
            continue
    return said


def _scripts(model: Any) -> list[Any]:
    return [[str(script), script.log_weight] for script in model.align_all(PAIRS)]


def _links(model: Any) -> list[Any]:
    return [sorted(map(list, links)) for links in model.links(PAIRS)]


def _explained(model: Any) -> list[Any]:
    explained = (model.explain(*pair) for pair in PAIRS[:6])
    return [[one.total, one.entropy, [[part.name, part.value] for part in one.contributions]] for one in explained]


def all_answers() -> dict[str, Any]:
    """Of all folders."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {folder.name: answers(nsed.load(folder)) for folder in sorted(FOLDERS.iterdir())}


def g2p_answers(lines: list[str]) -> list[list[Any]]:
    """Of the shipped model: per word a hash of its outputs and of its edit script, and two log-probabilities."""
    pairs = [tuple(line.rstrip("\n").split("  ", 1)) for line in lines[:WORDS]]
    model = nsed.load("g2p-en")
    outputs = model.transduce([word for word, _ in pairs], nbest=3)
    scripts, scores = model.align_all(pairs), model.score(pairs)
    said = []
    for few, script, score in zip(outputs, scripts, scores.tolist(), strict=True):
        text = "|".join([*(one.text for one in few), str(script)])
        said.append([hashlib.sha256(text.encode()).hexdigest()[:12], few[0].log_prob, score])
    return said


if __name__ == "__main__":
    test = Path(sys.argv[2]).read_text(encoding="utf-8").splitlines()
    Path(sys.argv[1]).write_text(json.dumps([all_answers(), g2p_answers(test)]), encoding="utf-8")
