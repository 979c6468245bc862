"""What models answer, as plain values: to be compared with what the version that saved them answered.

    python tests/golden/answers.py FILE CMUDICT_TEST   # every bit of every number, to compare two versions here
    python tests/golden/answers.py 1.0                 # once, by the version itself: its folders and answers

The folders in `models` were written by version 0.1: 400 pairs of the rule language, 16 dimensions, 60 steps. Those in
`models-1.0` are the kinds of models that came with it.
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
from nsed.models.matcher_mixture import MatcherMixture

HERE = Path(__file__).parent
FOLDERS, G2P = HERE / "models", HERE / "g2p-en.json"
VERSIONS = {"0.1": (FOLDERS, HERE / "answers.json"), "1.0": (HERE / "models-1.0", HERE / "answers-1.0.json")}
"""Folders that a version saved, and what it answered."""
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


def all_answers(folders: Path = FOLDERS) -> dict[str, Any]:
    """Of all folders."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {folder.name: answers(nsed.load(folder)) for folder in sorted(folders.iterdir())}


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


def save_new_kinds(folders: Path) -> None:
    """Save a model of each kind that version 1.0 has and 0.1 had not."""
    pairs, small = list(rule_language.matching_pairs(400, seed=0)), {"encoder__dim": 16, "train__steps": 60}
    wrong = [(source, pairs[place - 7][1]) for place, (source, _) in enumerate(pairs)]
    labelled = [*pairs, *wrong], [True] * len(pairs) + [False] * len(wrong)
    named = nsed.Pairs(*map(list, zip(*pairs, strict=True)), None, ["de", "nl"] * 200, ["de", "nl"] * 200)
    odds = nsed.OddsMatcher.fit(*labelled)
    forward, backward = (nsed.Transducer.fit(pairs, direction=one, **small) for one in ("forward", "backward"))
    made = {
        "odds": odds,
        "odds-coherence": nsed.OddsMatcher.fit(*labelled, coherence=True, shared_alphabet=True, train__steps=40),
        "matcher-mixture": MatcherMixture([odds, nsed.Matcher.fit(*labelled, encoder__kind="rnn", **small)]),
        "mixture": nsed.Mixture([forward, backward]),
        "transducer-languages": nsed.Transducer.fit(named, languages=True, **small).for_language("de"),
    }
    for name, model in made.items():
        model.save(folders / name)


def save_version(name: str) -> None:
    """Write the folders of a version, and its answers."""
    folders, path = VERSIONS[name]
    save_new_kinds(folders)
    path.write_text(json.dumps(all_answers(folders)) + "\n", encoding="utf-8")


if __name__ == "__main__" and sys.argv[1] in VERSIONS:
    save_version(sys.argv[1])
elif __name__ == "__main__":
    test = Path(sys.argv[2]).read_text(encoding="utf-8").splitlines()
    Path(sys.argv[1]).write_text(json.dumps([all_answers(), g2p_answers(test)]), encoding="utf-8")
