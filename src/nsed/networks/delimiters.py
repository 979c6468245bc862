"""Strings with their ends marked: positions of `s_1 .. s_n </s>` and of `<s> t_1 .. t_m`."""

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn import functional

from nsed.types import END, START, Lengths


def with_end(symbols: Int[Tensor, "batch n"], lengths: Lengths) -> Int[Tensor, "batch n+1"]:
    """Each string followed by `</s>`: vector i is the next symbol after i consumed ones."""
    places = torch.arange(symbols.shape[1] + 1, device=symbols.device)
    return torch.where(places == lengths[:, None], END, functional.pad(symbols, (0, 1)))


def with_start(symbols: Int[Tensor, "batch m"]) -> Int[Tensor, "batch m+1"]:
    """Each string after `<s>`: vector j is the last symbol of j produced ones."""
    return functional.pad(symbols, (1, 0), value=START)
