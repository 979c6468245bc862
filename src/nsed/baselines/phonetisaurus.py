"""Phonetisaurus (Novak, Minematsu and Hirose 2016): a joint n-gram model, by its own programs (extra `align`)."""

import os
import platform
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Literal, NamedTuple, NoReturn

import numpy as np
import torch

from nsed.capabilities import Capability
from nsed.config import bounded
from nsed.errors import ArgumentError, MissingExtraError, NotExplainableError, NsedError
from nsed.models.base import Contents
from nsed.models.settings import ConfigLike, resolve_settings
from nsed.models.transduction import TransducingModel, Transduction
from nsed.progress import OnBatch, ignore
from nsed.text import Pairs, StringConfig, Tokenizer, Tokenizers
from nsed.text.columns import Column
from nsed.text.pairs import PairsLike
from nsed.train.saved_model import SavedModel
from nsed.types import UNKNOWN

Numbers = Sequence[int]
WIDEST_BEAM = 10**6
"""Maximum beam width: states, which are small."""


class FstPath(NamedTuple):
    """FST path: a target that was found for a source, its symbols, and the joint log-probability of both."""

    source: tuple[int, ...]
    target: tuple[int, ...]
    log_prob: float


def train_fst(
    pairs: Iterable[tuple[Numbers, Numbers]], *, order: int, longest_source: int, longest_target: int
) -> bytes:
    """Train the FST: align the pairs by EM, count n-grams of what is aligned, and make a transducer of them."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        lines = (f"{_written(source)}\t{_written(target)}\n" for source, target in pairs)
        (folder / "pairs").write_text("".join(lines), encoding="ascii")
        sizes = [f"--seq1_max={longest_source}", f"--seq2_max={longest_target}", "--seq1_del=false", "--seq2_del=true"]
        _run(folder, "phonetisaurus-align", "--input=pairs", "--ofile=corpus", "--s1_char_delim= ", *sizes)
        _run(folder, "estimate-ngram", "-o", str(order), "-t", "corpus", "-wl", "arpa")
        _run(folder, "phonetisaurus-arpa2wfst", "--lm=arpa", "--ofile=fst")
        return (folder / "fst").read_bytes()


def apply_fst(fst: bytes, sources: Iterable[Numbers], *, nbest: int, beam: int) -> list[FstPath]:
    """N-best FST paths: the targets of each source, best first; a source for which there is none is left out."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "fst").write_bytes(fst)
        (folder / "words").write_text("".join(f"{_written(source)}\n" for source in sources), encoding="ascii")
        wanted = ["--model=fst", "--wordlist=words", "--gsep= ", f"--nbest={nbest}", f"--beam={beam}"]
        shown = _run(folder, "phonetisaurus-g2pfst", *wanted)
    return [_answer(line) for line in shown.splitlines()]


def _answer(line: str) -> FstPath:
    source, cost, target = line.split("\t")
    return FstPath(tuple(map(int, source.split())), tuple(map(int, target.split())), -float(cost))


def _written(numbers: Numbers) -> str:
    return " ".join(map(str, numbers))


def _run(folder: Path, program: str, *arguments: str) -> str:
    """Subprocess output. Raises `NsedError` with the program's own last words where it fails or cannot be started."""
    home = _home()
    path = home / "bin" / platform.machine() / program
    try:
        done = subprocess.run(
            [path, *arguments], cwd=folder, env=_environment(home), capture_output=True, text=True, check=False
        )
    except OSError as error:
        machine = f"{platform.system()} {platform.machine()}"
        raise NsedError(
            f"{program} of the package phonetisaurus cannot be run on {machine}: {error.strerror}"
        ) from None
    if done.returncode:
        said = " ".join(done.stderr.split())[-300:]
        raise NsedError(f"{program} of the package phonetisaurus failed with status {done.returncode}: {said}")
    return done.stdout


def _environment(home: Path) -> Mapping[str, str]:
    return {**os.environ, "LD_LIBRARY_PATH": str(home / "lib" / platform.machine())}


def _home() -> Path:
    found = find_spec("phonetisaurus")
    if found is None or not found.submodule_search_locations:
        raise MissingExtraError("phonetisaurus", extra="align")
    return Path(found.submodule_search_locations[0])


@dataclass(frozen=True)
class PhonetisaurusConfig(StringConfig):
    """Phonetisaurus hyperparameters; the defaults are its own.

    >>> PhonetisaurusConfig(order=0)
    Traceback (most recent call last):
    nsed.errors.ConfigError: PhonetisaurusConfig: 1 fault - order: got 0, expected at least 1 and at most 100
    """

    model: Literal["phonetisaurus"] = "phonetisaurus"
    """The kind of model that these settings are for."""
    order: int = bounded(8, low=1, most=100)
    """N-gram order: length of the n-grams."""
    longest_source: int = bounded(2, low=1, most=100)
    """Maximum source chunk: source symbols that are aligned as one, at most."""
    longest_target: int = bounded(2, low=1, most=100)
    """Maximum target chunk: target symbols that are aligned as one, at most."""
    beam: int = bounded(10000, low=1, most=WIDEST_BEAM)
    """Beam width: how many states are followed at once, where nobody asks for another number."""


