"""One side of the pairs, as a model reads it: how strings become symbols, and symbols numbers."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from nsed.errors import UnknownSymbolWarning
from nsed.text.batch import EncodedStrings
from nsed.text.symbols import Symboliser
from nsed.text.visible import visible
from nsed.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class StringCoder:
    """Cuts strings into symbols and looks them up; `side` is its name in warnings."""

    side: str
    symboliser: Symboliser
    vocabulary: Vocabulary

    @classmethod
    def learned(cls, side: str, symboliser: Symboliser, texts: Iterable[str]) -> "StringCoder":
        """With the vocabulary of all symbols of some texts."""
        return cls(side, symboliser, Vocabulary.of(chain.from_iterable(map(symboliser.split, texts))))

    def split(self, text: str) -> tuple[str, ...]:
        """The symbols of a string."""
        return self.symboliser.split(text)

    def encode(self, texts: Sequence[str]) -> EncodedStrings:
        """The numbers of strings; one warning names all symbols that are new."""
        encoded = EncodedStrings.of(texts, self.symboliser, self.vocabulary)
        if encoded.has_unknown:
            self._warn(set(chain.from_iterable(map(self.split, texts))))
        return encoded

    def _warn(self, symbols: set[str]) -> None:
        unknown = sorted(symbol for symbol in symbols if symbol not in self.vocabulary)
        count = f"1 {self.side} symbol is" if len(unknown) == 1 else f"{len(unknown)} {self.side} symbols are"
        shown = " ".join(map(visible, unknown[:20])) + (" ..." if len(unknown) > 20 else "")
        message = f"{count} unknown to the model, which reads <unk>: {shown}"
        warnings.warn(message, UnknownSymbolWarning, stacklevel=5)
