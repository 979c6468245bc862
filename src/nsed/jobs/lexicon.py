"""Pronouncing dictionaries of word lists, by a transducer: n-best pronunciations in the formats of speech tools."""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import groupby
from math import exp
from pathlib import Path
from typing import Any, NamedTuple

from nsed.capabilities import Capability, can
from nsed.errors import ArgumentError, DataError
from nsed.models.transduction import Overrides, OverridesLike, Transduction
from nsed.progress import OnBatch, ignore
from nsed.text.readers.batches import BatchOptions, source_batches
from nsed.text.readers.delimited import Sources
from nsed.text.readers.dictionaries import COMMENT, VARIANT


class LexiconFormat(StrEnum):
    """File format of a pronouncing dictionary.

    >>> [form.value for form in LexiconFormat], LexiconFormat("kaldi") is LexiconFormat.KALDI
    (['cmudict', 'kaldi', 'mfa'], True)
    """

    CMUDICT = "cmudict"
    """`word  PH ON ES`, further pronunciations as `word(2)`; no probabilities."""
    KALDI = "kaldi"
    """`lexiconp.txt` of Kaldi: `word probability PH ON ES`."""
    MFA = "mfa"
    """Dictionary of the Montreal Forced Aligner: word, probability and phones, separated by tabs."""


class Pronunciation(NamedTuple):
    """Pronunciation of a word, and how probable it is.

    >>> one = Pronunciation("read", ("R", "EH", "D"), 0.25)
    >>> " ".join(one.phones), one.override
    ('R EH D', False)
    """

    word: str
    phones: tuple[str, ...]
    probability: float
    """Relative to the most probable one of the word, which has 1, as Kaldi wants it; 1 where a person vouches."""
    override: bool = False


def pronounce(
    model: Any,
    words: Iterable[str],
    *,
    nbest: int = 5,
    min_probability: float = 0.1,
    beam: int | None = None,
    overrides: OverridesLike | None = None,
    only_overrides: bool = False,
    on_batch: OnBatch = ignore,
) -> list[Pronunciation]:
    """Pronunciations of words, sorted by word, each word and each of its pronunciations once, the best first.

    A word has its most probable one, and up to `nbest` whose probabilities are at least `min_probability`. Overrides
    come before them, or, with `only_overrides`, instead of them. Raises `ArgumentError` for a model that is no
    transducer and `DataError` for a word with a space, which no format can hold.

    >>> from nsed.baselines import Lookup
    >>> model = Lookup.fit([("red", "r e d"), ("read", "r e d"), ("read", "r i d")], target_symbols="tokens")
    >>> [(one.word, one.phones, one.probability) for one in pronounce(model, ["red", "read", "red"])]
    [('read', ('r', 'e', 'd'), 1.0), ('read', ('r', 'i', 'd'), 1.0), ('red', ('r', 'e', 'd'), 1.0)]
    """
    if not can(model, Capability.TRANSDUCE):
        raise ArgumentError("model", got=f"a {type(model).__name__}, which scores pairs only", expected="a transducer")
    if not 0 <= min_probability <= 1:
        raise ArgumentError("min_probability", got=min_probability, expected="a number from 0 to 1")
    listed = sorted({checked_word(word) for word in words} - {""})
    vouched = _vouched(model, listed, overrides)
    asked = [word for word in listed if not (only_overrides and vouched.get(word))]
    answers = model.transduce(asked, nbest=nbest, beam=beam, on_batch=on_batch) if asked else []
    own = dict(zip(asked, answers, strict=True))
    return [
        one for word in listed for one in _chosen(word, vouched.get(word, []), own.get(word, []), least=min_probability)
    ]


def read_words(path: Path, *, column: str | None = None, form: LexiconFormat | None = None) -> list[str]:
    """Read the words of a file for a dictionary, see `nsed.text.readers.read_sources`.

    Raises `DataError`, with file and line, for a word that no dictionary, or none of this format, can hold.
    """
    batches = source_batches(path, BatchOptions(None if column is None else [column]))
    return [
        checked_word(word, form, path=path, line=line)
        for batch in batches
        if isinstance(batch.content, Sources)
        for word, line in zip(batch.content.texts, batch.numbers, strict=True)
    ]


def checked_word(
    word: str, form: LexiconFormat | None = None, *, path: Path | str = "words", line: int | None = None
) -> str:
    """Word without the space around it. Raises `DataError` where there is some within, and for what is no word."""
    parts = word.split()
    if len(parts) > 1:
        reason = f"{word!r} has a space, which no pronouncing dictionary can hold: give its words one by one"
        raise DataError(path, reason, line=line)
    found = "".join(parts)
    if form is LexiconFormat.CMUDICT and (found.startswith(COMMENT) or VARIANT.search(found)):
        reason = f"{word!r} is no word to readers of CMUdict: what begins with {COMMENT} is a comment, and word(2) is "
        reason += "another pronunciation of word. Write it otherwise, or use --format kaldi or mfa"
        raise DataError(path, reason, line=line)
    return found


def _vouched(model: Any, words: Iterable[str], overrides: OverridesLike | None) -> dict[str, list[tuple[str, ...]]]:
    """Phones of the overrides of each word, whose letters are as the model reads them."""
    if overrides is None:
        return {}
    given = Overrides.of(overrides)
    by_source, tokenizers = given.by_source(model.tokenizers), model.tokenizers
    for row, target in enumerate(given.pairs.targets):
        if not tokenizers.target.split(target) and (given.pairs.labels is None or given.pairs.labels[row]):
            raise given.fault(row, "no sounds: give it a pronunciation, or leave it out")
    targets = {word: by_source.get(tokenizers.source.split(word), []) for word in words}
    return {word: [tokenizers.target.split(target) for target in own] for word, own in targets.items()}


def _chosen(
    word: str, vouched: Sequence[tuple[str, ...]], answers: Iterable[Transduction], *, least: float
) -> Iterator[Pronunciation]:
    """Overrides, then the model's own: its best one where there are none, and others that are probable enough."""
    yield from (Pronunciation(word, phones, 1.0, override=True) for phones in vouched)
    own = [one for one in answers if one.symbols and one.symbols not in vouched]
    best = max((one.log_prob for one in own), default=0.0)
    for one in own:
        if exp(one.log_prob) >= least or (one is own[0] and not vouched):
            yield Pronunciation(word, one.symbols, exp(one.log_prob if vouched else one.log_prob - best))


def lexicon_lines(pronunciations: Iterable[Pronunciation], form: LexiconFormat) -> Iterator[str]:
    """Lines of a dictionary in a format; those of a word stand together. Raises `DataError` as `checked_word` does.

    >>> entries = [Pronunciation("read", ("R", "IY", "D"), 1.0), Pronunciation("read", ("R", "EH", "D"), 0.25)]
    >>> list(lexicon_lines(entries, LexiconFormat.CMUDICT)), list(lexicon_lines(entries, LexiconFormat.KALDI))
    (['read  R IY D', 'read(2)  R EH D'], ['read 1.0000 R IY D', 'read 0.2500 R EH D'])
    """
    separator = "\t" if form is LexiconFormat.MFA else " "
    for word, own in groupby(pronunciations, key=lambda one: one.word):
        checked_word(word, form)
        for number, one in enumerate(own, start=1):
            phones = " ".join(one.phones)
            if form is LexiconFormat.CMUDICT:
                yield f"{word if number == 1 else f'{word}({number})'}  {phones}"
            else:
                yield separator.join([word, f"{max(one.probability, SMALLEST):.4f}", phones])


SMALLEST = 0.0001
"""Smallest probability that is written: Kaldi refuses 0."""
