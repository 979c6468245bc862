"""Sound correspondences: which sounds of two languages stand in the same places of cognate words, and how often.

Each two words of a cognate set and of two languages are aligned by a model; what counts is the posterior of an
operation, over all alignments. Counts are expected ones, so that a doubtful alignment counts by how probable it is.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import torch

from nsed.capabilities import Capability, can
from nsed.datasets.word_list import Word
from nsed.errors import ArgumentError
from nsed.explain.rules import HasLattices, Numbered, uses_of, with_edges
from nsed.jobs.cognate_sets import GAP, CognateSet
from nsed.jobs.word_clusters import as_learned
from nsed.progress import OnBatch, ignore
from nsed.text import Pairs

LEAST = 2.0
"""Expected count from which on a correspondence is listed: once is no pattern."""
EXAMPLES = 3
"""Concepts at most that show a correspondence, those where it is most probable."""
NEGLIGIBLE = 0.01
"""Posterior below which an operation of a pair is left out."""


class Correspondence(NamedTuple):
    """Sounds of two languages that correspond, `-` where one has none.

    >>> one = Correspondence("Dutch", "German", "t", "s", expected=3.8, share=0.95, words=4, concepts=("foot", "water"))
    >>> f"{one.language_a} {one.sound_a} : {one.language_b} {one.sound_b}", one.concepts
    ('Dutch t : German s', ('foot', 'water'))
    """

    language_a: str
    language_b: str
    sound_a: str
    sound_b: str
    expected: float
    """Expected number of places in cognate words, the sum of posteriors."""
    share: float
    """Share of all that the first sound corresponds to in the other language; of insertions, of all insertions."""
    words: int
    """Pairs of words in which it is more probable than not."""
    concepts: tuple[str, ...]
    """Examples: concepts in whose words it is most probable."""


class CognatePairs(NamedTuple):
    """Pairs of cognate words of two languages, in the order of the languages."""

    pairs: Pairs
    languages: list[tuple[str, str]]
    """The different pairs of languages."""
    of_pair: np.ndarray
    """Which of them each pair of words is of."""
    concepts: list[str]


def cognate_pairs(words: Sequence[Word], sets: Iterable[CognateSet]) -> CognatePairs:
    """Each two words of a set and of two languages, the language that occurs first in the list first."""
    order = {language: number for number, language in enumerate(dict.fromkeys(word.language for word in words))}
    known: dict[tuple[str, str], int] = {}
    rows = []
    for one in sets:
        members = sorted((words[place] for place in one.places), key=lambda word: order[word.language])
        for a, b in combinations(members, 2):
            if a.language != b.language:
                rows.append((a, b, known.setdefault((a.language, b.language), len(known))))
    if not rows:
        raise ArgumentError("words", got="no two words of one set", expected="cognate sets of several languages")
    first, second, of_pair = zip(*rows, strict=True)
    languages = [[word.language for word in side] for side in (first, second)]
    pairs = Pairs([word.tokens for word in first], [word.tokens for word in second], None, languages[0], languages[1])
    return CognatePairs(pairs, list(known), np.array(of_pair), [word.concept for word in first])


def sound_correspondences(
    model: Any,
    words: Sequence[Word],
    sets: Iterable[CognateSet],
    *,
    least: float = LEAST,
    on_batch: OnBatch = ignore,
) -> list[Correspondence]:
    """Sound correspondences of each two languages, in the order of the list, the most frequent first.

    Sounds are the symbols of the model; white space, a symbol of some, is none. Raises `ArgumentError` for sets
    without two words of two languages, and for a model that has no lattices.

    >>> import nsed
    >>> words = [Word("Dutch", "foot", "v u t", "1"), Word("German", "foot", "f u s", "1"),
    ...          Word("Dutch", "water", "w a t e r", "2"), Word("German", "water", "v a s e r", "2")]
    >>> pairs = [(words[0].tokens, words[1].tokens), (words[2].tokens, words[3].tokens)]
    >>> model = nsed.LearnableEditDistance.fit(pairs, source_symbols="tokens", target_symbols="tokens")
    >>> found = sound_correspondences(model, words, [CognateSet(1, [0, 1]), CognateSet(2, [2, 3])], least=1.5)
    >>> [(one.sound_a, one.sound_b, round(one.expected), one.concepts) for one in found]
    [('t', 's', 2, ('foot', 'water'))]
    """
    if not (isinstance(model, HasLattices) and can(model, Capability.RULES)):
        got = f"a {type(model).__name__}, which aligns nothing"
        raise ArgumentError("model", got=got, expected="a matcher, an edit distance or a transducer")
    known = cognate_pairs(words, sets)
    known = known._replace(pairs=as_learned(model, known.pairs))
    source = Numbered.of(model.tokenizers.source, list(known.pairs.sources))
    target = Numbered.of(model.tokenizers.target, list(known.pairs.targets))
    counts = _Counts(known, source, target)
    with torch.no_grad():
        for batch, lattice in model.lattices(known.pairs):
            rows = batch.rows.cpu().numpy()
            framed = with_edges(source.strings.padded(rows).numpy(), source.strings.lengths[rows])
            uses = uses_of(lattice, framed, target.strings.padded(rows).numpy())
            counts.add(uses.source, uses.target, rows[uses.pair], uses.weight)
            on_batch(len(rows))
    return [one for one in counts.listed() if one.expected >= least]


class _Counts:
    """Expected counts of the operations of pairs of languages, filled batch by batch."""

    def __init__(self, known: CognatePairs, source: Numbered, target: Numbered) -> None:
        self._known, self._names = known, (source.vocabulary.names, target.vocabulary.names)
        self._sounds = [np.array([not name.isspace() for name in names]) for names in self._names]
        self._parts: list[np.ndarray] = []

    def add(self, source: np.ndarray, target: np.ndarray, pair: np.ndarray, weight: np.ndarray) -> None:
        """Add operations with their posteriors, and the rows of their pairs."""
        kept = (weight > NEGLIGIBLE) & self._sounds[0][source] & self._sounds[1][target]
        columns = (self._known.of_pair[pair], source, target, pair, weight)
        self._parts.append(np.stack([column[kept].astype(float) for column in columns]))

    def listed(self) -> Iterator[Correspondence]:
        """Correspondences by pair of languages, the most frequent first."""
        languages, source, target, pair, weight = np.concatenate(self._parts, axis=1)
        keys, group = np.unique(np.stack([languages, source, target]).astype(np.int64), axis=1, return_inverse=True)
        group = group.reshape(-1)
        counts = np.bincount(group, weight)
        _, of_sound = np.unique(keys[:2], axis=1, return_inverse=True)
        shares = counts / np.bincount(of_sound.reshape(-1), counts)[of_sound.reshape(-1)]
        in_words = np.unique(np.stack([group, pair.astype(np.int64)])[:, weight > 0.5], axis=1)[0]
        likely = np.bincount(in_words, minlength=len(counts))
        by_group = np.lexsort((pair, -weight, group))
        starts = np.searchsorted(group[by_group], np.arange(len(counts) + 1))
        for number in np.lexsort((keys[2], keys[1], -counts, keys[0])).tolist():
            rows = pair[by_group[starts[number] : starts[number + 1]]].astype(np.int64)
            yield self._made(keys[:, number], float(counts[number]), float(shares[number]), int(likely[number]), rows)

    def _made(self, key: np.ndarray, count: float, share: float, words: int, rows: np.ndarray) -> Correspondence:
        one, other = (self._names[side][key[1 + side]] if key[1 + side] else GAP for side in (0, 1))
        shown = dict.fromkeys(self._known.concepts[row] for row in rows[: 4 * EXAMPLES].tolist())
        a, b = self._known.languages[key[0]]
        return Correspondence(a, b, one, other, count, share, words, tuple(shown)[:EXAMPLES])
