"""Training a Transducer: its loss, and error rates on validation words."""

from collections.abc import Mapping

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from nsed.lattice import EditLattice
from nsed.models.transducer_config import TransducerConfig
from nsed.models.transduction import Sides, error_rates
from nsed.networks.incoming import Incoming, next_symbol_distribution
from nsed.networks.losses import distortion_loss, em_loss, likelihood_loss, next_symbol_nll, real_cells
from nsed.networks.operations import Normalisation
from nsed.networks.outgoing import Outgoing
from nsed.networks.transducer import Decoder, TransducerNetwork
from nsed.registry import Registry
from nsed.text import PairBatch
from nsed.text.batch import PairTable
from nsed.train.task import SLICE_CELLS, Batch, Task

NORMALISATIONS: Registry[Normalisation] = Registry("normalisation")
NORMALISATIONS.register("outgoing", Outgoing())
NORMALISATIONS.register("incoming", Incoming())


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
        """See `error_rates`."""
        return error_rates(Decoder(self.network, self.normalisation), self.config, self.validation)


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
