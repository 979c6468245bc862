"""HTTP server (uvicorn) that `nsed serve` starts."""

import socket
from collections.abc import Callable, Iterable

import uvicorn

from nsed.errors import ArgumentError
from nsed.models.transduction import Overrides
from nsed.web.app import make_app
from nsed.web.limits import Limits
from nsed.web.served_models import ServedModel

BACKLOG = 2048
"""Listen backlog: connections that may wait to be taken."""


def run_server(
    models: Iterable[ServedModel],
    limits: Limits,
    exceptions: Overrides,
    *,
    host: str,
    port: int,
    on_start: Callable[[str], None],
) -> None:
    """Serve until someone stops it; `on_start` is told the address. Only what goes wrong is logged.

    Raises `ArgumentError` where the port is taken, or not ours to take.
    """
    app = make_app(models, limits, exceptions)
    with _listening(host, port) as listening:
        name = f"[{host}]" if ":" in host else host
        on_start(f"http://{name}:{listening.getsockname()[1]}/")
        config = uvicorn.Config(app, log_level="warning", server_header=False, ws="none")
        uvicorn.Server(config).run(sockets=[listening])


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        got = f"{host}, port {port}: {error.strerror}"
        raise ArgumentError(
            "--host, --port", got=got, expected="an address to listen on", advice="Try --port 0."
        ) from None
