"""Small pronunciation lexicons, with no settings, against Phonetisaurus, into `results/lexicons.json`.

    pip install gruut-lang-{de,fr,es,it,ru,ar,cs,sw}
    OMP_NUM_THREADS=1 python tools/measure_lexicons.py --pairs 800 8000 --seeds 0 1 2

Words are sorted and shuffled with seed 0: the first 1,000 are for test, the next 800 or 8,000 to learn from;
the first pronunciation of a word is the right one. What is in the file is not measured again, so a run that was killed
goes on where it was. Phonetisaurus knows no seeds: it is measured once.
"""

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

from recipe_trials import shuffled_words

from nsed.errors import UnknownSymbolWarning
from nsed.evaluate import transduction_score
from nsed.models.persistence import model_class

TITLE = "Pronunciation lexicons of eight languages, 800 and 8,000 words to learn from, no settings: WER of 1,000 words"
MACHINE = "800 words: one core of a server; 8,000 words: one NVIDIA H200 shared by eleven trainings; torch 2.11"
RESULTS = Path(__file__).parent.parent / "results" / "lexicons.json"
LANGUAGES = ("de", "fr", "es", "it", "ru", "ar", "cs", "sw")
TEST = 1000
SETTINGS: dict[str, dict[str, Any]] = {"transducer": {}, "phonetisaurus": {"target_symbols": "tokens"}}
Words = list[tuple[str, str]]


def measure(kind: str, words: Words, pairs: int, seed: int) -> dict[str, float]:
    """Error rates of test words, and CPU seconds of the training."""
    test, training = words[:TEST], words[TEST : TEST + pairs]
    settings = dict(SETTINGS[kind]) | ({"train__seed": seed} if kind == "transducer" else {})
    begun, used = time.monotonic(), time.process_time()
    model = model_class(kind).fit(training, **settings)
    took, used = time.monotonic() - begun, time.process_time() - used
    found = [best[0].text if best else "" for best in model.transduce([word for word, _ in test])]
    score = transduction_score([one.split() for one in found], [[phones.split()] for _, phones in test])
    return {"wer": score.wer, "cer": score.cer, "seconds": round(took, 1), "cpu_seconds": round(used, 1)}


def means(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean WER over seeds by pairs, language and model, and the share of Phonetisaurus' errors that is saved."""
    found: dict[tuple[int, str, str], list[float]] = {}
    for run in runs:
        found.setdefault((run["pairs"], run["language"], run["model"]), []).append(run["wer"])
    made: dict[str, Any] = {}
    for (pairs, language, model), rates in sorted(found.items()):
        made.setdefault(str(pairs), {}).setdefault(language, {})[model] = round(sum(rates) / len(rates), 4)
    both = [row for rows in made.values() for row in rows.values() if len(row) == len(SETTINGS)]
    saved = [1 - row["transducer"] / row["phonetisaurus"] for row in both]
    return made | ({"fewer_errors": round(sum(saved) / len(saved), 4)} if saved else {})


def write(runs: list[dict[str, Any]]) -> None:
    """Write the results, with a run on each line."""
    head = {
        "title": TITLE,
        "machine": MACHINE,
        "again": "python tools/measure_lexicons.py --pairs 800 8000 --seeds 0 1 2",
    }
    text = json.dumps(head | {"mean": means(runs)}, indent=1, ensure_ascii=False)[:-2]
    lines = ",\n  ".join(json.dumps(run, ensure_ascii=False) for run in runs)
    RESULTS.write_text(f'{text},\n "runs": [\n  {lines}\n ]\n}}\n', encoding="utf-8")


def main() -> None:
    """Measure what is asked for and not there yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--languages", nargs="+", default=LANGUAGES)
    parser.add_argument("--pairs", nargs="+", type=int, default=[800])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--models", nargs="+", default=list(SETTINGS))
    asked = parser.parse_args()
    warnings.simplefilter("ignore", UnknownSymbolWarning)
    results: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"runs": []}
    jobs = [(pairs, seed, language) for pairs in asked.pairs for seed in asked.seeds for language in asked.languages]
    for pairs, seed, language in jobs:
        for kind in asked.models:
            run = {"language": language, "pairs": pairs, "model": kind, "seed": seed if kind == "transducer" else None}
            if any(run.items() <= done.items() for done in results["runs"]):
                continue
            results["runs"].append(run | measure(kind, shuffled_words(language), pairs, seed))
            print(json.dumps(results["runs"][-1]), flush=True)
            write(results["runs"])


if __name__ == "__main__":
    main()
