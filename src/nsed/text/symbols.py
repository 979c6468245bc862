"""Symbol segmentation, from a string to symbols and back: graphemes, code points, tokens, their letters or phones.

With `auto` what each side's strings are cut into is decided from the training pairs, with the reason:

| the strings of a side | symbols |
|---|---|
| segments with spaces between them, say phones | tokens, or for models that compare symbols phones, if fewer |
| every cluster is one code point: Latin, Cyrillic, Greek, Arabic or Hebrew without points, Chinese | graphemes |
| Hangul, whose syllables are clusters of jamo | codepoints, NFD |
| clusters with marks (abugidas, points, diacritics), many for their code points, or often new | codepoints |
| clusters with marks, few, nearly all of them known | graphemes |
"""

import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, islice
from typing import Any, Literal, NamedTuple, TypeVar

from nsed.config import Config, bounded
from nsed.text.graphemes import split_graphemes
from nsed.text.pairs import Pairs
from nsed.text.texts import Texts

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


SymbolKind = Literal["graphemes", "codepoints", "tokens", "letters", "phones", "sound-classes", "dolgopolsky"]
SymbolChoice = Literal["auto", "graphemes", "codepoints", "tokens", "letters", "phones", "sound-classes", "dolgopolsky"]
"""Symbol kind in settings; auto: chosen from the training pairs."""
UnicodeForm = Literal["NFC", "NFD", "none"]
FormChoice = Literal["auto", "NFC", "NFD", "none", "NFD/NFC", "NFC/NFD"]
"""Unicode form in settings, of both sides, or of sources / of targets."""
Case = Literal["keep", "lower"]
STRESS = frozenset("\u02c8\u02cc")
"""Marks that stand before the letter that they are of; other modifier letters (length, aspiration) stand after it."""
TIES = ("\u0361", "\u035c")
"""Tie bars, which make one phone of two letters."""
MODIFIERS = frozenset({"Lm", "Sk"})
"""Unicode categories of modifier letters and tone letters."""
MARKS = MODIFIERS | {"Mn", "Mc", "Me", "Cf"}
"""Unicode categories of all that may be taken off a letter: marks too, and joiners."""
LONGEST_KIN = 64
"""Code points of a symbol that has kin, at most: a letter may have any number of marks."""


@dataclass(frozen=True)
class SymbolSplitter:
    """Symbol splitter: how one side of the pairs is cut into symbols.

    >>> SymbolSplitter("graphemes").split("naïve")
    ('n', 'a', 'ï', 'v', 'e')
    >>> SymbolSplitter("tokens").split("N AY IY V")
    ('N', 'AY', 'IY', 'V')
    >>> SymbolSplitter("letters").split("ˈtʰ eː n")
    ('ˈ', 't', 'ʰ', 'e', 'ː', 'n')
    >>> SymbolSplitter("phones").split("ˈtʰ oa eː n")
    ('ˈtʰ', 'o', 'a', 'eː', 'n')
    >>> SymbolSplitter("codepoints", "NFD").split("né")
    ('n', 'e', '\u0301')
    >>> SymbolSplitter(case="lower").split("DéJÀ")
    ('d', 'é', 'j', 'à')
    >>> from typing import get_args
    >>> "phones" in get_args(SymbolKind), get_args(UnicodeForm), get_args(Case)
    (True, ('NFC', 'NFD', 'none'), ('keep', 'lower'))
    """

    kind: SymbolKind = "graphemes"
    """`graphemes`: what a reader calls characters; `codepoints`: of Unicode, so that marks, and in NFD the jamo of
    Hangul, are symbols of their own; `tokens`: whatever stands between spaces, say phones; `letters`: the graphemes of
    tokens, without the spaces, so that a long vowel has its vowel in common with a short one; `phones`: the same, each
    with its modifier letters, so that a long vowel is one symbol and a diphthong is two; `sound-classes` and
    `dolgopolsky`: the classes of the sounds of tokens in IPA, see `sound_classes`."""
    form: UnicodeForm = "NFC"
    """Unicode normalisation, done first, so that two encodings of one letter are one symbol; `none` leaves it out."""
    case: Case = "keep"
    """Case folding: `lower` makes capitals small, so that both are one symbol."""

    def normal(self, text: str) -> str:
        """Normalised string, in its Unicode form and case, so that two ways to write it are one."""
        if self.form != "none":
            text = unicodedata.normalize(self.form, text)
        return text.lower() if self.case == "lower" else text

    def split(self, text: str) -> tuple[str, ...]:
        """The symbols of a string."""
        text = self.normal(text)
        if self.kind == "graphemes":
            return tuple(split_graphemes(text))
        if self.kind == "codepoints":
            return tuple(text)
        if self.kind == "tokens":
            return tuple(text.split())
        return tuple(chain.from_iterable(map(TOKEN_SPLITTERS[self.kind], text.split())))

    def tokens(self, text: str) -> list[int]:
        """Number of the token that each symbol of a string is in, from 0; of characters, its own number.

        >>> SymbolSplitter("phones").tokens("ˈtʰ oa eː n")
        [0, 1, 1, 2, 3]
        """
        if self.kind not in TOKEN_SPLITTERS:
            return list(range(len(self.split(text))))
        tokens = self.normal(text).split()
        return [number for number, token in enumerate(tokens) for _ in self.split_token(token)]

    def split_token(self, token: str) -> Iterable[str]:
        """The symbols of what stands between two spaces of a normal string; of `tokens`, that is one."""
        return TOKEN_SPLITTERS[self.kind](token)

    def join(self, symbols: Iterable[str]) -> str:
        """The string of some symbols; of letters and phones, without the spaces that there may have been.

        That of decomposed code points is composed again (NFC), as text is written.
        """
        text = (" " if self.kind == "tokens" else "").join(symbols)
        return unicodedata.normalize("NFC", text) if self.kind == "codepoints" and self.form == "NFD" else text


