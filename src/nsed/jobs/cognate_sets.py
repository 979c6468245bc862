"""Cognate sets for other programs: multiple alignments, EDICTOR's columns, Nexus characters."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from nsed.baselines.lingpy import lingpy_module, quietly
from nsed.datasets.cldf import identifiers
from nsed.datasets.word_list import CLASSES, CONCEPTS, IDENTIFIERS, LANGUAGES, TOKENS, Word, WordTable
from nsed.errors import ArgumentError

GAP, MISSING = "-", "?"
NO_LABEL = r"[^A-Za-z0-9]+"
"""What labels of Nexus have not."""
ALIGNMENT = "ALIGNMENT"


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
    table: WordTable, words: Sequence[Word], sets: Sequence[CognateSet], aligned: Sequence[Sequence[str]]
) -> Iterator[list[str]]:
    """Word list as EDICTOR and LingPy read it: a header, then ID, DOCULECT, CONCEPT, TOKENS, COGID, ALIGNMENT, others.

    Further columns follow; those whose names are taken have `INPUT_` before them. A list whose ids are no numbers, as
    LingPy wants them, is numbered from 1.
    """
    numbers = {place: one.number for one in sets for place in one.places}
    ids, others = _ids(table), _others(table)
    yield ["ID", LANGUAGES[0], CONCEPTS[0], TOKENS[0], CLASSES, ALIGNMENT, *others]
    for place, (word, row) in enumerate(zip(words, table.rows, strict=True)):
        own = [ids[place], word.language, word.concept, word.tokens, str(numbers[place]), " ".join(aligned[place])]
        yield own + [row.cells[at] for at in others.values()]


def _ids(table: WordTable) -> list[str]:
    names = [name.upper() for name in table.header.cells]
    given = [row.cells[names.index("ID")] for row in table.rows] if "ID" in names else []
    if given and all(one.isdecimal() and int(one) > 0 for one in given) and len(set(given)) == len(given):
        return given
    return [str(number) for number in range(1, len(table.rows) + 1)]


def _others(table: WordTable) -> dict[str, int]:
    """Names and places of columns beside those that the format has."""
    used = {next((name for name in names if table.has_column(name)), "") for names in (LANGUAGES, CONCEPTS, TOKENS)}
    if _ids(table)[0] == _cell(table, 0, IDENTIFIERS[0]):
        used.add(IDENTIFIERS[0])
    taken = {*IDENTIFIERS, LANGUAGES[0], CONCEPTS[0], TOKENS[0], CLASSES, ALIGNMENT}
    found: dict[str, int] = {}
    for place, name in enumerate(table.header.cells):
        if name.upper() not in used:
            found[f"INPUT_{name}" if name.upper() in taken else name] = place
    return found


def _cell(table: WordTable, row: int, name: str) -> str | None:
    names = [one.upper() for one in table.header.cells]
    return table.rows[row].cells[names.index(name)] if name in names and table.rows else None


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
