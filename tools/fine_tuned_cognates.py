"""Measure what some labelled pairs add to a mixture of Matchers of cognates, into `results/fine-tuned-cognates.json`.

    python -m tools.fine_tuned_cognates

The mixture is `cognates`, or one of the two other families (of 6,000 pairs of each). It learns 200 pairs of half of the
test concepts of a family; it is measured before and after on 4,000 pairs of the other half. No setting is given.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np
from tools import make_matchers
from tools.make_matchers import FAMILIES, figures, learned, pairs_of, sampled, words_of

import nsed
from nsed.datasets.protocols import hold_out_concepts
from nsed.models.matcher_mixture import MatcherMixture
from nsed.text import Pairs

RESULTS = Path(__file__).parents[1] / "results" / "fine-tuned-cognates.json"
GIVEN, TESTED, OF_OTHERS, SEEDS = 200, 4000, 6000, {"cognates": 2, "never_seen": 1}


def halves(test: Pairs, seed: int) -> Iterator[Pairs]:
    """Pairs of either half of the concepts."""
    assert test.others is not None
    concepts = test.others.column("concept").to_pylist()
    kinds = sorted(set(concepts))
    Random(seed).shuffle(kinds)
    first = set(kinds[::2])
    for side in (True, False):
        yield test.chosen([row for row, concept in enumerate(concepts) if (concept in first) == side])


def some_of(pairs: Pairs, seed: int) -> Pairs:
    """Random labelled pairs, without their languages."""
    chosen = pairs.chosen(sorted(Random(seed).sample(range(len(pairs)), GIVEN)))
    return pairs_of(list(zip(chosen.sources, chosen.targets, chosen.labels or (), strict=True)))


def measured(start: MatcherMixture, test: Pairs, seeds: int) -> dict[str, dict[str, float]]:
    """Mean figures before and after."""
    found: dict[str, list[dict[str, float]]] = {"before": [], "after": []}
    for seed in range(seeds):
        given, apart = halves(test, seed)
        more = MatcherMixture.fit(some_of(given, seed), start=start)
        for name, model in (("before", start), ("after", more)):
            found[name].append(figures(model, sampled(apart, TESTED)))
    return {
        name: {one: round(float(np.mean([few[one] for few in kept])), 4) for one in kept[0]}
        for name, kept in found.items()
    }


if __name__ == "__main__":
    make_matchers.SAMPLE = OF_OTHERS
    splits = {family: hold_out_concepts(words_of(family)) for family in FAMILIES}
    made: dict[str, object] = {"given": GIVEN, "seeds": SEEDS}
    for family, own in splits.items():
        others = learned([splits[one] for one in FAMILIES if one != family])
        made[family] = {
            "cognates": measured(nsed.load("cognates"), own.test, SEEDS["cognates"]),
            "never_seen": measured(others, own.test, SEEDS["never_seen"]),
        }
    RESULTS.write_text(json.dumps(made, indent=1) + "\n")
