"""Text: from files and strings to numbered symbols in padded batches."""

from nsed.text.batch import EncodedPairs, EncodedStrings, PaddedStrings, PairBatch, PairBatches
from nsed.text.edit_script import Edit, EditScript, Links, pharaoh
from nsed.text.pairs import Pairs
from nsed.text.readers import read_pairs, reader_for
from nsed.text.symbols import AlphabetConfig, Case, StringConfig, Symboliser, SymbolKind, UnicodeForm
from nsed.text.tokenizer import Coders, StringCoder, Vocabulary

__all__ = [
    "AlphabetConfig",
    "Case",
    "Coders",
    "Edit",
    "EditScript",
    "EncodedPairs",
    "EncodedStrings",
    "Links",
    "PaddedStrings",
    "PairBatch",
    "PairBatches",
    "Pairs",
    "StringCoder",
    "StringConfig",
    "SymbolKind",
    "Symboliser",
    "UnicodeForm",
    "Vocabulary",
    "pharaoh",
    "read_pairs",
    "reader_for",
]