def split_phones(token: str) -> list[str]:
    """Phones of a token: its graphemes, each with the stress marks before and the modifier letters after it.

    >>> split_phones("ˈt͡sʰaːɪ")
    ['ˈt͡sʰ', 'aː', 'ɪ']
    """
    phones: list[str] = []
    before = ""
    for grapheme in split_graphemes(token):
        modifies = unicodedata.category(grapheme[0]) in MODIFIERS
        if grapheme in STRESS:
            before += grapheme
        elif phones and not before and (modifies or phones[-1].endswith(TIES)):
            phones[-1] += grapheme
        else:
            phones.append(before + grapheme)
            before = ""
    return [*phones, before] if before else phones


def kin_of(symbol: str) -> Iterator[str]:
    """Spellings of a symbol that say nearly the same, nearest first: without marks, in another case, compatible ones.

    They are in NFC and in NFD. What stands for two letters, a ligature say, is spelled with both of them; a symbol of
    very many code points has no such spellings.

    >>> [*dict.fromkeys(one for one in kin_of("É") if len(one) == 1)]
    ['É', 'E', 'é', 'e']
    >>> {*kin_of("ł")} == {*"łŁlL"}, "e" in kin_of("ｅ"), "f" in kin_of("ﬁ")
    (True, True, False)
    """
    cased = (symbol, symbol.upper(), symbol.upper().lower()) if len(symbol) <= LONGEST_KIN else ()
    compatible = (unicodedata.normalize("NFKC", one) for one in cased)
    for spelled in chain.from_iterable(map(_without_marks, chain(cased, compatible))):
        if spelled.isspace() == symbol.isspace():  # an accent alone is compatible with a space that has it
            yield unicodedata.normalize("NFC", spelled)
            yield unicodedata.normalize("NFD", spelled)


def _without_marks(symbol: str) -> Iterator[str]:
    """A symbol, then without its marks, the last one first, as it is composed and decomposed; then without strokes."""
    for form in ("NFC", "NFD"):
        plain = symbol = unicodedata.normalize(form, symbol)
        for plain in plainer(symbol, MARKS):
            yield plain
    yield _without_stroke(plain)


def _without_stroke(symbol: str) -> str:
    """Letter without what Unicode does not take for a mark, but names: l of `LATIN SMALL LETTER L WITH STROKE`."""
    name, found, _ = (unicodedata.name(symbol, "") if len(symbol) == 1 else "").partition(" WITH ")
    if not found or " LETTER " not in name:
        return symbol
    try:
        return unicodedata.lookup(name)
    except KeyError:
        return symbol


def plainer(symbol: str, marks: Collection[str]) -> Iterator[str]:
    """A symbol, then without stress, then without what is of these Unicode categories at its end, the last first."""
    yield symbol
    symbol = symbol.lstrip("".join(STRESS))
    yield symbol
    while len(symbol) > 1 and unicodedata.category(symbol[-1]) in marks:
        symbol = symbol[:-1]
        yield symbol


