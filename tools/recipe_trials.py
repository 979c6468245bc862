"""Trials behind the training recipe, of small lexicons, with or without settings, into `results/recipes.json`.

    pip install gruut-lang-fr gruut-lang-de gruut-lang-ar gruut-lang-cs gruut-lang-ru
    OMP_NUM_THREADS=1 python tools/recipe_trials.py fr 800 encoder.dropout=0.5 --note "more dropout"

Words of a lexicon are sorted and shuffled with seed 0; the first and the last 1,000 of them are never read, since test
words may be taken from there, and the 1,000 before the last ones are for validation: trials are compared by the WER of
600 of them. `en` is CMUDict and `ar-en` Arabic names, their training and validation parts, from the folder that
`NSED_DATA` names; `rules` is the language of harmony.
"""

import argparse
import json
import os
import sqlite3
import time
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from random import Random

import nsed
from nsed.config import parse_overrides
from nsed.datasets.rule_language import harmony_pairs
from nsed.errors import UnknownSymbolWarning
from nsed.evaluate import transduction_score
from nsed.text import read_pairs

RESULTS = Path(__file__).parent.parent / "results" / "recipes.json"
APART, VALIDATED = 1000, 600
Words = Sequence[tuple[str, str]]


def shuffled_words(language: str) -> list[tuple[str, str]]:
    """Words of a lexicon of the package gruut-lang-..., the first pronunciation of each, sorted and shuffled."""
    found = find_spec(f"gruut_lang_{language}")
    if found is None or found.origin is None:
        raise SystemExit(f"no lexicon of {language}: pip install gruut-lang-{language}")
    with sqlite3.connect(Path(found.origin).with_name("lexicon.db")) as database:
        rows = database.execute("select word, phonemes from word_phonemes where pron_order = 0").fetchall()
    words: dict[str, str] = {}
    for word, phonemes in rows:
        if "(" not in word and word.strip() and phonemes.strip():
            words.setdefault(word, phonemes)
    order = sorted(words)
    Random(0).shuffle(order)
    return [(word, words[word]) for word in order]


def lexicon(language: str) -> tuple[Words, Words]:
    """Training and validation words of a lexicon."""
    kept = shuffled_words(language)[APART:-APART]
    return kept[:-APART], kept[-APART:]


def data_set(folder: str, training: str, validation: str) -> tuple[Words, Words]:
    """Training pairs in a random order, and the validation pairs whose sources are not among them."""
    base = Path(os.environ["NSED_DATA"]) / folder
    pairs, checked = list(read_pairs(base / training)), list(read_pairs(base / validation))
    Random(0).shuffle(pairs)
    known = {source for source, _ in pairs}
    return pairs, [pair for pair in checked if pair[0] not in known]


def words_of(name: str) -> tuple[Words, Words]:
    """Training and validation pairs by name."""
    if name == "en":
        return data_set("g2p-cmudict", "train.dict", "valid.dict")
    if name == "ar-en":
        return data_set("translit-ar2en", "train.tsv", "eval.tsv")
    if name == "rules":
        pairs = list(harmony_pairs(3000))
        return pairs[:2500], pairs[2500:]
    return lexicon(name)


def trial(name: str, count: int, seed: int, settings: dict[str, object]) -> dict[str, object]:
    """One training, with a twentieth less than `count` pairs, as if it had been held out, and how good it is."""
    training, validation = words_of(name)
    validation, curve = validation[:VALIDATED], []
    given = {"train.seed": seed, "train.device": "cpu", "train.keep": "last", "train.patience": 99, **settings}
    begun, cpu = time.monotonic(), time.process_time()
    model = nsed.Transducer.fit(
        training[: count - count // 20],
        validation=validation,
        on_validation=lambda one: curve.append([one.step, round(one.metrics["wer"], 3)]),
        **{key.replace(".", "__"): value for key, value in given.items()},
    )
    seconds = {"seconds": round(time.monotonic() - begun, 1), "cpu_seconds": round(time.process_time() - cpu, 1)}
    found = model.transduce([source for source, _ in validation])
    references = [[model.tokenizers.target.split(target)] for _, target in validation]
    score = transduction_score([best[0].symbols if best else () for best in found], references)
    about = {"data": name, "pairs": count, "seed": seed, "settings": settings, "recipe": model.config.train.recipe}
    return {**about, "wer": round(score.wer, 4), "cer": round(score.cer, 4), **seconds, "curve": curve}


def main() -> None:
    """Run a trial and add it to the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("pairs", type=int)
    parser.add_argument("settings", nargs="*", help="key=value, over the recipe")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--note", default="")
    options = parser.parse_args()
    warnings.simplefilter("ignore", UnknownSymbolWarning)
    made = trial(options.data, options.pairs, options.seed, parse_overrides(options.settings))
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    results["trials"].append({**made, **({"note": options.note} if options.note else {})})
    RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
