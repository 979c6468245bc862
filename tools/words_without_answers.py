"""English words whose pronunciation no CMUDict part has, for a teacher to answer: the words behind `g2p-en`.

    pip install wordfreq==3.1.1 names==0.3.0
    python tools/words_without_answers.py $NSED_DATA/g2p-cmudict words.txt

Surnames and first names of the census of the United States of 1990 (package `names`), and the 130,000 most frequent
English words (package `wordfreq`) of 4 to 16 letters, a vowel among them. Words of the training, validation and test
part are left out: the teacher answers for the training words anyway, and must not for the others.
"""

import re
import sys
from importlib.resources import files
from pathlib import Path

FREQUENT = 130_000
WORD, VOWEL = re.compile(r"[a-z][a-z']{0,14}[a-z]"), re.compile("[aeiouy]")


def census_names() -> list[str]:
    """First and last names, the frequent ones first."""
    lists = [files("names") / f"dist.{part}" for part in ("all.last", "female.first", "male.first")]
    return [line.split()[0].lower() for names in lists for line in names.read_text().splitlines() if line.strip()]


def frequent_words() -> list[str]:
    """English words, the frequent ones first."""
    from wordfreq import iter_wordlist  # noqa: PLC0415  # the package is large

    return [word for word in iter_wordlist("en", "large") if len(word) > 3 and VOWEL.search(word)]


def main(folder: Path, output: Path) -> None:
    """Write the words, sorted."""
    parts = [(folder / f"{part}.dict").read_text(encoding="utf-8") for part in ("train", "valid", "test")]
    known = {line.split()[0].lower() for part in parts for line in part.splitlines() if line.strip()}
    names, words = ([*dict.fromkeys(filter(WORD.fullmatch, found))] for found in (census_names(), frequent_words()))
    more = {*names, *[word for word in words if word not in known][:FREQUENT]} - known
    output.write_text("".join(f"{word}\n" for word in sorted(more)), encoding="utf-8")
    print(f"{len(more):,} words")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
