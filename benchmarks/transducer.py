"""A whole update of a Transducer on a CPU, against the published design: `python -m benchmarks.transducer`.

The published design, written by us: features of every cell made from concatenations, all classes normalised in every
cell, and a loop over the cells. Encoders, sizes and loss are the same; 512 pairs of 9 x 8 symbols, as in CMUDict.
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from benchmarks import cell_loop
from benchmarks.timing import compare, save
from nsed.encoders import EncoderConfig
from nsed.models.delimiters import with_end, with_start
from nsed.models.op_scores import TargetScores, entered, next_symbol
from nsed.models.outgoing import leaving_cells
from nsed.models.transducer import TransducerNetwork
from nsed.text import PairBatch
from nsed.text.vocabulary import END
from nsed.train import TransducerConfig
from nsed.train.transducer_task import transducer_loss

BATCH, N, M, DIM, SOURCE, TARGET = 512, 9, 8, 256, 31, 43
ENCODERS = ("unigram", "rnn")


def random_batch() -> PairBatch:
    """Pairs of full length."""
    generator = torch.Generator().manual_seed(0)
    source = torch.randint(4, SOURCE, (BATCH, N), generator=generator)
    target = torch.randint(4, TARGET, (BATCH, M), generator=generator)
    return PairBatch(torch.arange(BATCH), source, target, torch.full((BATCH,), N), torch.full((BATCH,), M))


def published_loss(network: TransducerNetwork, batch: PairBatch) -> Tensor:
    """The exact likelihood, cell by cell."""
    source = network.source_encoder(with_end(batch.source, batch.source_lengths), batch.source_lengths + 1)
    target = network.target_encoder(with_start(batch.target), batch.target_lengths + 1)
    rows, columns = source[:, :, None].expand(-1, -1, M + 1, -1), target[:, None].expand(-1, N + 1, -1, -1)
    weight = torch.cat([network.features.source.weight, network.features.target.weight], dim=1)
    bias = network.features.source.bias
    features = torch.nn.functional.linear(torch.cat([rows, columns], dim=-1), weight, bias).relu()
    scores = network.projection.linear(network.projection.norm(network.dropout(features)))
    leaving = leaving_cells(TargetScores(scores), batch.source_lengths)
    insert, substitute = (next_symbol(part, batch.target) for part in (leaving.insert, leaving.substitute))
    end = leaving.insert[:, N, M, END]
    return -(cell_loop.log_prob(entered(leaving.delete, insert, substitute)) + end)


def update(network: TransducerNetwork, loss: Callable[[], Tensor]) -> None:
    """Forward, backward, clipping and a step of the optimiser."""
    optimiser = torch.optim.AdamW(network.parameters(), lr=0.0)
    optimiser.zero_grad()
    torch.autograd.backward(loss().mean())
    torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
    optimiser.step()


def measure(kind: str) -> dict[str, object]:
    """Milliseconds of both; without dropout both losses must be the same."""
    torch.manual_seed(0)
    encoder = EncoderConfig(kind=kind, dim=DIM, layers=2, dropout=0.1)
    network = TransducerNetwork(encoder, source_symbols=SOURCE, target_symbols=TARGET, feature_dropout=0.1)
    batch, config = random_batch(), TransducerConfig(encoder=encoder)
    ours, theirs = partial(transducer_loss, network, config, batch), partial(published_loss, network, batch)
    network.eval()
    torch.testing.assert_close(ours(), theirs(), rtol=1e-3, atol=1e-3)
    network.train()
    candidates: dict[str, Callable[[], object]] = {
        "update": partial(update, network, ours),
        "published design": partial(update, network, theirs),
    }
    times = compare(candidates, rounds=5)
    ratio = round(times["published design"].p50 / times["update"].p50, 1)
    print(kind, {name: f"{taken.p50:.0f} ms" for name, taken in times.items()}, f"{ratio} x")
    return {**{name: taken._asdict() for name, taken in times.items()}, "ratio": ratio}


def main() -> None:
    """Measure, print, save."""
    figures: dict[str, object] = {"batch": BATCH, "n": N, "m": M, "dim": DIM, "unit": "milliseconds per update"}
    print(f"saved to {save('transducer', figures | {kind: measure(kind) for kind in ENCODERS})}")


if __name__ == "__main__":
    main()
