"""Training hyperparameters, the precision of matrix products, and the recipe: settings that nobody has to give.

The recipe of a Transducer chooses from the pairs and the device. Its tables say what is best for some numbers of pairs;
for a number between two of them, steps and dropout lie between theirs, and the rest is that of the nearer one.
`results/recipes.json` has the trials behind them, also those that did not help.
"""

import math
from bisect import bisect_left
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

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
    """Why these settings were chosen, where they follow from the pairs (`nsed.train.config.recipe_for`); the training
    writes this."""


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


class RecipeRow(NamedTuple):
    """Settings for one number of pairs."""

    pairs: int
    dim: int
    """Encoder dimension."""
    batch_pairs: int
    steps: int
    rate: float
    """Learning rate, at its highest: few steps need a higher one."""
    dropout: float
    """Dropout rate of encoders."""
    features: float
    """Dropout rate of pair features."""
    hidden: float
    """Share of the symbols that are hidden in training."""
    average: float
    """Decay of the moving average of the weights; where the learning rate comes to its end soon, it changes nothing."""
    minutes: float
    """Minutes at most, or 0 where it is over before one would mind; two idle cores are done in about half of them."""


ON_CPU = (
    RecipeRow(100, 128, 16, 300, rate=5e-3, dropout=0.5, features=0.1, hidden=0, average=0, minutes=0),
    RecipeRow(800, 128, 32, 1200, rate=3e-3, dropout=0.3, features=0.3, hidden=0, average=0, minutes=0),
    RecipeRow(2_500, 128, 64, 1200, rate=1e-3, dropout=0.3, features=0.1, hidden=0, average=0, minutes=2.7),
    RecipeRow(8_000, 128, 64, 3000, rate=1e-3, dropout=0.25, features=0.1, hidden=0, average=0.99, minutes=10),
    RecipeRow(30_000, 192, 128, 5000, rate=1e-3, dropout=0.2, features=0.2, hidden=0.05, average=0.995, minutes=40),
    RecipeRow(100_000, 256, 256, 8000, rate=1e-3, dropout=0.1, features=0.2, hidden=0.05, average=0.999, minutes=120),
)
ON_GPU = (
    RecipeRow(100, 128, 16, 300, rate=5e-3, dropout=0.5, features=0.1, hidden=0, average=0, minutes=0),
    RecipeRow(800, 256, 32, 1200, rate=2e-3, dropout=0.3, features=0.3, hidden=0, average=0, minutes=0),
    RecipeRow(2_500, 256, 64, 1200, rate=1e-3, dropout=0.3, features=0.3, hidden=0.05, average=0, minutes=2.7),
    RecipeRow(12_000, 256, 256, 3000, rate=1e-3, dropout=0.3, features=0.3, hidden=0.1, average=0.995, minutes=10),
    RecipeRow(100_000, 256, 512, 16_000, rate=1e-3, dropout=0.1, features=0.2, hidden=0.05, average=0.9995, minutes=60),
)
"""Above 8,000 pairs, and on a GPU, nothing was tried for this: `configs/g2p-cmudict` and `configs/translit-ar2en` are
where these rows come from."""
VALIDATIONS, PATIENCE, PERFECT = 20, 12, 3
"""Validations of a training, how many of them may pass without improvement, and without a mistake, before it ends."""
VERY_FEW, FEW = 100, 500
"""Validation words below which a validation without mistakes says little, and below which the last weights are kept and
no patience is lost: fewer cannot tell which weights are better."""
USUAL_CELLS = 150
"""Lattice cells of a pair, as words have; pairs with many more come in smaller batches."""
THREADED = 128
"""Pairs in a batch from which on several threads are worth their while: below, they mostly wait for one another."""
LONGER = 10
"""With minutes given, the steps are so many times those of the table, and the minutes decide."""


class Recipe(NamedTuple):
    """Settings by their dotted names, and a line that says why."""

    settings: dict[str, Any]
    reason: str


