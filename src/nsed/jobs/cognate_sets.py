"""Cognate sets, of words or of morphemes, for other programs: multiple alignments, EDICTOR's columns, Nexus."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from nsed.baselines.lingpy import lingpy_module, quietly
from nsed.datasets.cldf import identifiers
from nsed.datasets.word_list import CLASSES, CONCEPTS, IDENTIFIERS, LANGUAGES, TOKENS, Word, WordTable, free_names
from nsed.errors import ArgumentError, DataError
from nsed.jobs.clustering import EarlierClusters, cluster_number

GAP, MISSING = "-", "?"
NO_LABEL = r"[^A-Za-z0-9]+"
"""What labels of Nexus have not."""
ALIGNMENT = "ALIGNMENT"
PARTIAL, CROSSED = "COGIDS", "CROSSID"
"""Columns of partial cognates, a number for each morpheme of a word, and of sets across concepts."""
SEPARATORS = ("+", "_")
"""Tokens between the morphemes of a word; the first is what is written."""


class Morphemes(NamedTuple):
    """Parts of words that are compared: morphemes, or the words themselves."""

    words: list[Word]
    """A part each, with the language and the concept of its word."""
    owners: list[int]
    """Place of the word that each is part of."""
    starts: list[int]
    """Place of the first token of each in its word."""

    def numbers(self, sets: Iterable["CognateSet"], count: int) -> list[str]:
        """Numbers of the sets of each word's parts, with spaces between them."""
        number_of = {place: one.number for one in sets for place in one.places}
        found: list[list[str]] = [[] for _ in range(count)]
        for place, owner in enumerate(self.owners):
            found[owner].append(str(number_of[place]))
        return [" ".join(numbers) for numbers in found]

    def joined(self, parts: Sequence[Sequence[str]], count: int) -> list[list[str]]:
        """Rows of each word's parts, with a separator between them."""
        found: list[list[str]] = [[] for _ in range(count)]
        for part, owner in zip(parts, self.owners, strict=True):
            found[owner] += [SEPARATORS[0], *part] if found[owner] else part
        return found


def whole_words(words: list[Word]) -> Morphemes:
    """Words as they are, each of one part."""
    return Morphemes(words, list(range(len(words))), [0] * len(words))


def split_morphemes(words: Sequence[Word]) -> Morphemes:
    """Morphemes of words, between the tokens + or _; they have no class, as classes are of whole words.

    >>> split_morphemes([Word("German", "glove", "h a n t + ʃ uː", "7")]).words[1].tokens
    'ʃ uː'
    """
    parts, owners, starts = [], [], []
    for place, word in enumerate(words):
        groups = groupby(enumerate(word.tokens.split()), key=lambda token: token[1] in SEPARATORS)
        for tokens in (list(group) for is_separator, group in groups if not is_separator):
            parts.append(word._replace(tokens=" ".join(token for _, token in tokens), cognate_class=""))
            owners.append(place)
            starts.append(tokens[0][0])
    missing = set(range(len(words))).difference(owners)
    if missing:
        word = words[min(missing)]
        got = f"{word.tokens!r} ({word.language}, {word.concept})"
        raise ArgumentError("words", got=got, expected="a morpheme at least between + or _")
    return Morphemes(parts, owners, starts)


EARLIER, EARLIER_CLDF = ("CLUSTER", CLASSES), ("COGNATESET",)
"""Columns of the numbers of an earlier run, the first that is there; COGID of CLDF is made in reading."""
IDS = ("FORM_ID", "INPUT_ID", *IDENTIFIERS)
"""Columns of the ids of words; EDICTOR's format has ids of its own, beside those of the list."""


def earlier_sets(
    earlier: WordTable, table: WordTable, parts: Morphemes, names: Sequence[str] = EARLIER
) -> EarlierClusters:
    """Set of each part of a list's words in an earlier run, by the words' ids where both lists have some.

    Else words of one language, concept and form are the same. Raises `DataError` for a list without such a column, with
    something else in it than numbers, with an id of two words, or with no word of the list.
    """
    name = next(filter(earlier.has_column, names), None)
    if name is None:
        raise DataError(earlier.path, f"no column {' nor '.join(names)}: give a list that nsed cluster wrote")
    by_id = bool(_cells(earlier, IDS) and _cells(table, IDS))
    numbers = [
        [cluster_number(earlier.path, one) for one in word.cognate_class.split()]
        for word in earlier.words(name, all_classes=False)
    ]
    known = _numbers_of_words(earlier, numbers, by_id=by_id)
    keys = _keys(table, by_id=by_id)
    if not known.keys() & set(keys):
        by = "id" if by_id else "language, concept and form"
        raise DataError(
            earlier.path, f"no word of the list is in it, by {by}: expected an earlier run of the same list"
        )
    largest = max((max(own, default=0) for own in numbers), default=0)
    return EarlierClusters(_of_parts([known.get(key, []) for key in keys], parts), largest)


