"""The Matcher with a network: whether two strings belong together, by all ways to edit one into the other."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nsed_lite.encoders import SourceEncoder
from nsed_lite.features import Half, PairFeatures
from nsed_lite.folder import Folder
from nsed_lite.lattice import Lattice, entered
from nsed_lite.model import Criterion, Model, Strings, languages_of
from nsed_lite.packed import Packed
from nsed_lite.symbols import END, tokenizers


class Matcher(Model):
    """Matcher: its score is log alpha_{n,m}, at most 0, which is certain to match."""

    def __init__(self, folder: Folder) -> None:
        config, weights = folder.config, folder.weights
        self.source, self.target = tokenizers(config, folder.vocabularies)
        self.languages = tuple(folder.vocabularies.get("languages", ()))
        self.source_encoder = SourceEncoder(weights, "source_encoder", config["encoder"])
        shared = config.get("shared_alphabet", False)
        name = "source_encoder" if shared else "target_encoder"
        self.target_encoder = SourceEncoder(weights, name, config["encoder"])
        self.features = PairFeatures(weights, config)
        self.criterion = Criterion.of(folder.record["threshold"], *folder.record["calibration"])
        weights.check_all_taken()

    def lattices(
        self, sources: Strings, targets: Strings, languages: Any = None, tables: Any = None
    ) -> tuple[Lattice, np.ndarray]:
        """See `Model.lattices`."""
        n, m = np.array([len(one) for one in sources]), np.array([len(one) for one in targets])
        given = languages if languages is not None else [("", "")] * len(sources)
        of_source, i = self._half(self.source_encoder, sources, [one for one, _ in given])
        of_target, j = self._half(self.target_encoder, targets, [other for _, other in given], is_source=False)
        cells = np.broadcast_arrays(i[:, None], j[None])  # rows, columns, pairs
        scores = self.features.scores(of_source, of_target, *(part.ravel() for part in cells))
        lattice = Lattice(_incoming(scores.reshape(*cells[0].shape, 4).astype(float)), n, m)
        return lattice, lattice.log_prob

    def _half(
        self, encoder: SourceEncoder, strings: Strings, languages: Sequence[str], *, is_source: bool = True
    ) -> tuple[Half, np.ndarray]:
        """Half of the features of strings, and where each place, a row, of each string, a column, stands in it."""
        order = sorted(range(len(strings)), key=lambda row: -len(strings[row]))
        packed = Packed([[*strings[row], END] for row in order])
        category = languages_of(self.languages, [languages[row] for row in order]) if self.languages else None
        vectors = encoder(packed, category)
        places = packed.padded(np.arange(len(vectors))).T
        half = self.features.of_source(vectors) if is_source else self.features.of_target(vectors)
        return half, places[:, np.argsort(order)]


def _incoming(scores: np.ndarray) -> np.ndarray:
    """Log-probabilities of the arcs into each cell, which compete with each other and with the non-match class.

    That is scored where a cell's substitution starts, on the borders where its only arc starts.
    """
    delete, insert, substitute, non_match = np.moveaxis(scores, -1, 0)
    rows, columns = (np.maximum(np.arange(size) - 1, 0) for size in non_match.shape[:2])
    arcs, rival = entered(delete, insert, substitute), non_match[rows[:, None], columns]
    everything = np.concatenate([arcs, rival[None]])
    top = everything.max(0)
    return np.asarray(arcs - top - np.log(np.exp(everything - top).sum(0)))
