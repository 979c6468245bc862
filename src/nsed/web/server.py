"""The server that `nsed serve` starts."""

from collections.abc import Iterable

import uvicorn

from nsed.text import Exceptions
from nsed.web.app import make_app
from nsed.web.gallery import ServedModel
from nsed.web.limits import Limits


def run_server(models: Iterable[ServedModel], limits: Limits, exceptions: Exceptions, *, host: str, port: int) -> None:
    """Serve until someone stops it; only what goes wrong is logged."""
    app = make_app(models, limits, exceptions)
    uvicorn.run(app, host=host, port=port, log_level="warning", server_header=False)
