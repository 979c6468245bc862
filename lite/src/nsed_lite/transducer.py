"""The Transducer: its network, as a decoder that writes targets and as lattices of given ones, and the model."""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from nsed_lite.columns import Column, Incoming, Memory, Opened, Outgoing
from nsed_lite.encoders import SourceEncoder, State, TargetEncoder
from nsed_lite.features import Half, PairFeatures
from nsed_lite.folder import Folder, Weights
from nsed_lite.lattice import REACHABLE, Lattice, turned_arcs
from nsed_lite.layers import Seen
from nsed_lite.model import SearchingModel, languages_of
from nsed_lite.packed import Packed
from nsed_lite.search import writable
from nsed_lite.symbols import END, PAD, SPECIALS, START, tokenizers


class Source(NamedTuple):
    """Encoded sources, the longest first, ready for any number of targets."""

    strings: Packed
    half: Half
    seen: list[Seen]
    """What each layer of the target's encoder may look at."""
    seen_by_cells: Seen | None


class Hypotheses(NamedTuple):
    """Prefixes under way, a row each, in the order of their words; what several have in common is kept once."""

    source: Source
    words: np.ndarray
    nodes: np.ndarray
    """Which of the different prefixes each row has."""
    half: Half
    state: State
    memory: Memory
    symbols: np.ndarray


