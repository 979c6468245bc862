"""The page and its files, read once; nothing on disk is reached by an address."""

from collections.abc import Mapping
from importlib.resources import files

from fastapi import APIRouter, Response
from starlette.exceptions import HTTPException

from nsed.explain.html_style import STYLE

TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


def page_router() -> APIRouter:
    """The page at `/`, its files below `/static`."""
    contents, router = _contents(), APIRouter(include_in_schema=False)

    @router.get("/")
    async def page() -> Response:
        return _file(contents, "page.html")

    @router.get("/static/{name}")
    async def file(name: str) -> Response:
        return _file(contents, name)

    return router


def _contents() -> Mapping[str, str]:
    """The files of the page by name, and the style of explanations."""
    folder = files("nsed.web") / "static"
    written = {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir() if file.is_file()}
    return {**written, "explain.css": STYLE}


def _file(contents: Mapping[str, str], name: str) -> Response:
    if name not in contents:
        raise HTTPException(404, "there is no such file")
    return Response(contents[name], media_type=TYPES[name.rpartition(".")[2]])