TOKEN_SPLITTERS: dict[str, Callable[[str], Iterable[str]]] = {
    "tokens": lambda token: [token],
    "letters": split_graphemes,
    "phones": split_phones,
    "sound-classes": sound_classes,
    "dolgopolsky": dolgopolsky,
}
"""How a token is cut into symbols, by the kind of these."""


@dataclass(frozen=True)
class StringConfig(Config):
    """Tokenization settings: how sources and targets become symbols. Abstract: the models' settings add to it.

    >>> source, target = StringConfig(target_symbols="tokens", source_case="lower").splitters
    >>> source.split("Hand"), target.split("HH AE N D")
    (('h', 'a', 'n', 'd'), ('HH', 'AE', 'N', 'D'))
    """

    source_symbols: SymbolChoice = "auto"
    """Source segmentation: graphemes, codepoints, tokens between spaces, letters, the graphemes of tokens, or phones,
    letters with their modifiers, or classes of sounds (sound-classes, dolgopolsky); auto: chosen from the training
    pairs."""
    target_symbols: SymbolChoice = "auto"
    """Target segmentation: graphemes, codepoints, tokens between spaces, letters, the graphemes of tokens, or phones,
    letters with their modifiers, or classes of sounds (sound-classes, dolgopolsky); auto: chosen from the training
    pairs."""
    unicode_form: FormChoice = "auto"
    """Unicode normalisation of all strings: NFC, NFD, none, or NFD/NFC, of sources / of targets; auto: NFC, unless auto
    chooses code points that are better decomposed."""
    source_case: Case = "keep"
    """Source case folding; lower: capitals and small letters of sources are the same."""
    target_case: Case = "keep"
    """Target case folding; lower: capitals and small letters of targets are the same."""
    symbols_note: str = ""
    """Why `auto` chose the symbols that it chose; the training writes this."""

    @property
    def model(self) -> str:
        """The kind of model that these settings are for."""
        raise NotImplementedError  # a field of the settings themselves

    @property
    def splitters(self) -> tuple[SymbolSplitter, SymbolSplitter]:
        """Symbol splitters of sources and targets; `auto`, where nothing was learned, is graphemes in NFC."""
        forms = self.unicode_form.split("/")
        return (
            SymbolSplitter(_kind(self.source_symbols), _form(forms[0]), self.source_case),
            SymbolSplitter(_kind(self.target_symbols), _form(forms[-1]), self.target_case),
        )


def _kind(choice: SymbolChoice) -> SymbolKind:
    return "graphemes" if choice == "auto" else choice


def _form(choice: str) -> UnicodeForm:
    return {"NFD": "NFD", "none": "none"}.get(choice, "NFC")  # type: ignore[return-value]  # one of the three


@dataclass(frozen=True)
class AlphabetConfig(StringConfig):
    """Vocabulary settings: how an alphabet is learned. Abstract: the models' settings add to it.

    >>> AlphabetConfig(min_count=0)
    Traceback (most recent call last):
    nsed.errors.ConfigError: AlphabetConfig: 1 fault - min_count: got 0, expected at least 1 and at most 1,000,000,000
    """

    min_count: int = bounded(1, low=1, most=10**9)
    """Symbols that are rarer than this in the training pairs are read as <unk>. Above 1 the model is smaller, and it
    learns what a symbol that it has never seen may stand for."""


ONE_ALPHABET = 0.8
"""Share of a side's symbols that the other side has too, from which on both are written in one alphabet."""
TOKEN_LENGTH, TOKEN_SHARE, SAMPLE = 2.5, 0.9, 1000
"""Graphemes of a token at most, on average, in strings of segments; how many of the strings have a space; how many are
looked at."""
HELD_OUT, LOOKED_AT, FEW_STRINGS = 10, 20_000, 100
"""One string of so many is held out to see whether its symbols are known from the others; so many are looked at; of
fewer than the last each is held out in turn, as a tenth of these would say nothing."""
MUCH_HANGUL, MANY_CLUSTERS, MORE_COVERED, FEWER = 0.1, 1.5, 0.005, 0.8
"""Share of Hangul from which on a side is read as jamo; clusters per code point, or how much larger the known share of
held-out symbols is, from which on code points are chosen; NFD where it has so many of NFC's symbols, or fewer."""

MOSTLY_ONE = 0.75
"""Share of the tokens that are one phone, from which on the others are sequences of phones (IPA), and not names of
phones (ARPABET)."""
SAME_SCRIPT = "as the other side, in the same script"
"""Reason of a decision that the other side makes."""

SomeConfig = TypeVar("SomeConfig", bound=StringConfig)


