"""CUDA graphs: a function's kernels, recorded once and launched together ever after.

Small kernels are over before the next one is launched; a graph launches them all at once.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from nsed.progress import no_garbage_collection

Work = Callable[[], Tensor]


class Recorder:
    """Makes recordings that run one after the other, never at the same time."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]  # torch's own
        self.pool = torch.cuda.graph_pool_handle()

    def recorded(self, work: Work) -> "Recording":
        """The same work, to be done many times."""
        return Recording(work, self)


class Recording:
    """Work without arguments: it reads and writes tensors that stay where they are, and always gives the same one.

    The first call does it, so that everything is warm; the second records it.
    """

    def __init__(self, work: Work, recorder: Recorder) -> None:
        self._work, self._recorder = work, recorder
        self._is_warm, self._graph = False, torch.cuda.CUDAGraph()
        self._result: Tensor | None = None

    def __call__(self) -> Tensor:
        """Do it."""
        if not self._is_warm:
            self._is_warm = True
            return self._aside()
        if self._result is None:
            self._result = self._record()
        self._graph.replay()
        return self._result

    def _record(self) -> Tensor:
        """Nothing is collected meanwhile: the end of an old graph would be the end of this recording."""
        with (
            no_garbage_collection(),
            torch.cuda.graph(self._graph, pool=self._recorder.pool, stream=self._recorder.stream),
        ):
            return self._work()

    def _aside(self) -> Tensor:
        """As it is recorded, on a stream of its own."""
        current = torch.cuda.current_stream(self._recorder.device)
        self._recorder.stream.wait_stream(current)
        with torch.cuda.stream(self._recorder.stream):
            result = self._work()
        current.wait_stream(self._recorder.stream)
        return result