def _of_parts(numbers: Sequence[Sequence[int]], parts: Morphemes) -> np.ndarray:
    """Number of each part, 0 where its word had another number of parts."""
    places: list[list[int]] = [[] for _ in numbers]
    for part, owner in enumerate(parts.owners):
        places[owner].append(part)
    found = np.zeros(len(parts.owners), np.int64)
    for own, at in zip(numbers, places, strict=True):
        if len(own) == len(at):
            found[at] = own
    return found


def _numbers_of_words(earlier: WordTable, numbers: Sequence[list[int]], *, by_id: bool) -> dict[object, list[int]]:
    if by_id:
        check_ids(earlier)
    known: dict[object, list[int]] = {}
    for key, own in zip(_keys(earlier, by_id=by_id), numbers, strict=True):
        known.setdefault(key, own)
    return known


def check_ids(table: WordTable) -> None:
    """Check that each word has an id of its own, where the list has ids. Raises `DataError`, with both lines."""
    lines: dict[str, int] = {}
    for name, row in zip(_cells(table, IDS), table.rows, strict=False):
        if (first := lines.setdefault(name, row.line)) != row.line:
            advice = "give one of them another, or the column another name, if it does not name words"
            raise DataError(
                table.path, f"two words have the id {name!r}, that of line {first:,} too: {advice}", line=row.line
            )


def _keys(table: WordTable, *, by_id: bool) -> list[object]:
    """What tells words apart: ids, or language and concept, by their names where there are such, and tokens."""
    if by_id:
        return [*_cells(table, IDS)]
    words = table.words(None)
    languages, concepts = _cells(table, ("LANGUAGE_NAME",)), _cells(table, ("CONCEPT_NAME",))
    return [
        (
            languages[row] if languages and languages[row] else word.language,
            concepts[row] if concepts and concepts[row] else word.concept,
            word.tokens,
        )
        for row, word in enumerate(words)
    ]


def _cells(table: WordTable, names: Sequence[str]) -> list[str]:
    """Cells of the first of some columns that is there; none where none is."""
    header = [name.upper() for name in table.header.cells]
    name = next((name for name in names if name in header), None)
    return [] if name is None else [row.cells[header.index(name)].strip() for row in table.rows]


class CognateSet(NamedTuple):
    """Cognate set: its number, from 1, as LingPy takes 0 for no set, and the places of its words."""

    number: int
    places: list[int]


def cognate_sets(clusters: Iterable[int]) -> list[CognateSet]:
    """Cognate sets of cluster labels, which are from 0 on.

    >>> cognate_sets([0, 1, 0])
    [CognateSet(number=1, places=[0, 2]), CognateSet(number=2, places=[1])]
    """
    places: dict[int, list[int]] = {}
    for place, label in enumerate(clusters):
        places.setdefault(label + 1, []).append(place)
    return [CognateSet(number, places[number]) for number in sorted(places)]


def align_sets(words: Sequence[Word], sets: Iterable[CognateSet]) -> list[list[str]]:
    """Multiple alignment of each set, by SCA as LingPy has it (extra `cognates`): the tokens of each word, with gaps.

    Words of a set have as many columns. Raises `ArgumentError` for sounds that LingPy does not know.
    """
    aligned: list[list[str]] = [word.tokens.split() for word in words]
    for one in sets:
        tokens = [aligned[place] for place in one.places]
        if len({tuple(word) for word in tokens}) > 1:
            for place, row in zip(one.places, _aligned(tokens), strict=True):
                aligned[place] = row
    return aligned


def _aligned(tokens: list[list[str]]) -> list[list[str]]:
    """Progressive multiple alignment of some words; words that are the same are aligned once."""
    different = list(dict.fromkeys(map(tuple, tokens)))
    multiple = lingpy_module("align.multiple")
    try:
        with quietly():
            made = multiple.Multiple([list(word) for word in different])
            made.prog_align()
    except (ValueError, KeyError) as error:
        got = " and ".join(repr(" ".join(word)) for word in different[:3])
        expected = "words of sounds that LingPy knows"
        raise ArgumentError("words", got=got, expected=expected, advice=f"LingPy says: {error}.") from None
    rows = dict(zip(different, [list(map(str, row)) for row in made.alm_matrix], strict=True))
    return [rows[tuple(word)] for word in tokens]


