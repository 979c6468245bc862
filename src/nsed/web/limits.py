"""Request limits and timeout: how much one request may ask for, and how long it may take."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nsed.errors import NsedError

_UNWRITABLE = frozenset("\0") | frozenset(map(chr, range(0xD800, 0xE000)))


class ApiError(NsedError):
    """API error: the status of HTTP, a code for programs, a sentence for people, and the field of the request."""

    def __init__(
        self, status: int, code: str, message: str, *, field: str | None = None, retry_after: int | None = None
    ) -> None:
        self.status, self.code, self.message, self.field = status, code, message, field
        self.headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
        super().__init__(message)


@dataclass(frozen=True)
class Limits:
    """Request limits. A request beyond them is refused with a message, before any work is done.

    >>> Limits(length=5).check_texts("sources", ["short", "longer"])
    Traceback (most recent call last):
    nsed.web.limits.ApiError: a string has 6 characters, at most 5 are taken
    """

    items: int = 100
    """Maximum items: strings, or pairs, in a request."""
    length: int = 200
    """Maximum string length in characters."""
    cells: int = 1_000_000
    """Maximum lattice cells of all pairs of a request: length times length, added up; about two seconds of work."""
    explained: int = 40
    """Maximum symbols of each string of a pair that is drawn: a picture has a box for each two of them."""
    nbest: int = 20
    """Maximum n-best size: targets per source."""
    beam: int = 20
    """Maximum beam width: prefixes followed at once."""
    body: int = 2**18
    """Maximum request body in bytes."""
    waiting: int = 10_000
    """Backpressure: strings, pairs and explanations that may wait for their turn; beyond it the server is busy."""
    timeout: float = 30.0
    """Request timeout in seconds, waiting included."""
    threads: int = 1
    """Worker threads that compute. Python lets one run at a time, so that more rarely help on a CPU."""

    def told(self) -> dict[str, int | float]:
        """Public limits, which clients should know."""
        names = ("items", "length", "cells", "explained", "nbest", "beam", "body", "timeout")
        return {name: getattr(self, name) for name in names}

    def check_count(self, field: str, things: Sequence[object]) -> None:
        """Item limit: raise `ApiError` if there are none, or too many."""
        if not things:
            raise ApiError(422, "empty", "the list is empty, at least one is needed", field=field)
        if len(things) > self.items:
            message = f"the list has {len(things)} items, at most {self.items} are taken"
            raise ApiError(422, "too_many", message, field=field)

    def check_texts(self, field: str, texts: Iterable[str]) -> None:
        """String length limit: raise `ApiError` for a string that is too long or that no text can have."""
        for text in texts:
            if len(text) > self.length:
                message = f"a string has {len(text)} characters, at most {self.length} are taken"
                raise ApiError(422, "too_long", message, field=field)
            if not _UNWRITABLE.isdisjoint(text):
                message = "a string has NUL or half a character (a lone surrogate): no text does"
                raise ApiError(422, "no_text", message, field=field)

    def check_cells(self, field: str, pairs: Iterable[tuple[str, str]]) -> None:
        """Lattice cell limit: raise `ApiError` for pairs that are too long together."""
        cells = sum((1 + len(source)) * (1 + len(target)) for source, target in pairs)
        if cells > self.cells:
            message = f"the pairs have {cells} cells (length times length), at most {self.cells} are taken: send fewer"
            raise ApiError(422, "too_large", message, field=field)

    def check_width(self, nbest: int, beam: int | None) -> None:
        """Search limit: raise `ApiError` for an n-best list or beam that is too wide."""
        for field, value, most in (("nbest", nbest, self.nbest), ("beam", beam or 1, self.beam)):
            if value > most:
                raise ApiError(422, "too_large", f"got {value}, at most {most} is taken", field=field)

    def check_drawn(self, field: str, symbols: Sequence[str]) -> None:
        """Drawing limit: raise `ApiError` for a string with too many symbols for a picture."""
        if len(symbols) > self.explained:
            message = f"the string has {len(symbols)} symbols, at most {self.explained} are explained"
            raise ApiError(422, "too_long", message, field=field)
