"""Training hyperparameters, and the precision of matrix products while it runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import torch

from nsed.config import Config, bounded
from nsed.encoders import EncoderConfig
from nsed.text import AlphabetConfig

Precision = Literal["tf32", "fp32", "bf16"]


@contextmanager
def products_in(precision: Precision, device: torch.device) -> Iterator[None]:
    """Matrix product precision: while this lasts, products of fp32 matrices are computed so; afterwards as before."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest" if precision == "fp32" else "high")
    try:
        with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16", cache_enabled=False):
            yield
    finally:
        torch.set_float32_matmul_precision(before)


@dataclass(frozen=True)
class TrainConfig(Config):
    """Training hyperparameters. The paper's own settings: adam, 1e-4, plateau, validation every 50 steps."""

    optimiser: Literal["adam", "adamw"] = "adamw"
    """Optimiser: adam, or adamw with weight decay."""
    learning_rate: float = bounded(1e-3, low=0, most=1e3)
    """Learning rate, at its highest."""
    weight_decay: float = bounded(0.01, low=0, most=1e3)
    """Weight decay, of adamw."""
    schedule: Literal["cosine", "plateau", "constant"] = "cosine"
    """Learning-rate schedule; cosine: to zero at the last step; plateau: times `decay` when validation stands still."""
    warmup: int = bounded(400, low=0, most=10**9)
    """Warm-up steps, in which the learning rate rises from zero; at most a quarter of all."""
    decay: float = bounded(0.7, low=0, high=1)
    """Learning-rate factor of the plateau schedule."""
    decay_patience: int = bounded(2, low=1, most=10**9)
    """Plateau patience: validations without improvement before a decay."""
    most_decays: int = bounded(10, low=1, most=10**9)
    """Learning-rate decays before the plateau schedule ends the training."""
    steps: int = bounded(10_000, low=1, most=10**9)
    """Updates at most."""
    minutes: float = bounded(0.0, low=0, most=1e6)
    """Minutes at most, the last validation included; 0 for no limit. The cosine schedule ends with them where they are
    over before the steps are."""
    batch_pairs: int = bounded(512, low=1, most=10**6)
    """Batch size: pairs in a batch."""
    accumulate: int = bounded(1, low=1, most=10**6)
    """Gradient accumulation: batches per update."""
    max_cells: int = bounded(2**18, low=1, most=2**34)
    """Maximum lattice cells of a pair, (n + 1)(m + 1): two strings of 511 symbols. A cell takes 400 bytes (matcher) to
    10,000 (transducer, without numba); batches of more cells than that are computed in slices."""
    clip: float = bounded(1.0, low=1e-9, most=1e9)
    """Gradient clipping: norm of the gradient at most."""
    average: float = bounded(0.0, low=0, high=1)
    """Exponential moving average of the weights: its decay; validated and kept instead of them; 0 for none."""
    validate_every: int = bounded(500, low=1, most=10**9)
    """Validation interval: steps between validations, each of which saves the model."""
    save_seconds: float = bounded(60.0, low=0, most=1e9)
    """Checkpoint interval: seconds after which the training saves itself between validations too; 0 for never. One on
    several devices saves itself at validations only."""
    patience: int = bounded(10, low=1, most=10**9)
    """Early stopping patience: validations without improvement before the training ends; not of `plateau`."""
    perfect: int = bounded(0, low=0, most=10**9)
    """Early stopping when all is learned: validations in a row without a single mistake before the training ends; 0:
    goes on."""
    keep: Literal["best", "last"] = "best"
    """Model selection: the weights of the best validation, or those of the last one, where the validation pairs are too
    few to tell which is better."""
    logger: Literal["none", "tensorboard", "wandb"] = "none"
    """Experiment logger: where curves go beside curves.csv, with a run folder; tensorboard needs the extra `train`."""
    seed: int = bounded(0, low=0, most=2**63 - 1)
    """Random seed: another number gives other initial weights and another order of the data."""
    device: str = "auto"
    """Device: auto (a GPU if there is one), cpu, cuda, cuda:1, ..."""
    devices: int = bounded(1, low=1, most=1024)
    """Data parallelism: GPUs (with device: cpu, processes) that share every batch; above 1 needs the extra `train`."""
    threads: int = bounded(0, low=0, most=1024)
    """CPU threads; 0: as many as torch has. Small batches are faster with one, where other programs run too. With 1,
    weights are the same, bit for bit, in every run on one machine, however many cores it has."""
    precision: Precision = "tf32"
    """Precision of matrix products: fp32, tf32 (GPU only, several times faster) or bf16; the lattice is in fp32."""
    cuda_graph: bool = True
    """CUDA graphs: on a GPU, record each shape of a batch once and replay it: much faster for small networks."""
    recipe: str = ""
    """Why these settings were chosen, where they follow from the pairs (`nsed.train.recipe`); the training writes
    this."""


class NetworkConfig(AlphabetConfig):
    """The settings of any model with a network. Abstract: the models' settings have these fields themselves."""

    @property
    def encoder(self) -> EncoderConfig:
        """Encoder hyperparameters: how much of its string a symbol knows."""
        raise NotImplementedError  # a field of the settings themselves

    @property
    def train(self) -> TrainConfig:
        """Training hyperparameters: how the network is trained."""
        raise NotImplementedError  # a field of the settings themselves
