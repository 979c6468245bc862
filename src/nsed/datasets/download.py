"""A file from a public address, in pieces: what is there already is not fetched again."""

from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from nsed.errors import DownloadError

READ_AT_ONCE, TIMEOUT = 1 << 16, 30.0
PARTIAL, NOTHING_LEFT = 206, 416

OnBytes = Callable[[int, int | None], None]
"""Told how many bytes are there, and how many there will be if that is known."""


def download(url: str, part: Path, *, on_bytes: OnBytes) -> None:
    """Go on with the file `part` until it is complete; after a fault it stays, so that the next call goes on.

    Raises `DownloadError`, which says why.
    """
    start = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": "nsed"} | ({"Range": f"bytes={start}-"} if start else {})
    try:
        with urlopen(Request(url, headers=headers), timeout=TIMEOUT) as answer:
            _append(answer, part, start if answer.status == PARTIAL else 0, on_bytes)
    except HTTPError as error:
        if error.code != NOTHING_LEFT or not start:  # else it is complete, or its hash will show that it is not
            raise DownloadError(f"the server says: {error.code} {error.reason}") from None
        error.close()
    except (OSError, HTTPException, ValueError) as error:  # ValueError: not an address at all
        raise DownloadError(str(getattr(error, "reason", error)) or type(error).__name__) from None


def _append(answer: HTTPResponse, part: Path, start: int, on_bytes: OnBytes) -> None:
    """Write what comes after the first `start` bytes; a server that knows no ranges starts at 0."""
    length = answer.headers.get("Content-Length")
    total = start + int(length) if length else None
    done = start
    with part.open("ab" if start else "wb") as stream:
        on_bytes(done, total)
        while chunk := answer.read(READ_AT_ONCE):
            stream.write(chunk)
            done += len(chunk)
            on_bytes(done, total)
    if total is not None and done < total:
        raise DownloadError(f"the connection broke after {done:,} of {total:,} bytes; the next try goes on from there")
