"""Text: from files and strings to numbered symbols in padded batches."""

from nsed.text.batch import EncodedPairs, EncodedStrings, PaddedStrings, PairBatch, PairBatches
from nsed.text.edit_script import Edit, EditScript, Links, pharaoh
from nsed.text.pairs import Pairs
from nsed.text.readers import read_pairs, reader_for
from nsed.text.symbols import (
    AlphabetConfig,
    Case,
    StringConfig,
    SymbolKind,
    SymbolSplitter,
    UnicodeForm,
    choose_symbols,
)
from nsed.text.tokenizer import Tokenizer, Tokenizers, Vocabulary

__all__ = [
    "AlphabetConfig",
    "Case",
    "Edit",
    "EditScript",
    "EncodedPairs",
    "EncodedStrings",
    "Links",
    "PaddedStrings",
    "PairBatch",
    "PairBatches",
    "Pairs",
    "StringConfig",
    "SymbolKind",
    "SymbolSplitter",
    "Tokenizer",
    "Tokenizers",
    "UnicodeForm",
    "Vocabulary",
    "choose_symbols",
    "pharaoh",
    "read_pairs",
    "reader_for",
]
