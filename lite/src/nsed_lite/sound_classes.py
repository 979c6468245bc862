"""Sound classes of tokens in IPA, as `nsed.text.symbols` has them."""

import unicodedata
from functools import lru_cache

CLASSES = {
    "P": "pbɓʙ", "F": "fvɸβʋⱱ", "T": "tdʈɖɗ", "D": "θð", "S": "szʃʒʂʐɕʑɧ", "C": "cɟʄʦʣʧʤʨʥ", "K": "kgɡqɢɠʛ",
    "X": "xɣχʁçʝ", "H": "hɦħʕʔɂʡʜʢ", "M": "mɱ", "N": "nɳɲŋɴ", "L": "lɬɮɭʎʟɫɺ", "R": "rɾɹɻʀɽ", "W": "wɰʍ", "J": "jɥ",
    "A": "aɑɐɒæʌ", "E": "eɛəǝɘɜɞœøɶɚɝɵ", "I": "iɪɨyʏ", "O": "oɔɤ", "U": "uʊɯʉ",
}  # fmt: skip
"""Sound classes and their IPA letters: sounds that often correspond to one another are one symbol, in any language, and
a sound that no training pair has is known by its class."""
COARSE = {"F": "P", "D": "T", "X": "K", "C": "K", "L": "R", "N": "N", **dict.fromkeys("AEIOU", "V")}
"""Dolgopolsky's class of a finer one, where it is another."""
TONE, OTHER = "1", "?"
"""Class of tones, and of what is no letter of the IPA."""
_CLASS_OF = {letter: name for name, letters in CLASSES.items() for letter in letters}


@lru_cache(maxsize=2**16)
def sound_classes(token: str) -> tuple[str, ...]:
    """Classes of the sounds of a token: marks and modifiers say nothing, affricates are one sound.

    >>> sound_classes("ˈt͡sʰ"), sound_classes("oːi"), sound_classes("⁵⁵")
    (('C',), ('O', 'I'), ('1',))
    """
    letters = [c for c in unicodedata.normalize("NFD", token.lower()) if unicodedata.category(c) in ("Ll", "Lo")]
    found: list[str] = []
    for letter in letters:
        name = _CLASS_OF.get(letter, OTHER)
        if name == "S" and found[-1:] == ["T"]:
            found[-1] = "C"
        else:
            found.append(name)
    return tuple(found) or (TONE if any(map(str.isdigit, token)) or _is_tone(token) else OTHER,)


def _is_tone(token: str) -> bool:
    return any(unicodedata.category(c) == "Sk" for c in token)


def dolgopolsky(token: str) -> tuple[str, ...]:
    """Dolgopolsky's classes of the sounds of a token.

    >>> dolgopolsky("t͡s"), dolgopolsky("oːi")
    (('K',), ('V', 'V'))
    """
    return tuple(COARSE.get(name, name) for name in sound_classes(token))
