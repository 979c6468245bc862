"""Data set loading by name."""

from pathlib import Path

from nsed.datasets.catalogue import DATASETS, DataFile
from nsed.datasets.fetching import cache_path, find, verify
from nsed.datasets.protocols import PROTOCOLS, SplitOptions
from nsed.datasets.splits import Splits
from nsed.datasets.word_list import CLASSES, Word, read_word_list
from nsed.errors import ArgumentError, DataError

PROTOCOL = "concepts"
"""Default split protocol of word lists: nothing of it leaks."""


def names() -> list[str]:
    """Data set names.

    >>> [name for name in names() if name.startswith("cognates")]
    ['cognates-aa', 'cognates-ie']
    """
    return list(DATASETS)


def load(name: str, *, protocol: str | None = None, options: SplitOptions | None = None) -> Splits:
    """Load training, validation and test pairs of a data set; nothing is downloaded.

    `g2p-cmudict`: as published, but validation without the words that training has. `translit-ar2en`: as published.
    Word lists (`cognates-ie`, `cognates-aa`): split by a protocol of `nsed.datasets.protocols`, by default `concepts`;
    `published` reads their classes from `COGNATE_CLASS`, as the paper did, the others from `COGID`.
    `cmudict`, `rules` and `febrl4`: by word, by source or by person.

    >>> training, validation, test = load("rules")
    >>> len(training), len(validation), len(test)
    (10200, 600, 1200)
    """
    dataset = DATASETS[name]
    if dataset.parts is None:
        chosen = PROTOCOLS[protocol or PROTOCOL]
        return chosen.split(load_words(name, class_column=chosen.own_column), options or SplitOptions())
    for argument, value in (("protocol", protocol), ("options", options)):
        if value is not None:
            raise ArgumentError(argument, got=value, expected=f"nothing: {name} is no word list")
    return dataset.parts(paths_of(name))


def load_words(name: str, *, class_column: str = CLASSES) -> list[Word]:
    """Load the words of a word list, for a protocol of `nsed.datasets.protocols`."""
    if DATASETS[name].parts is not None:
        lists = ", ".join(each for each in DATASETS if DATASETS[each].parts is None)
        raise ArgumentError("name", got=repr(name), expected=f"a word list: {lists}")
    return read_word_list(*paths_of(name), class_column=class_column)


def paths_of(name: str) -> list[Path]:
    """File paths of a data set. Raises `DataError` where one is missing or is not as published."""
    return [_path(file, name) for file in DATASETS[name].files]


def _path(file: DataFile, name: str) -> Path:
    found = find(file)
    if found is None:
        message = f"{name} is not here yet: nsed data fetch {name}, or nsed.datasets.fetch({name!r}), fetches it"
        raise DataError(cache_path(file), message)
    return verify(found.path, file)