def edictor_rows(
    table: WordTable, words: Sequence[Word], sets: Mapping[str, Sequence[str]], aligned: Sequence[Sequence[str]]
) -> Iterator[list[str]]:
    """Word list as EDICTOR and LingPy read it: a header, then ID, DOCULECT, CONCEPT, TOKENS, sets, ALIGNMENT, others.

    Sets are columns by name: COGID, or COGIDS of partial cognates, and perhaps CROSSID. Further columns follow; those
    whose names are taken have `INPUT_` before them. A list whose ids are no numbers, one for each word, as LingPy wants
    them, is numbered from 1.
    """
    ids, others = _ids(table), _others(table, sets)
    yield ["ID", LANGUAGES[0], CONCEPTS[0], TOKENS[0], *sets, ALIGNMENT, *others]
    numbers = zip(*sets.values(), strict=True)
    for place, (word, row, own) in enumerate(zip(words, table.rows, numbers, strict=True)):
        cells = [ids[place], word.language, word.concept, word.tokens, *own, " ".join(aligned[place])]
        yield cells + [row.cells[at] for at in others.values()]


def _ids(table: WordTable) -> list[str]:
    names = [name.upper() for name in table.header.cells]
    given = [row.cells[names.index("ID")] for row in table.rows] if "ID" in names else []
    if _are_numbers(given) and len(set(given)) == len(given):
        return given
    return [str(number) for number in range(1, len(table.rows) + 1)]


def _are_numbers(ids: Sequence[str]) -> bool:
    return bool(ids) and all(one.isdecimal() and int(one) > 0 for one in ids)


def repeated_number(table: WordTable) -> str:
    """What is to be told of numbers in ID that are not one for each word, so that words are numbered; else nothing."""
    lines: dict[str, int] = {}
    given = _cells(table, ("ID",))
    for number, row in zip(given if _are_numbers(given) else [], table.rows, strict=False):
        if (first := lines.setdefault(number, row.line)) != row.line:
            twice = f"{table.path}:{row.line}: ID has {number} again, that of line {first:,}"
            return f"{twice}: words are numbered from 1, and what it has is in INPUT_ID"
    return ""


def _others(table: WordTable, sets: Iterable[str]) -> dict[str, int]:
    """Names and places of columns beside those that the format has."""
    used = {next((name for name in names if table.has_column(name)), "") for names in (LANGUAGES, CONCEPTS, TOKENS)}
    if _ids(table) == _cells(table, IDENTIFIERS[:1]):
        used.add(IDENTIFIERS[0])
    taken = {*IDENTIFIERS, LANGUAGES[0], CONCEPTS[0], TOKENS[0], CLASSES, *sets, ALIGNMENT}
    places = [place for place, name in enumerate(table.header.cells) if name.upper() not in used]
    return dict(zip(free_names((table.header.cells[place] for place in places), taken), places, strict=True))


def nexus_lines(words: Sequence[Word], sets: Sequence[CognateSet]) -> Iterator[str]:
    """Nexus file of cognate sets as binary characters, for programs of phylogenetics (SplitsTree, MrBayes, BEAST).

    A language has 1 where it has a word of the set, 0 where its words of the concept are of other sets, and `?` where
    it has none of the concept.
    """
    languages = list(dict.fromkeys(word.language for word in words))
    taxa = identifiers(languages, other=NO_LABEL)
    known = {(word.language, word.concept) for word in words}
    labels = identifiers((f"{words[one.places[0]].concept}_{one.number}" for one in sets), other=NO_LABEL).values()
    yield "#NEXUS"
    yield "BEGIN DATA;"
    yield f"  DIMENSIONS NTAX={len(languages)} NCHAR={len(sets)};"
    yield f'  FORMAT DATATYPE=STANDARD SYMBOLS="01" MISSING={MISSING} GAP={GAP};'
    yield "  CHARSTATELABELS"
    yield ",\n".join(f"    {number} {label}" for number, label in enumerate(labels, start=1)) + ";"
    yield "  MATRIX"
    width = max(map(len, taxa.values()))
    members = [({words[place].language for place in one.places}, words[one.places[0]].concept) for one in sets]
    for language in languages:
        states = (
            "1" if language in own else "0" if (language, concept) in known else MISSING for own, concept in members
        )
        yield f"    {taxa[language]:<{width}}  {''.join(states)}"
    yield "  ;\nEND;"
