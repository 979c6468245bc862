"""Data sets by their names, readers of others' formats, and protocols that split them."""

from nsed.datasets import rule_language
from nsed.datasets.cldf import read_cldf
from nsed.datasets.febrl import febrl_pairs
from nsed.datasets.fetching import fetch, load, load_words, names
from nsed.datasets.splits import Splits, cmudict_pairs
from nsed.datasets.word_list import Word, read_word_list
from nsed.text.readers.dictionaries import read_pronunciations

__all__ = [
    "Splits",
    "Word",
    "cmudict_pairs",
    "febrl_pairs",
    "fetch",
    "load",
    "load_words",
    "names",
    "read_cldf",
    "read_pronunciations",
    "read_word_list",
    "rule_language",
]
