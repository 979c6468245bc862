"""What becomes of a gradient: it is clipped, moves the weights, and makes room for the next one."""

from functools import partial

import torch
from torch import Tensor, nn

from nsed.train.averaging import WeightAverage
from nsed.train.config import TrainConfig
from nsed.train.recording import Recorder


class Updates:
    """The optimiser of a network and the running average of its weights; recorded as a CUDA graph, or not."""

    def __init__(self, network: nn.Module, config: TrainConfig, recorder: Recorder | None = None) -> None:
        parameters = list(network.parameters())
        self.optimiser, self.average = _optimiser(parameters, config), WeightAverage(network, config.average)
        work = partial(_apply, parameters, config.clip, self.optimiser, self.average)
        self._work = work if recorder is None else recorder.recorded(work)

    def apply(self, rate: float, step: int) -> None:
        """Update number 1, 2, ... with this learning rate; afterwards the gradients are zero."""
        for group in self.optimiser.param_groups:
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate
        self.average.now(step)
        self._work()


def _apply(
    parameters: list[nn.Parameter], clip: float, optimiser: torch.optim.Optimizer, average: WeightAverage
) -> Tensor:
    norm = nn.utils.clip_grad_norm_(parameters, clip)
    optimiser.step()
    average.update()
    optimiser.zero_grad(set_to_none=False)
    return norm


def _optimiser(parameters: list[nn.Parameter], config: TrainConfig) -> torch.optim.Optimizer:
    there = parameters[0].is_cuda  # one kernel for all parameters, and a rate that a recording can read
    rate = torch.tensor(config.learning_rate, device=parameters[0].device) if there else config.learning_rate
    if config.optimiser == "adam":
        return torch.optim.Adam(parameters, lr=rate, fused=there, capturable=there)
    return torch.optim.AdamW(parameters, lr=rate, weight_decay=config.weight_decay, fused=there, capturable=there)