class SymbolDecision(NamedTuple):
    """Symbols of one side, in which Unicode form, and why."""

    kind: SymbolKind
    form: UnicodeForm
    reason: str


def looks_segmented(texts: Iterable[str]) -> bool:
    """Segment detection: whether strings are tokens between spaces, say phones, rather than words or names.

    So they are where nearly all that have more than one grapheme have a space, and their tokens are short.

    >>> looks_segmented(["h ɑ n t", "v u t", "ɛ j"]), looks_segmented(["N AY IY1 V"]), looks_segmented(["Anna Lee"])
    (True, True, False)
    """
    long = [text.split() for text in islice(texts, SAMPLE) if len(split_graphemes(text)) > 1]
    tokens = list(chain.from_iterable(long))
    spaced = sum(len(text) > 1 for text in long)
    if not spaced or spaced < TOKEN_SHARE * len(long):
        return False
    return sum(len(split_graphemes(token)) for token in tokens) <= TOKEN_LENGTH * len(tokens)


def decide_symbols(texts: Iterable[str], *, phones: bool = False) -> SymbolDecision:
    """Symbols for the different strings of one side; `phones`: of segments rather their phones, where these are fewer.

    >>> decide_symbols(["naïve", "cliché"])
    SymbolDecision(kind='graphemes', form='NFC', reason='every character is one code point')
    >>> decide_symbols(["한국", "국어", "한글"]).reason
    'Hangul, of whose jamo there are fewer than syllables'
    """
    some = list(islice(texts, LOOKED_AT))
    if looks_segmented(some):
        return (_phones(some) if phones else None) or SymbolDecision(
            "tokens", "NFC", "segments with spaces between them"
        )
    graphemes, composed = SymbolSplitter("graphemes"), SymbolSplitter("codepoints")
    if _hangul_share(some) >= MUCH_HANGUL:
        return SymbolDecision("codepoints", "NFD", "Hangul, of whose jamo there are fewer than syllables")
    clusters, points = (set(chain.from_iterable(map(one.split, some))) for one in (graphemes, composed))
    if clusters <= points:
        return SymbolDecision("graphemes", "NFC", "every character is one code point")
    known, known_points = known_share(graphemes, some), known_share(composed, some)
    counts = f"{len(clusters):,} characters of {len(points):,} code points"
    shares = f"{known:.1%} against {known_points:.1%} of held-out symbols known"
    if len(clusters) < MANY_CLUSTERS * len(points) and known_points - known < MORE_COVERED:
        return SymbolDecision("graphemes", "NFC", f"{counts}; {shares}")
    decomposed = set(chain.from_iterable(map(SymbolSplitter("codepoints", "NFD").split, some)))
    form: UnicodeForm = "NFD" if len(decomposed) <= FEWER * len(points) else "NFC"
    return SymbolDecision("codepoints", form, f"{counts}; {shares}")


def _phones(texts: Sequence[str]) -> SymbolDecision | None:
    """Decision for phones, if most tokens are one, and there are fewer phones than tokens."""
    by_token, by_phone = SymbolSplitter("tokens"), SymbolSplitter("phones")
    tokens = list(chain.from_iterable(map(by_token.split, texts)))
    different = {token: by_phone.split(token) for token in dict.fromkeys(tokens)}
    found = set(chain.from_iterable(different.values()))
    if not _mostly_one_phone(texts) or len(found) >= len(different):
        return None
    counts = f"{len(found):,} phones in {len(different):,} segments"
    shares = f"{known_share(by_phone, texts):.2%} against {known_share(by_token, texts):.2%} of held-out ones known"
    return SymbolDecision("phones", "NFC", f"{counts}; {shares}")


def _mostly_one_phone(texts: Sequence[str]) -> bool:
    """Whether most tokens are one phone each."""
    by_phone = SymbolSplitter("phones")
    tokens = list(chain.from_iterable(map(SymbolSplitter("tokens").split, texts)))
    single = {token: len(by_phone.split(token)) == 1 for token in dict.fromkeys(tokens)}
    return sum(single[token] for token in tokens) >= MOSTLY_ONE * len(tokens)


