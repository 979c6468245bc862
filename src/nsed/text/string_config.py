"""Settings that every model has: what its strings are made of."""

from dataclasses import dataclass

from nsed.config import Config
from nsed.text.symbols import Case, SymbolKind, UnicodeForm


@dataclass(frozen=True)
class StringConfig(Config):
    """How strings become symbols, side by side for sources and targets. Abstract: the models' settings add to it."""

    source_symbols: SymbolKind = "graphemes"
    """What the sources are made of: graphemes, tokens between spaces, or letters, the graphemes of tokens."""
    target_symbols: SymbolKind = "graphemes"
    """What the targets are made of: graphemes, tokens between spaces, or letters, the graphemes of tokens."""
    unicode_form: UnicodeForm = "NFC"
    """Unicode normalisation of all strings: NFC, NFD or none."""
    source_case: Case = "keep"
    """lower: capitals and small letters of sources are the same."""
    target_case: Case = "keep"
    """lower: capitals and small letters of targets are the same."""
