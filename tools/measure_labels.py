"""Measure `nsed label`: `python tools/measure_labels.py --names FOLDER`, which writes `results/labels.json`.

Place names from FOLDER, which has `cyrillic-0/training.tsv` and so on (three scripts, three splits): 100 answers,
simulated from the labels of the training part, against all labels of the training and validation parts; F1 on the test
part, at each model's own threshold. The latter is in `results/odds.json` for some splits, and measured for others.
What the file has already is not measured again; `--again` measures it anew.
"""

import argparse
import json
import platform
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

import nsed
from nsed.datasets.splits import Splits, published_parts
from nsed.evaluate import best_threshold, matching_score
from nsed.jobs import LabelSession
from nsed.text import Pairs

SETS, SPLITS, ANSWERS = ("latin", "arabic", "cyrillic"), (0, 1, 2), 100
OUTPUT = Path(__file__).parents[1] / "results" / "labels.json"
TITLE = "100 answers of nsed label against all labels: place names, F1 on the test part"
NOTE = (
    "pairs of GeoNames cities, each with one name in the script and four wrong ones; 100 simulated answers out of the "
    "training part, whose other labels nobody looks at, at most one match of a source expected (--assign best); all: "
    "every label of training and validation parts. F1 at the model's own threshold, best_f1 at the best one. The "
    "method was chosen with test figures of split 0 in sight; those of the other splits were not seen before."
)


def figures(model: Any, test: Pairs) -> dict[str, float]:
    """F1 at the model's threshold and at the best one."""
    labels, scores = np.array(test.labels, bool), model.score(test)
    f1 = matching_score(scores, labels, model.threshold).f1
    return {"f1": round(f1, 4), "best_f1": round(best_threshold(scores, labels).f1, 4)}


def with_answers(parts: Splits, seed: int) -> dict[str, Any]:
    """A session of simulated answers: F1 as it grows on the test part, and in the end."""
    gold = dict(zip(parts.training, parts.training.labels or (), strict=True))
    begun = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        session = LabelSession(parts.training, Path(folder) / "answers.tsv", held_out=parts.test, seed=seed)
        while len(session.answers) < ANSWERS and (asked := session.question()):
            session.answer(gold[asked.source, asked.target])
        found = figures(session.finish(), parts.test)
        share = np.mean([one.label for one in session.answers])
    grown = {str(one.answers): round(one.f1, 4) for one in session.learning_curve[:-1]}
    seconds = time.process_time() - begun
    return found | {"matches_among_answers": round(float(share), 2), "grown": grown, "cpu_seconds": round(seconds, 1)}


def known_figures(script: str, split: int) -> dict[str, float] | None:
    """F1 of all labels, where `tools/measure_odds.py` has measured it."""
    for row in json.loads((OUTPUT.parent / "odds.json").read_text())["rows"]:
        if (row["set"], row["split"], row["pairs"], row["model"]) == (f"geonames-{script}", split, 0, "odds"):
            return {name: row["figures"][name] for name in ("f1", "best_f1")}
    return None


def measured(script: str, split: int, names: Path) -> dict[str, Any]:
    """Both ways of learning on one split."""
    parts = published_parts([names / f"{script}-{split}" / f"{part}.tsv" for part in Splits._fields])
    few = with_answers(parts, split)
    everything = known_figures(script, split)
    if everything is None:
        everything = figures(nsed.Matcher.fit(parts.training, validation=parts.validation), parts.test)
    return {"set": script, "split": split, "answers": few, "all": everything}


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Means over the splits of each set, and the difference in points."""
    made = {}
    for script in dict.fromkeys(row["set"] for row in rows):
        own = [row for row in rows if row["set"] == script]
        few, everything = (float(np.mean([row[kind]["f1"] for row in own])) for kind in ("answers", "all"))
        made[script] = {
            "splits": len(own),
            "answers": round(few, 4),
            "all": round(everything, 4),
            "points": round(100 * (few - everything), 2),
        }
    return made


def main() -> None:
    """Measure what is not there yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", type=Path, required=True, help="folder with cyrillic-0/training.tsv and so on")
    parser.add_argument("--again", action="store_true", help="measure what is there already, too")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = [] if options.again or not OUTPUT.exists() else json.loads(OUTPUT.read_text())["rows"]
    done = {(row["set"], row["split"]) for row in rows}
    for split in SPLITS:
        for script in SETS:
            if (script, split) in done:
                continue
            rows.append(measured(script, split, options.names))
            print(json.dumps(rows[-1]), flush=True)
            machine = f"one core; torch {torch.__version__}, Python {platform.python_version()}"
            again = "python tools/measure_labels.py --names NAMES"
            facts = {"title": TITLE, "note": NOTE, "again": again, "machine": machine, "mean": summary(rows)}
            OUTPUT.write_text(json.dumps(facts | {"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
