"""What fine-tuning on 50 corrections changes: makes `results/corrections.json`, for `docs/corrections.md`.

Of the test words of CMUDict (`NSED_DATA`), three draws without a word in common: 50 that `g2p-en` gets wrong, which it
is then taught with the default settings, and 1,000 others. Any reference of a word counts as right. Some minutes on one
core: `python tools/corrections_table.py`.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import nsed
from nsed.datasets import load

RESULT = Path("results", "corrections.json")
DRAWS, CORRECTIONS, OTHERS = 3, 50, 1000

References = dict[str, list[str]]


def references() -> References:
    """Pronunciations of each test word."""
    known: References = {}
    for word, phones in load("g2p-cmudict").test:
        known.setdefault(word, []).append(phones)
    return known


def right(model: nsed.Transducer, words: Sequence[str], known: References) -> list[bool]:
    """Whether the best answer is one of a word's references."""
    answers = model.transduce(list(words))
    return [answer[0].text in known[word] for word, answer in zip(words, answers, strict=True)]


def taught(model: nsed.Transducer, wrong: Sequence[str], others: Sequence[str], known: References) -> dict[str, int]:
    """Counts of right words before and after the model is taught the first reference of wrong ones."""
    before = right(model, others, known)
    student = nsed.Transducer.fit([(word, known[word][0]) for word in wrong], start=model)
    return {
        "corrections_before": 0,
        "corrections_after": sum(right(student, wrong, known)),
        "others_before": sum(before),
        "others_after": sum(right(student, others, known)),
    }


def main() -> None:
    """Draw, teach, count, write."""
    known, model = references(), nsed.load("g2p-en")
    words = [list(known)[row] for row in np.random.default_rng(0).permutation(len(known))]
    correct = dict(zip(words, right(model, words, known), strict=True))
    wrong = [word for word in words if not correct[word]][: DRAWS * CORRECTIONS]
    others = words[-DRAWS * OTHERS :]  # far from the wrong ones, which are among the first words
    assert not set(wrong) & set(others)
    lessons, controls = np.split(np.array(wrong), DRAWS), np.split(np.array(others), DRAWS)
    draws = [taught(model, some.tolist(), rest.tolist(), known) for some, rest in zip(lessons, controls, strict=True)]
    report = {
        "title": "g2p-en, taught 50 words of the test file that it gets wrong, and 1,000 other words",
        "again": "python tools/corrections_table.py",
        "corrections": CORRECTIONS,
        "others": OTHERS,
        "draws": draws,
    }
    RESULT.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
