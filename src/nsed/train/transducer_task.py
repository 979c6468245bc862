"""Training a Transducer: its loss, and error rates on validation words."""

from collections.abc import Mapping

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from nsed.evaluate import transduction_score
from nsed.lattice import EditLattice
from nsed.models.columns import Normalisation
from nsed.models.incoming import Incoming, next_symbol_distribution
from nsed.models.losses import distortion_loss, em_loss, likelihood_loss, next_symbol_nll, real_cells
from nsed.models.outgoing import Outgoing
from nsed.models.search import Decoder, greedy_search
from nsed.models.transducer import TransducerNetwork
from nsed.registry import Registry
from nsed.text import EncodedStrings, PairBatch
from nsed.text.string_table import PairTable
from nsed.train.task import SLICE_CELLS, Batch, Task
from nsed.train.transducer_config import TransducerConfig

NORMALISATIONS: Registry[Normalisation] = Registry("normalisation")
NORMALISATIONS.register("outgoing", Outgoing())
NORMALISATIONS.register("incoming", Incoming())

Sides = tuple[EncodedStrings, EncodedStrings]


class TransducerTask(Task):
    """Sources and targets as numbers, for training and for validation."""

    network: TransducerNetwork
    metric, higher_is_better = "wer", False

    def __init__(
        self,
        network: TransducerNetwork,
        config: TransducerConfig,
        training: Sides,
        validation: Sides,
        device: torch.device,
    ) -> None:
        self.network, self.config, self.device = network, config, device
        self.training, self.validation = training, validation
        self.most_cells = SLICE_CELLS[device.type]
        self._pairs = PairTable(*training, device)
        self.normalisation = NORMALISATIONS[config.normalisation]

    @property
    def sizes(self) -> np.ndarray:
        """See `Task.sizes`."""
        return self._pairs.sizes

    def widths(self, rows: np.ndarray, *, multiple: int = 1) -> tuple[int, int]:
        """See `Task.widths`."""
        return self._pairs.widths(rows, multiple=multiple)

    def batch(self, rows: Int[Tensor, " batch"], widths: tuple[int, ...]) -> Batch:
        """See `Task.batch`."""
        return self._pairs.batch(rows, widths)

    def loss(self, batch: Batch) -> Tensor:
        """See `Task.loss`."""
        return transducer_loss(self.network, self.config, PairBatch(*batch)).mean()

    def validate(self) -> Mapping[str, float]:
        """Error rates of greedy outputs; a word that occurs several times may be right in any of its ways."""
        outputs, references = greedy_outputs(self.network, self.config, self.validation, self.device)
        score = transduction_score(outputs, references)
        return {"wer": score.wer, "cer": score.cer}


def transducer_loss(network: TransducerNetwork, config: TransducerConfig, batch: PairBatch) -> Tensor:
    """The weighted terms, per pair."""
    normalisation = NORMALISATIONS[config.normalisation]
    lengths = (batch.source_lengths, batch.target_lengths)
    scores = network(network.encode(batch.source, batch.source_lengths), batch.target, batch.target_lengths)
    arcs, end = normalisation.weigh(scores, batch.target, lengths)
    lattice = EditLattice(*arcs, *lengths, validate=False)
    cells = real_cells(*lengths, arcs.delete)
    total = torch.zeros_like(lattice.log_prob)
    if config.likelihood:
        total = total + config.likelihood * likelihood_loss(lattice.log_prob + end)
    if config.em:
        total = total + config.em * em_loss(arcs, lattice, cells)
    if config.next_symbol:
        distribution = next_symbol_distribution(scores, lattice.log_alpha, batch.source_lengths)
        total = total + config.next_symbol * next_symbol_nll(distribution, batch.target, batch.target_lengths)
    if config.distortion:
        total = total + config.distortion * distortion_loss(lattice, *lengths, cells)
    return total


def longest_output(network: TransducerNetwork, config: TransducerConfig) -> int:
    """Target symbols at most: what the settings say, and what the target encoder has positions for."""
    return min(config.longest_output, network.target_encoder.longest or config.longest_output)


def greedy_outputs(
    network: TransducerNetwork, config: TransducerConfig, sides: Sides, device: torch.device
) -> tuple[list[list[int]], list[list[list[int]]]]:
    """Each different source's greedy output and all its references, as numbers."""
    sources, targets = sides
    by_source: dict[tuple[int, ...], list[list[int]]] = {}
    for row in range(len(sources)):
        by_source.setdefault(tuple(sources[row]), []).append(targets[row])
    words = sorted(by_source, key=len)
    decoder, outputs = Decoder(network, NORMALISATIONS[config.normalisation]), []
    for start in range(0, len(words), 1024):
        some = EncodedStrings(words[start : start + 1024])
        rows = np.arange(len(some))
        encoded = network.encode(some.padded(rows).to(device), torch.from_numpy(some.lengths).to(device))
        found = greedy_search(decoder, encoded, longest=longest_output(network, config))
        for symbols, length in zip(found.symbols[:, 0].tolist(), found.lengths[:, 0].tolist(), strict=True):
            outputs.append(symbols[:length])
    return outputs, [by_source[word] for word in words]