def recipe_for(
    pairs: int,
    lengths: tuple[float, float],
    *,
    validated: int,
    gpu: bool,
    named: Collection[str] = (),
    steps: int | None = None,
    minutes: float | None = None,
) -> Recipe:
    """Recipe for so many pairs of this mean length in symbols, `validated` with so many; without what is `named`.

    Where the steps are given, warm-up and validations follow from them, and all are done; minutes that are given are
    filled with more steps than the table has.

    >>> recipe_for(800, (8, 7), validated=40, gpu=False, named={"encoder.dim"}).reason
    '800 pairs of 8.0 and 7.0 symbols on a CPU: 1,200 steps, 32 pairs at a time, learning rate 0.003, dropout 0.3'
    """
    row = _between(ON_GPU if gpu else ON_CPU, pairs)
    row = row._replace(steps=steps or row.steps)
    settings = _sizes(row, lengths) | _validations(row, validated)
    settings["train.threads"] = 1 if settings["train.batch_pairs"] < THREADED and not gpu else 0
    if minutes and not steps:
        settings["train.steps"] *= LONGER
    given = {*named, *(["train.minutes"] if steps else [])}
    own = {name: value for name, value in settings.items() if name not in given}
    place = "GPU" if gpu else "CPU"
    why = f"{pairs:,} pairs of {lengths[0]:.1f} and {lengths[1]:.1f} symbols on a {place}"
    until = f", fewer where {minutes:g} minutes are over" if minutes and not steps else ""
    return Recipe(own, f"{why}: {_said(own)}{until}")


def _sizes(row: RecipeRow, lengths: tuple[float, float]) -> dict[str, Any]:
    """How large the network is, how much is dropped, and how long it learns from how many pairs at a time."""
    shorter = max(1, round(math.prod(length + 1 for length in lengths) / USUAL_CELLS))
    return {
        "encoder.dim": row.dim,
        "encoder.dropout": row.dropout,
        "feature_dropout": row.features,
        "encoder.hidden": row.hidden,
        "train.steps": row.steps,
        "train.batch_pairs": max(4, row.batch_pairs // shorter),
        "train.minutes": row.minutes,
        "train.learning_rate": row.rate,
        "train.warmup": min(400, max(1, row.steps // 10)),
        "train.average": row.average,
    }


def _validations(row: RecipeRow, validated: int) -> dict[str, Any]:
    """How often it is validated, when it ends before its time, and which weights are kept."""
    return {
        "train.validate_every": max(1, row.steps // VALIDATIONS),
        "train.patience": PATIENCE if validated >= FEW else VALIDATIONS * LONGER,
        "train.perfect": PERFECT if validated >= VERY_FEW else 0,
        "train.keep": "last" if validated < FEW else "best",
    }


def _between(rows: tuple[RecipeRow, ...], pairs: int) -> RecipeRow:
    """RecipeRow for any number of pairs; beyond the table, its ends."""
    above = bisect_left([row.pairs for row in rows], pairs)
    if above in (0, len(rows)):
        return rows[min(above, len(rows) - 1)]
    low, high = rows[above - 1], rows[above]
    share = math.log(pairs / low.pairs) / math.log(high.pairs / low.pairs)
    nearer = high if share > 0.5 else low
    between = {
        name: round(getattr(low, name) + share * (getattr(high, name) - getattr(low, name)), 4)
        for name in ("rate", "dropout", "features", "hidden")
    }
    return nearer._replace(steps=round(low.steps + share * (high.steps - low.steps)), **between)


def _said(settings: dict[str, Any]) -> str:
    """Those of the settings that tell most, in words; what was given by name is no part of them."""
    words = {
        "encoder.dim": "{} dimensions",
        "train.steps": "{:,} steps",
        "train.batch_pairs": "{} pairs at a time",
        "train.learning_rate": "learning rate {:g}",
        "encoder.dropout": "dropout {:.2g}",
        "train.minutes": "at most {} minutes",
    }
    return ", ".join(word.format(settings[name]) for name, word in words.items() if settings.get(name))
