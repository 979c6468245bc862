"""The application: the page, the API, and what surrounds them."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from fastapi import FastAPI

from nsed import __version__
from nsed.text import Exceptions
from nsed.web.api import Api
from nsed.web.corrections import Corrections
from nsed.web.description import tell_limits
from nsed.web.errors import add_handlers
from nsed.web.gallery import NO_EXCEPTIONS, Gallery, ServedModel
from nsed.web.limits import Limits
from nsed.web.page import page_router
from nsed.web.protection import Protection
from nsed.web.schemas import Health
from nsed.web.workers import Workers


def make_app(
    models: Iterable[ServedModel], limits: Limits | None = None, exceptions: Exceptions = NO_EXCEPTIONS
) -> FastAPI:
    """An ASGI application that serves these models.

    Raises `DataError` where the exceptions contradict themselves, and `ArgumentError` where two models have one name.
    """
    limits, gallery = limits or Limits(), Gallery(models)
    corrections, workers = Corrections(exceptions, gallery), Workers(limits)
    app = FastAPI(
        title="Neural String Edit Distance",
        version=__version__,
        description="Strings into other strings, with the edit operations.",
        docs_url=None,  # these pages load scripts from elsewhere
        redoc_url=None,
        lifespan=_closing(workers),
    )
    add_handlers(app)
    app.include_router(Api(gallery, limits, corrections, workers).router())
    app.include_router(page_router())
    app.get("/healthz", tags=["health"])(_health(workers))
    tell_limits(app.openapi(), [one.name for one in gallery], limits)
    app.add_middleware(Protection, largest=limits.body)
    return app


def _closing(workers: Workers) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        workers.close()

    return lifespan


def _health(workers: Workers) -> Callable[[], Awaitable[Health]]:
    async def healthz() -> Health:
        """Whether the server is there, and how much waits for it."""
        return Health(version=__version__, waiting=workers.waiting)

    return healthz