def known_share(splitter: SymbolSplitter, texts: Sequence[str]) -> float:
    """Coverage: the share of the symbols of every tenth string that the other strings have too; 1 without any.

    Of few strings it is that of each string and all others.

    >>> known_share(SymbolSplitter("graphemes"), ["กี", "กิ"]), known_share(SymbolSplitter("codepoints"), ["กี", "กิ"])
    (0.0, 0.5)
    """
    if len(texts) < FEW_STRINGS:
        cut = [splitter.split(text) for text in texts]
        strings_with = Counter(chain.from_iterable(map(set, cut)))
        known = [strings_with[symbol] > 1 for symbol in chain.from_iterable(cut)]
        return sum(known) / len(known) if known else 1.0
    held_out = [symbol for text in texts[HELD_OUT - 1 :: HELD_OUT] for symbol in splitter.split(text)]
    others = {symbol for row, text in enumerate(texts, start=1) if row % HELD_OUT for symbol in splitter.split(text)}
    return sum(symbol in others for symbol in held_out) / len(held_out) if held_out else 1.0


def _hangul_share(texts: Sequence[str]) -> float:
    letters = [char for text in texts for char in SymbolSplitter().normal(text)]
    return sum("가" <= char <= "힣" for char in letters) / max(1, len(letters))


def choose_symbols(config: SomeConfig, pairs: Pairs, *, phones: bool = False) -> SomeConfig:
    """Settings with symbols in the place of `auto`, and a note with the reason for each side that had it.

    A model that compares symbols reads `phones` of segments, where these are fewer.

    Where one side takes code points, or phones of segments, and both are written with mostly the same ones, the other
    side takes them too: the same sound or letter then is the same symbol on both sides.

    >>> chosen = choose_symbols(StringConfig(), Pairs.of([("hand", "HH AE N D"), ("fish", "F IH SH")]))
    >>> chosen.source_symbols, chosen.target_symbols, chosen.unicode_form
    ('graphemes', 'tokens', 'NFC')
    """
    if "auto" not in (config.source_symbols, config.target_symbols, config.unicode_form):
        return config
    columns = {"source_symbols": pairs.sources, "target_symbols": pairs.targets}
    texts = {name: Texts.of(columns[name]).different for name in columns if getattr(config, name) == "auto"}
    made = {name: decide_symbols(strings, phones=phones) for name, strings in texts.items()}
    if len(made) == 2 and _one_script(*texts.values()):
        made = _together(made, texts)
    forms = [made[name].form if name in made else "NFC" for name in columns]
    form = "/".join(dict.fromkeys(forms)) if config.unicode_form == "auto" else config.unicode_form
    said = {name.removesuffix("_symbols"): _because(one, config.unicode_form) for name, one in made.items()}
    note = "; ".join(f"{side}s as {because}" for side, because in said.items())
    changes: dict[str, Any] = {name: one.kind for name, one in made.items()}
    return replace(config, **changes, unicode_form=form, symbols_note=note)  # type: ignore[arg-type]  # one of its forms


def _one_script(*sides: Sequence[str]) -> bool:
    """Whether at least half of the code points of the side that has fewer are on the other side too."""
    source, target = (set(chain.from_iterable(texts)) for texts in sides)
    return 2 * len(source & target) >= min(len(source), len(target))


def _together(made: dict[str, SymbolDecision], texts: Mapping[str, Sequence[str]]) -> dict[str, SymbolDecision]:
    """Decisions of two sides in one script: code points, or phones, on both where one of them needs these.

    Names of phones (ARPABET) stay tokens beside phones.
    """
    kinds = {one.kind for one in made.values()}
    kind: SymbolKind = "phones" if kinds == {"phones", "tokens"} else "codepoints"
    needing = [one for one in made.values() if one.kind == kind]
    if not needing or (kind == "codepoints" and kinds & {"tokens", "phones"}):
        return made
    if kind == "phones" and not all(_mostly_one_phone(side[:LOOKED_AT]) for side in texts.values()):
        return made
    form: UnicodeForm = "NFD" if any(one.form == "NFD" for one in needing) else "NFC"
    return {
        name: one._replace(form=form) if one.kind == kind else SymbolDecision(kind, form, SAME_SCRIPT)
        for name, one in made.items()
    }


def _because(decision: SymbolDecision, given: str) -> str:
    form = decision.form if given == "auto" else given
    kind = f"codepoints in {form}" if decision.kind == "codepoints" else decision.kind
    return f"{kind} ({decision.reason})"


def have_one_alphabet(pairs: Pairs, config: StringConfig) -> bool:
    """Whether most symbols of either side, as often as its strings have them, are symbols of the other side too."""
    sides = zip(config.splitters, (pairs.sources, pairs.targets), strict=True)
    counts = [Counter(chain.from_iterable(map(side.split, dict.fromkeys(texts)))) for side, texts in sides]
    both = counts[0].keys() & counts[1].keys()
    return all(sum(side[symbol] for symbol in both) >= ONE_ALPHABET * side.total() for side in counts)
