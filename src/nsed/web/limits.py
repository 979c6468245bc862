"""Request limits, hosts and API keys: how much a request may ask for, how long it may take, and who may send it."""

import hashlib
import hmac
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from nsed.errors import ArgumentError, NsedError, abbreviate

_UNWRITABLE = frozenset("\0") | frozenset(map(chr, range(0xD800, 0xE000)))


class ApiError(NsedError):
    """API error: the status of HTTP, a code for programs, a sentence for people, and the field of the request."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        field: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.status, self.code, self.message, self.field = status, code, message, field
        self.headers = dict(headers or {})
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
    connections: int = 512
    """Maximum connections; beyond it, the one that has waited longest for a whole request makes room."""
    head_timeout: float = 10.0
    """Header timeout: seconds in which the head of a request must have come."""
    body_timeout: float = 30.0
    """Body timeout: seconds in which the rest of a request must have come, and in which an answer must be read."""
    stop: float = 30.0
    """Graceful stop: seconds in which requests in flight are still answered after the server was told to stop."""
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


def busy(reason: str) -> ApiError:
    """Backpressure error: what there is too much of; try again soon."""
    return ApiError(503, "busy", f"{reason}: try again soon", headers={"Retry-After": "2"})


LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")
"""Names that this machine has for itself."""


class AllowedHosts:
    """Host and Origin check against DNS rebinding: a page from elsewhere cannot ask a server that it cannot name.

    >>> AllowedHosts().check("example.org:8000", None, address="127.0.0.1")
    Traceback (most recent call last):
    nsed.web.limits.ApiError: 'example.org' is no name of this server: if it should be, start it with --allow-host ...
    """

    def __init__(self, named: Iterable[str] = ()) -> None:
        self._named = frozenset(map(_host_name, named))
        self._allowed = self._named.union(LOCAL_HOSTS)

    def check(self, host: str, origin: str | None, *, address: str) -> None:
        """Raise `ApiError` for a request to a host, or from a page of an origin, that is not ours.

        The address at which it came in is ours: of 0.0.0.0, the one that the client knows.
        """
        name = _without_port(host)
        if name not in self._allowed and not (is_address(address) and name in (address, f"[{address}]")):
            raise ApiError(421, "foreign_host", f"{_shown(name)} is no name of this server{_remedy(name)}")
        if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
            self._check_origin(origin)

    def _check_origin(self, origin: str) -> None:
        name = _without_port(re.sub(r"^https?://", "", origin))
        if name not in self._named:
            message = f"a page of {_shown(origin)} may not ask this server{_remedy(name)}"
            raise ApiError(403, "foreign_origin", message)


def _host_name(given: str) -> str:
    name = f"[{given}]" if given.count(":") > 1 and not given.startswith("[") else given
    if not re.fullmatch(r"[\w.-]+|\[[\w:.%]+\]", name, flags=re.ASCII):
        expected = "the name of a host, or its address, without scheme and port"
        raise ArgumentError("--allow-host", got=repr(given), expected=expected)
    return name.lower().removesuffix(".")


def _without_port(host: str) -> str:
    return re.sub(r":\d*$", "", host).lower().removesuffix(".")


def is_address(host: str) -> bool:
    """Whether this is an IP address, which needs no name server."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _shown(name: str) -> str:
    return repr(abbreviate(name, 100))


def _remedy(name: str) -> str:
    return f": if it should be, start it with --allow-host {abbreviate(name, 100)}" if name else ""


KEY_LENGTH = 16
"""Fewest characters of an API key, so that none is guessed."""


class ApiKeys:
    """API key check in constant time: `Authorization: Bearer KEY` or `X-Api-Key: KEY`, any key of a list.

    >>> ApiKeys(["correct-horse-battery"]).check({"x-api-key": "correct-horse"})
    Traceback (most recent call last):
    nsed.web.limits.ApiError: the API key is none of this server: ...
    """

    def __init__(self, keys: Iterable[str], *, origin: str = "API key") -> None:
        given = list(keys)
        for key in given or [""]:
            if len(key) < KEY_LENGTH or not re.fullmatch(r"[!-~]+", key):
                expected = f"at least {KEY_LENGTH} characters of ASCII without spaces"
                advice = "python -c 'import secrets; print(secrets.token_urlsafe())' makes one."
                raise ArgumentError(origin, got=f"a key of {len(key)} characters", expected=expected, advice=advice)
        self._digests = [_digest(key) for key in given]

    @classmethod
    def given(cls, path: Path | None) -> "ApiKeys | None":
        """Keys of a file, or the one in the environment variable NSED_API_KEY, or none."""
        if path is not None:
            return cls.read(path)
        key = os.environ.get("NSED_API_KEY")
        return None if key is None else cls([key], origin="NSED_API_KEY")

    @classmethod
    def read(cls, path: Path) -> "ApiKeys":
        """Read keys, one per line, so that an old one is good until all have the new; `#` begins a comment."""
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            got = f"{path}: {getattr(error, 'strerror', None) or 'no UTF-8'}"
            raise ArgumentError("--api-key-file", got=got, expected="a file with a key per line") from None
        kept = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
        return cls(kept, origin=f"--api-key-file {path}")

    def check(self, headers: Mapping[str, str]) -> None:
        """Raise `ApiError` for headers without a key of this server."""
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        given = bearer.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "")
        digest = _digest(given)
        if not sum(hmac.compare_digest(digest, one) for one in self._digests):  # all of them, whichever it is
            what = "the API key is none of this server" if given else "this server wants an API key"
            message = f"{what}: send Authorization: Bearer KEY, or X-Api-Key: KEY"
            raise ApiError(401, "no_key", message, headers={"WWW-Authenticate": 'Bearer realm="nsed"'})


def _digest(key: str) -> bytes:
    """Hash of a key: of one length, so that a comparison tells nothing of the key's."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()
