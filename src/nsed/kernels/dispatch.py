"""The dispatcher: which implementation of each of the seven kernels runs, and why.

Each kernel has its implementations in the order of preference. The first one that does not refuse the given tensors
runs; a refusal is a reason in words. A backend that is forced (`switch.py`) is asked alone, and torch does what it
refuses. numba and Triton take seconds to import, so their modules are imported when one is first chosen.

    kernel = PAIR_SCORES.choose(source, target, weight, dropout).code      # a module, see `contracts.py`
    scores = kernel.pair_scores(source, target, weight, constant, eps=eps, dropout=dropout)
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from nsed.kernels import switch
from nsed.kernels.contracts import (
    ArcsKernel,
    Backend,
    CandidatesKernel,
    GruKernel,
    MatchScoresKernel,
    PairScoresKernel,
    TableScoresKernel,
    never,
    no_floats,
    no_numba_gru,
    no_numba_pair_scores,
    no_triton_arcs,
    no_triton_gru,
    no_triton_match_scores,
    no_triton_pair_scores,
)
from nsed.kernels.switch import AUTO, TORCH
from nsed.kernels.torch import arcs as torch_arcs
from nsed.kernels.torch import candidates as torch_candidates
from nsed.kernels.torch import gru as torch_gru
from nsed.kernels.torch import match_scores as torch_match_scores
from nsed.kernels.torch import pair_scores as torch_pair_scores
from nsed.kernels.torch import table_scores as torch_table_scores
from nsed.kernels.torch.lattice import TorchBackend

K = TypeVar("K")
Refusal = Callable[..., str]
"""Refusal function: why an implementation cannot do what it is given; nothing where it can."""


class Implementation(Generic[K]):
    """Kernel implementation: whose it is, what it is in words, when it cannot run, and how to get it."""

    def __init__(self, backend: str, what: str, *, refusal: Refusal, load: Callable[[], K]) -> None:
        self.backend, self.what, self.refusal, self._load = backend, what, refusal, load

    @cached_property
    def code(self) -> K:
        """Module (or the lattice's backend) that implements it, imported when first asked for."""
        return self._load()


class Choice(NamedTuple):
    """Dispatch result: which implementation of a kernel runs, and why."""

    kernel: str
    backend: str
    reason: str


class Kernel(Generic[K]):
    """Kernel by name, with its implementations; `probe` makes what a device would typically be given."""

    def __init__(
        self, name: str, *implementations: Implementation[K], probe: Callable[[torch.device], tuple[Any, ...]]
    ) -> None:
        self.name, self.probe = name, probe
        self.implementations = {one.backend: one for one in implementations}

    def register(self, implementation: Implementation[K]) -> None:
        """Register an implementation, after the others."""
        self.implementations[implementation.backend] = implementation

    def choose(self, *given: Any) -> Implementation[K]:
        """Dispatch: the implementation that runs for what is given, a tensor and what else its refusal looks at."""
        wanted, device = switch.wanted(), given[0].device.type
        for one in self.implementations.values():
            if wanted in (AUTO, one.backend):
                devices = switch.devices_of(one.backend)
                if (devices is None or device in devices) and not one.refusal(*given):
                    return one
        return self.implementations[TORCH]

    def named(self, backend: str) -> K:
        """Implementation by a backend, whatever is given. Raises `ArgumentError` if there is none, or not installed."""
        return self.implementations[switch.checked(backend)].code

    def explain(self, device: torch.device) -> Choice:
        """Dispatch in words: what runs on a device, and why not what is preferred to it."""
        given, wanted = self.probe(device), switch.wanted()
        chosen = self.choose(*given)
        if wanted != AUTO:
            forced = self.implementations.get(wanted)
            missing = f"{wanted} has none" if forced is None else f"{wanted}: {self._why_not(forced, given)}"
            why = "forced" if chosen is forced else missing
            return Choice(self.name, chosen.backend, f"{chosen.what} ({why})")
        before = list(self.implementations.values())
        refused = [f"{one.backend}: {self._why_not(one, given)}" for one in before[: before.index(chosen)]]
        return Choice(self.name, chosen.backend, chosen.what + (f" ({'; '.join(refused)})" if refused else ""))

    @staticmethod
    def _why_not(one: Implementation[K], given: tuple[Any, ...]) -> str:
        return switch.no_device(one.backend, given[0].device.type) or one.refusal(*given)


def report(device: torch.device) -> list[Choice]:
    """Dispatch report: which implementation of each kernel runs on a device, and why."""
    kernels: tuple[Kernel[Any], ...] = (PAIR_SCORES, ARCS, LATTICE, GRU, MATCH_SCORES, TABLE_SCORES, CANDIDATES)
    return [kernel.explain(device) for kernel in kernels]


def lattice_backend(name: str, like: Tensor) -> Backend:
    """Lattice backend of that name; `auto` is the one that is forced, or the fastest for tensors like this."""
    return LATTICE.choose(like).code if name == AUTO else LATTICE.named(name)


# ruff: noqa: PLC0415  # below: imported when first used, because numba and Triton are optional and slow to import


def _numba_lattice() -> Backend:
    from nsed.kernels.numba.lattice import NumbaBackend

    return NumbaBackend()


def _triton_lattice() -> Backend:
    from nsed.kernels.triton.lattice import TritonBackend

    return TritonBackend()


def _numba_pair_scores() -> PairScoresKernel:
    from nsed.kernels.numba import pair_scores

    return pair_scores


def _triton_pair_scores() -> PairScoresKernel:
    from nsed.kernels.triton import pair_scores

    return pair_scores


def _numba_arcs() -> ArcsKernel:
    from nsed.kernels.numba import arcs

    return arcs


def _triton_arcs() -> ArcsKernel:
    from nsed.kernels.triton import arcs

    return arcs


def _numba_gru() -> GruKernel:
    from nsed.kernels.numba import gru

    return gru


def _triton_gru() -> GruKernel:
    from nsed.kernels.triton import gru

    return gru


def _numba_match_scores() -> MatchScoresKernel:
    from nsed.kernels.numba import match_scores

    return match_scores


def _triton_match_scores() -> MatchScoresKernel:
    from nsed.kernels.triton import match_scores

    return match_scores


def _numba_table_scores() -> TableScoresKernel:
    from nsed.kernels.numba import table_scores

    return table_scores


def _numba_candidates() -> CandidatesKernel:
    from nsed.kernels.numba import candidates

    return candidates


def _pair_scores_probe(device: torch.device) -> tuple[Tensor, Tensor, Tensor, float]:
    vectors = torch.zeros(1, 1, 16, device=device)
    return vectors, vectors, vectors[0].expand(4, 16), 0.0


def _gru_probe(device: torch.device) -> tuple[Tensor, nn.GRU]:
    return torch.zeros(1, 1, 1, device=device), nn.GRU(1, 1, device=device).requires_grad_(False)


PAIR_SCORES: Kernel[PairScoresKernel] = Kernel(
    "pair_scores",
    Implementation(
        "triton",
        "features made and forgotten in a program",
        refusal=no_triton_pair_scores,
        load=_triton_pair_scores,
    ),
    Implementation(
        "numba",
        "one compiled pass; many classes in slices",
        refusal=no_numba_pair_scores,
        load=_numba_pair_scores,
    ),
    Implementation(TORCH, "every table in full", refusal=never, load=lambda: torch_pair_scores),
    probe=_pair_scores_probe,
)
ARCS: Kernel[ArcsKernel] = Kernel(
    "arcs",
    Implementation("triton", "a block of cells per program", refusal=no_triton_arcs, load=_triton_arcs),
    Implementation("numba", "compiled, a cell after the other", refusal=no_floats, load=_numba_arcs),
    Implementation(TORCH, "operation by operation", refusal=never, load=lambda: torch_arcs),
    probe=lambda device: (torch.zeros(1, 1, 1, 4, device=device),),
)
LATTICE: Kernel[Backend] = Kernel(
    "lattice",
    Implementation("triton", "a row of cells per step", refusal=never, load=_triton_lattice),
    Implementation("numba", "compiled loops over cells and pairs", refusal=never, load=_numba_lattice),
    Implementation(TORCH, "an anti-diagonal per step", refusal=never, load=TorchBackend),
    probe=lambda device: (torch.zeros(1, 1, 1, device=device),),
)
GRU: Kernel[GruKernel] = Kernel(
    "gru",
    Implementation("triton", "all directions in one step", refusal=no_triton_gru, load=_triton_gru),
    Implementation(
        "numba",
        "compiled steps where nothing is learned, else torch's own",
        refusal=no_numba_gru,
        load=_numba_gru,
    ),
    Implementation(TORCH, "torch's own", refusal=never, load=lambda: torch_gru),
    probe=_gru_probe,
)
MATCH_SCORES: Kernel[MatchScoresKernel] = Kernel(
    "match_scores",
    Implementation(
        "triton",
        "a row of several pairs per step, from a table or from vectors",
        refusal=no_triton_match_scores,
        load=_triton_match_scores,
    ),
    Implementation(
        "numba",
        "a pair after the other, in double precision",
        refusal=no_floats,
        load=_numba_match_scores,
    ),
    Implementation(TORCH, "pairs of the same lengths together", refusal=never, load=lambda: torch_match_scores),
    probe=lambda device: (torch.zeros(1, 1, device=device),),
)
TABLE_SCORES: Kernel[TableScoresKernel] = Kernel(
    "table_scores",
    Implementation(
        "numba",
        "a pair after the other, two rows of cells, in double precision",
        refusal=no_floats,
        load=_numba_table_scores,
    ),
    Implementation(TORCH, "lattices of pairs of similar lengths", refusal=never, load=lambda: torch_table_scores),
    probe=lambda device: (torch.zeros(1, 1, device=device),),
)
ON_CPU = torch.zeros(0)
"""Where candidates are searched, whatever the device of a model."""
CANDIDATES: Kernel[CandidatesKernel] = Kernel(
    "candidates",
    Implementation("numba", "compiled, a query after the other", refusal=never, load=_numba_candidates),
    Implementation(TORCH, "in NumPy, all strings at once", refusal=never, load=lambda: torch_candidates),
    probe=lambda _: (ON_CPU,),
)
