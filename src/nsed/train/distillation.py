"""Distillation: training pairs of a student, weighted by the probabilities that a teacher gives its own answers."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from math import exp
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from nsed.capabilities import Capability, can
from nsed.errors import ArgumentError
from nsed.progress import OnBatch, ignore
from nsed.text import Pairs
from nsed.train.checkpoint import hash_of
from nsed.train.run_folder import RunFolder
from nsed.train.saved_model import replace_file

NBEST, GOLD = 6, 0.5
"""Answers of the teacher per word, and the share of a training word's own references in what it counts."""
LEAST, SURE = 0.08, 0.2
"""Share of the n-best answers' probability below which an answer is not worth a lattice; and probability of the best
answer below which a word without references is not: mostly no word of the language."""
TAUGHT = "taught.json"
"""The teacher's answers, beside the checkpoint of an unfinished training: they need not be found again."""


@runtime_checkable
class Teacher(Protocol):
    """Teacher protocol: whatever gives words their n-best targets, with log-probabilities; a mixture, say."""

    def transduce(self, sources: list[str], *, nbest: int = 1, on_batch: OnBatch = ignore) -> list[list[Any]]:
        """N-best targets of each source, best first, each with its `text` and `log_prob`."""


def check_teacher(teacher: Any) -> None:
    """Check that a teacher answers words.

    Raises `ArgumentError` for what does not transduce, and for a model of several languages that is for none of them.
    """
    if not can(teacher, Capability.TRANSDUCE):
        got = f"{type(teacher).__name__}, which does not transduce"
        raise ArgumentError("teacher", got=got, expected="a transducer, a mixture of such, or what has their transduce")
    languages = getattr(teacher, "languages", None)
    if languages is not None and getattr(teacher, "language", None) is None:
        named, first = ", ".join(languages.symbols), languages.symbols[0]
        advice = f"Give nsed.load(...).for_language({first!r}), say; saved in a folder, it stays so for --teacher"
        expected = "one that is for the language of its student"
        raise ArgumentError("teacher", got=f"a model of several languages ({named})", expected=expected, advice=advice)


def taught_pairs(
    teacher: Teacher,
    training: Pairs,
    words: Iterable[str] = (),
    *,
    nbest: int = NBEST,
    gold: float = GOLD,
    on_batch: OnBatch = ignore,
) -> Pairs:
    """Training pairs of a student: every word counts as one, divided among its answers by `weights`.

    Of a word without known targets these are the teacher's n-best, by their probabilities, without the improbable ones,
    and none where the teacher is not sure of any; of a word of the training pairs, its references have the share `gold`
    of it, all alike.

    >>> from types import SimpleNamespace as Answer
    >>> class Sure:
    ...     def transduce(self, sources, *, nbest=1, on_batch=ignore):
    ...         return [[Answer(text=source.lower(), log_prob=-0.1)] for source in sources]
    >>> taught = taught_pairs(Sure(), Pairs.of([("A", "b")]), ["C"])
    >>> list(zip(taught, taught.weights))
    [(('A', 'a'), 0.5), (('C', 'c'), 1.0), (('A', 'b'), 0.5)]
    """
    if not 0 <= gold <= 1:
        raise ArgumentError("gold", got=gold, expected="a share, at least 0 and at most 1")
    references, weights = Counter(training.sources), defaultdict[tuple[str, str], float](float)
    different = list(dict.fromkeys([*training.sources, *words]))
    for source, answers in zip(different, teacher.transduce(different, nbest=nbest, on_batch=on_batch), strict=True):
        if source not in references and not _is_sure(answers):
            continue
        share = (1 - gold) if source in references else 1.0
        for target, probability in _shares(answers):
            weights[source, target] += share * probability
    for source, target in training:
        weights[source, target] += gold / references[source]
    return Pairs([source for source, _ in weights], [target for _, target in weights], weights=list(weights.values()))


def _shares(answers: Sequence[Any]) -> list[tuple[str, float]]:
    """Answers and their probabilities, which sum to one: what is not among the n-best, or rare there, is left out."""
    most = max((one.log_prob for one in answers), default=0.0)
    shares = [(one.text, exp(one.log_prob - most)) for one in answers]
    least = LEAST * sum(share for _, share in shares)
    total = sum(share for _, share in shares if share >= least)
    return [(text, share / total) for text, share in shares if share >= least]


def _is_sure(answers: Sequence[Any]) -> bool:
    return any(exp(one.log_prob) >= SURE for one in answers)


def kept_taught_pairs(
    folder: str | Path | None, teacher: Teacher, training: Pairs, words: Sequence[str], **options: Any
) -> Pairs:
    """See `taught_pairs`; those of an unfinished training in the folder, if they are of the same words."""
    if folder is None:
        return taught_pairs(teacher, training, words, **options)
    path = RunFolder(Path(folder)).checkpoint / TAUGHT
    asked = hash_of(training) + hash_of(Pairs(words, words))
    if path.exists():
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["asked"] == asked:
            return Pairs(found["sources"], found["targets"], weights=found["weights"])
    pairs = taught_pairs(teacher, training, words, **options)
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = {"sources": list(pairs.sources), "targets": list(pairs.targets), "weights": pairs.weights}
    replace_file(path, json.dumps({"asked": asked, **columns}).encode())
    return pairs
