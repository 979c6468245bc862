"""The exceptions of all models, read once: a request sees those of its own sources only, however many there are."""

from collections.abc import Iterable, Sequence

from nsed.text import Exceptions, Pairs
from nsed.web.gallery import ServedModel


class Corrections:
    """Which exceptions each model has, by the symbols that it reads.

    Raises `DataError`, with file and line, where a source has a target twice.
    """

    def __init__(self, exceptions: Exceptions, models: Iterable[ServedModel]) -> None:
        self._exceptions = exceptions
        self._settled = {one.name: exceptions.by_source(one.model.coders) for one in models}

    def __len__(self) -> int:
        return len(self._exceptions)

    def of(self, served: ServedModel, sources: Sequence[str]) -> Exceptions:
        """Those of some sources."""
        settled, split = self._settled[served.name], served.model.coders.source.split
        different = {split(source): source for source in sources}
        return Exceptions(
            Pairs.of([(source, target) for key, source in different.items() for target in settled.get(key, [])])
        )