class Phonetisaurus(TransducingModel):
    """Phonetisaurus transducer (FST), made by the programs of the package `phonetisaurus` (extra `align`).

    Log-probabilities are joint, of source and target along their best path, as the programs give them.

    >>> from nsed.baselines import Phonetisaurus, PhonetisaurusConfig
    >>> words = [("cab", "K AE B"), ("back", "B AE K"), ("bat", "B AE T"), ("tack", "T AE K"), ("act", "AE K T")]
    >>> model = Phonetisaurus.fit(words * 5, config=PhonetisaurusConfig(target_symbols="tokens", order=3))
    >>> model.transduce(["cat"])[0][0].text
    'K AE T'
    """

    configs: ClassVar[Mapping[str, type[PhonetisaurusConfig]]] = {"phonetisaurus": PhonetisaurusConfig}
    config: PhonetisaurusConfig
    capabilities = frozenset({Capability.TRANSDUCE})
    widest_beam = WIDEST_BEAM

    def __init__(self, fst: bytes, tokenizers: Tokenizers, config: PhonetisaurusConfig) -> None:
        self.fst, self.tokenizers, self.config = fst, tokenizers, config

    @classmethod
    def fit(
        cls,
        pairs: PairsLike,
        labels: Iterable[object] | None = None,
        *,
        validation: PairsLike | None = None,
        config: ConfigLike | None = None,
        **settings: Any,
    ) -> "Phonetisaurus":
        """Train on pairs, with labels on the positive ones; there is nothing to validate."""
        positives = Pairs.of(pairs, labels).positives()
        resolved = resolve_settings(cls.configs, config, settings, pairs=positives)
        assert isinstance(resolved, PhonetisaurusConfig)
        tokenizers = Tokenizers.learned(resolved, positives)
        rows = [_numbered(tokenizers, source, target) for source, target in positives]
        full = [row for row in rows if all(row)]
        if not full:
            raise ArgumentError("pairs", got="no pair with symbols on both sides", expected="at least one")
        sizes = {"longest_source": resolved.longest_source, "longest_target": resolved.longest_target}
        return cls(train_fst(full, order=resolved.order, **sizes), tokenizers, resolved)

    def _transduce(
        self, sources: list[str], *, nbest: int, beam: int | None, on_batch: OnBatch
    ) -> list[list[Transduction]]:
        """N-best targets of each source, best first; none for a source without a known symbol."""
        asked = [tuple(number for number in row if number != UNKNOWN) for row in self._numbers(sources)]
        found: dict[tuple[int, ...], list[Transduction]] = {}
        different = [row for row in dict.fromkeys(asked) if row]
        for answer in apply_fst(self.fst, different, nbest=nbest, beam=beam or self.config.beam) if different else ():
            found.setdefault(answer.source, []).append(self._read(answer.target, answer.log_prob))
        on_batch(len(sources))
        return [list(found.get(row, ())) for row in asked]

    def score(self, pairs: PairsLike, targets: Column | None = None, *, on_batch: OnBatch = ignore) -> np.ndarray:
        """No scores: raises `NotExplainableError`, since the programs find targets, they do not weigh given ones."""
        self._refuse("score")

    def contents(self, *, half: bool = False) -> Contents:
        """See `Model.contents`: the automaton."""
        return Contents(self.tokenizers.vocabularies, {"fst": torch.tensor(np.frombuffer(self.fst, dtype=np.uint8))})

    @classmethod
    def from_saved(cls, saved: SavedModel) -> "Phonetisaurus":
        """See `Model.from_saved`."""
        config = cls.saved_config(saved)
        assert isinstance(config, PhonetisaurusConfig)
        return cls(saved.tensors["fst"].numpy().tobytes(), Tokenizers.of(config, saved.vocabularies), config)

    def _numbers(self, sources: list[str]) -> list[list[int]]:
        """Symbol numbers of each source; a warning names those that are new."""
        encoded = self.tokenizers.source.encode(sources)
        return [row.tolist() for row in np.split(encoded.flat, encoded.starts[1:-1])] if sources else []

    def _read(self, numbers: tuple[int, ...], log_prob: float) -> Transduction:
        tokenizer: Tokenizer = self.tokenizers.target
        symbols = tuple(tokenizer.vocabulary.names[number] for number in numbers)
        return Transduction(tokenizer.splitter.join(symbols), symbols, log_prob)

    def _refuse(self, what: str) -> NoReturn:
        raise NotExplainableError(f"{self.kind}: this baseline writes targets; it has no {what} of given pairs")


def _numbered(tokenizers: Tokenizers, source: str, target: str) -> tuple[list[int], list[int]]:
    sides = (tokenizers.source, source), (tokenizers.target, target)
    one, other = (tokenizer.vocabulary.encode(tokenizer.split(text)) for tokenizer, text in sides)
    return one, other
