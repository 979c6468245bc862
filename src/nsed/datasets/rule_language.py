"""Languages of rules, synthetic data sets whose right answers are known.

The toy language of the paper's appendix "Motivation for design choices" has three rules from A, B, C to a, b, c:

1. An initial B is deleted.
2. A run of As becomes a single a.
3. B becomes b, C becomes c.

Rules 1 and 2 need context, so a table of edit operations cannot learn them, and a network with context can.

The language of harmony has rules as natural languages do, from underlying forms to words:

1. Epenthesis: U comes between an obstruent and a sonorant at the end (gibr -> gibUr).
2. Vowel harmony: A, O and U are back (a, o, u) or front (ä, ö, ü) as the first vowel of the word is, if that is one of
   these six, and else front; e and i, of which there may be any number between, are neutral.
3. Final devoicing: b, d, g and z become p, t, k and s at the end.

Rule 2 has no limit of distance: no window of neighbours is enough.
"""

import re
from random import Random

from nsed.errors import ArgumentError
from nsed.text import Pairs

SOURCE_ALPHABET = "ABC"
TARGET_ALPHABET = "abc"
OBSTRUENTS, SONORANTS, FIRST_VOWELS, LATER_VOWELS = "ptkbdgsz", "mnlr", "aouäöüei", "AOUei"
BACK, FRONT = str.maketrans("AOU", "aou"), str.maketrans("AOU", "äöü")


def transcribe(source: str) -> str:
    """Transcribe by the rules: the one right target.

    >>> transcribe("BAAACBA")
    'acba'
    """
    return re.sub("A+", "A", source.removeprefix("B")).lower()


def transduction_pairs(count: int, *, seed: int = 0, shortest: int = 1, longest: int = 10) -> Pairs:
    """Transduction pairs: `count` different random sources, each with its target.

    >>> transduction_pairs(2, seed=1) == transduction_pairs(2, seed=1)
    True
    """
    sources = _distinct_sources(count, Random(seed), shortest, longest)
    return Pairs(sources, [transcribe(source) for source in sources])


def harmonise(source: str) -> str:
    """Word of an underlying form in the language of harmony.

    >>> [harmonise(source) for source in ("kitepAb", "sogeliUd", "tünidr", "bilA")]
    ['kitepäp', 'sogeliut', 'tünidür', 'bilä']
    """
    word = re.sub(f"([{OBSTRUENTS}])([{SONORANTS}])$", r"\1U\2", source)
    first = re.search(f"[{FIRST_VOWELS}]", word)
    word = word.translate(BACK if first and first[0] in "aou" else FRONT)
    return word[:-1] + word[-1:].translate(str.maketrans("bdgz", "ptks"))


def harmony_pairs(count: int, *, seed: int = 0) -> Pairs:
    """Transduction pairs of the language of harmony: `count` different forms of two to five syllables, and their words.

    >>> list(harmony_pairs(2, seed=3))
    [('buzipmebO', 'buzipmebo'), ('mikOmelAplUd', 'mikömeläplüt')]
    """
    random, sources = Random(seed), dict[str, None]()
    while len(sources) < count:
        sources[_random_form(random)] = None
    return Pairs(list(sources), [harmonise(source) for source in sources])


def _random_form(random: Random) -> str:
    """Random underlying form: an onset more often than not, clusters now and then, and three kinds of ends."""
    consonants = [*OBSTRUENTS, *SONORANTS]
    clusters = [obstruent + sonorant for obstruent in OBSTRUENTS for sonorant in SONORANTS]
    form = random.choice([*consonants, ""]) + random.choice(FIRST_VOWELS)
    for _ in range(random.randint(1, 4)):
        form += random.choice(clusters if random.random() < 0.25 else consonants) + random.choice(LATER_VOWELS)
    end: list[str] = random.choice([consonants, clusters, [""]])
    return f"{form}{random.choice(end)}"


def matching_pairs(count: int, *, seed: int = 0, shortest: int = 1, longest: int = 10, negatives: float = 0.5) -> Pairs:
    """Labelled pairs: `count` of different sources; the share `negatives` of them has a wrong target.

    Half of the wrong targets are near misses, one edit away from the right one; half are another source's target.
    """
    if not 0 <= negatives <= 1:
        raise ArgumentError("negatives", got=negatives, expected="a share between 0 and 1")
    random = Random(seed)
    sources = _distinct_sources(count, random, shortest, longest)
    labels = [place >= round(count * negatives) for place in range(count)]
    random.shuffle(labels)
    targets = [
        transcribe(source) if label else _wrong_target(source, random, shortest, longest)
        for source, label in zip(sources, labels, strict=True)
    ]
    return Pairs(sources, targets, labels)


def _distinct_sources(count: int, random: Random, shortest: int, longest: int) -> list[str]:
    _check_lengths(count, shortest, longest)
    sources: dict[str, None] = {}
    while len(sources) < count:
        sources[_random_source(random, shortest, longest)] = None
    return list(sources)


def _check_lengths(count: int, shortest: int, longest: int) -> None:
    if not 0 <= shortest <= longest:
        raise ArgumentError("shortest", got=shortest, expected=f"between 0 and longest ({longest})")
    # half of what there is: drawing the last few strings at random would take for ever
    available = sum(len(SOURCE_ALPHABET) ** length for length in range(shortest, longest + 1)) // 2
    if count > available:
        raise ArgumentError("count", got=count, expected=f"at most {available} for strings of this length")


def _random_source(random: Random, shortest: int, longest: int) -> str:
    """Random source; long lengths are more frequent, as there are more such strings, but short ones do come."""
    length = max(random.randint(shortest, longest), random.randint(shortest, longest))
    return "".join(random.choices(SOURCE_ALPHABET, k=length))


def _wrong_target(source: str, random: Random, shortest: int, longest: int) -> str:
    right = wrong = transcribe(source)
    while wrong == right:
        if random.random() < 0.5:
            wrong = _one_edit_away(right, random)
        else:
            wrong = transcribe(_random_source(random, shortest, longest))
    return wrong


def _one_edit_away(target: str, random: Random) -> str:
    place, letter = random.randint(0, len(target)), random.choice(TARGET_ALPHABET)
    edits = [target[:place] + letter + target[place:], target[:place] + target[place + 1 :]]
    edits.append(target[:place] + letter + target[place + 1 :])
    return random.choice(edits)