class TransducerNetwork:
    """Two encoders, pair features, and one of two normalisations of what happens in a cell."""

    def __init__(self, weights: Weights, config: Mapping[str, Any]) -> None:
        self.source_encoder = SourceEncoder(weights, "source_encoder", config["encoder"])
        self.target_encoder = TargetEncoder(weights, "target_encoder", config["encoder"])
        self.features = PairFeatures(weights, config)
        symbols, exact = (self.features.classes - 1) // 2, config["normalisation"] == "outgoing"
        self.normalisation: Outgoing | Incoming = Outgoing(symbols) if exact else Incoming(symbols)

    @property
    def longest(self) -> int | None:
        """Target symbols at most; None for any number."""
        return self.target_encoder.embedding.longest

    def encode(self, sources: Sequence[Sequence[int]], category: np.ndarray | None = None) -> Source:
        """Encoded sources, which are in order, the longest first; `category` is the language of each."""
        strings = Packed([[*source, END] for source in sources])
        vectors, attention = self.source_encoder(strings, category), self.features.attention
        looking = bool(self.target_encoder.looking) or attention is not None
        padded = strings.padded(vectors) if looking else vectors
        seen = self.target_encoder.see(padded, strings.real) if looking else []
        by_cells = attention.see(padded, strings.real) if attention is not None else None
        return Source(strings, self.features.of_source(vectors), seen, by_cells)

    def begin(self, source: Source) -> Hypotheses:
        """See `Decoder.begin`."""
        count = len(source.strings.lengths)
        words, alike = np.arange(count), not (source.seen or source.seen_by_cells)
        nodes, state = np.zeros(count, dtype=np.int64), self.target_encoder.begin()
        memory = self.normalisation.begin((source.strings.width, count))
        start = np.full(1 if alike else count, START)
        empty = Hypotheses(source, words, nodes, source.half, state, memory, np.zeros((count, 0), dtype=np.int64))
        return self._read(empty, start, nodes[: len(start)], nodes if alike else words)

    def expand(self, hypotheses: Hypotheses) -> tuple[np.ndarray, tuple[Hypotheses, Opened]]:
        """See `Decoder.expand`: the one new column of each hypothesis."""
        opened = self.normalisation.open(self.column(hypotheses), hypotheses.memory)
        return writable(opened.written.copy()), (hypotheses, opened)

    def continued(self, expanded: tuple[Hypotheses, Opened], rows: np.ndarray, symbols: np.ndarray) -> Hypotheses:
        """See `Decoder.continued`."""
        before, opened = expanded
        words = before.words[rows]
        height = before.source.strings.lengths[words].max(initial=1)  # the longest sources may be done
        memory = self.normalisation.close(opened, rows, symbols)
        kept = tuple(part[:height] if part.ndim > 1 else part for part in memory)
        chosen = before._replace(words=words, nodes=before.nodes[rows], memory=kept, symbols=before.symbols[rows])
        return self._with(chosen, symbols)

    def tables(self, source: Source, targets: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
        """Arcs of the lattices of sources with one target each, and log-probabilities of the targets' ends."""
        m = np.array([len(target) for target in targets])
        padded = np.full((len(targets), m.max(initial=0) + 1), PAD)  # what follows an end is never looked at
        for row, target in enumerate(targets):
            padded[row, : len(target)] = target
        hypotheses, tables = self.begin(source), []
        for symbols in padded.T:
            tables.append(self.normalisation.leaving(self.column(hypotheses), symbols))
            if len(tables) <= m.max():
                hypotheses = self._with(hypotheses, symbols)
        by_column = np.stack([np.stack(few) for few in tables], axis=2)
        return self.normalisation.arcs(by_column, source.strings.lengths - 1, m)

    def column(self, hypotheses: Hypotheses) -> Column:
        """Class scores in the newest column of each hypothesis."""
        source, words = hypotheses.source, hypotheses.words
        lengths = source.strings.lengths[words]
        real = np.arange(lengths.max(initial=1))[:, None] < lengths
        starts = np.concatenate([[0], np.cumsum(real.sum(1))])
        rows, cells = np.nonzero(real)
        places = np.where(real, starts[:-1, None] + np.arange(len(words)), 0)
        of_source = source.strings.starts[rows] + words[cells]
        scores = self.features.scores(source.half, hypotheses.half, of_source, hypotheses.nodes[cells])
        return Column(scores, starts, places, real)

    def _with(self, hypotheses: Hypotheses, symbols: np.ndarray) -> Hypotheses:
        """Hypotheses with one symbol more, of which their `memory` knows already."""
        source, classes = hypotheses.source, self.normalisation.symbols
        written = np.concatenate([hypotheses.symbols, symbols[:, None]], axis=1)
        hypotheses = hypotheses._replace(symbols=written)
        if source.seen or source.seen_by_cells:  # each prefix looks at its own source
            return self._read(hypotheses, symbols, hypotheses.nodes, np.arange(len(symbols)))
        keys, nodes = np.unique(hypotheses.nodes * classes + symbols, return_inverse=True)
        before, different = np.divmod(keys, classes)
        return self._read(hypotheses, different, before, nodes)

    def _read(self, before: Hypotheses, symbols: np.ndarray, rows: np.ndarray, nodes: np.ndarray) -> Hypotheses:
        """Hypotheses whose prefixes are the `nodes` of those that prefixes `rows` of the old ones make with symbols."""
        source, state, time = before.source, tuple(part[rows] for part in before.state), before.symbols.shape[1]
        words = before.words[: len(symbols)]
        vectors, state = self.target_encoder.step(symbols, time, state, source.seen, words)
        own = None if source.seen_by_cells is None else Seen(*(part[words] for part in source.seen_by_cells))
        return before._replace(nodes=nodes, half=self.features.of_target(vectors, own), state=state)


class Transducer(SearchingModel):
    """Transducer: sources to targets, with log p(target | source); in paper mode scores are log alpha."""

    def __init__(self, folder: Folder) -> None:
        config = folder.config
        self.source, self.target = tokenizers(config, folder.vocabularies)
        self.network = TransducerNetwork(folder.weights, config)
        self.languages = tuple(folder.vocabularies.get("languages", ()))
        self.language = folder.record.get("language")
        self._set_search(config, self.network.longest)
        if self.network.normalisation.symbols != SPECIALS + len(self.target.vocabulary):
            got, expected = self.network.normalisation.symbols, SPECIALS + len(self.target.vocabulary)
            raise ValueError(f"operations of {got} target symbols, expected {expected}, those of the vocabulary")
        self.backward = config.get("direction", "forward") == "backward"
        folder.weights.check_all_taken()

    def for_language(self, language: str) -> "Transducer":
        """The same Transducer, of several languages, for one of them."""
        if language not in self.languages:
            known = ", ".join(self.languages) or "none: the model was trained without languages"
            raise ValueError(f"language: got {language!r}, expected one of {known}")
        chosen = copy(self)
        chosen.language = language
        return chosen

    @property
    def decoder(self) -> TransducerNetwork:
        """See `SearchingModel.decoder`."""
        return self.network

    def encode(self, sources: Sequence[Sequence[int]], languages: Sequence[str] | None = None) -> Source:
        """See `SearchingModel.encode`."""
        if not self.languages:
            return self.network.encode(sources)
        if languages is None and self.language is None:
            known = ", ".join(self.languages)
            raise ValueError(f"language: got none, expected model.for_language(...), --language, with one of {known}")
        named = [str(self.language)] * len(sources) if languages is None else languages
        return self.network.encode(sources, languages_of(self.languages, named))

    def lattices(
        self, sources: Sequence[list[int]], targets: Sequence[list[int]], languages: Any = None, tables: Any = None
    ) -> tuple[Lattice, np.ndarray]:
        """See `Model.lattices`."""
        source = self.encode([self._turned(one) for one in sources], languages)
        arcs, end = self.network.tables(source, [self._turned(one) for one in targets])
        n, m = np.array([len(one) for one in sources]), np.array([len(one) for one in targets])
        lattice = Lattice(turned_arcs(arcs, n, m) if self.backward else arcs, n, m)
        scores = lattice.log_prob + end
        return lattice, np.where(scores <= REACHABLE, -np.inf, scores)
