"""Static pages: API page (Swagger UI), Python client; nothing is loaded from other hosts."""

from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from query.docs.client_file import client_file
from schemas.errors import Unavailable

FOLDER = Path(__file__).parent

HEADERS = {
    "content-security-policy": "default-src 'self'; img-src 'self' data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}


def _page(path: str, file: str, media_type: str) -> Route:
    source = FOLDER / file

    async def page(_request: Request) -> Response:
        if not source.exists():
            raise Unavailable("the API page is not installed; run `make setup`")
        return Response(_content(source), media_type=media_type, headers=HEADERS)

    return Route(path, page)


async def _client(_request: Request) -> Response:
    return Response(client_file(), media_type="text/x-python", headers=HEADERS)


@cache
def _content(source: Path) -> bytes:
    return source.read_bytes()


PAGES = (
    _page("/docs", "page.html", "text/html"),
    _page("/docs/page.js", "page.js", "text/javascript"),
    _page("/docs/page.css", "page.css", "text/css"),
    _page("/docs/swagger-ui-bundle.js", "dist/swagger-ui-bundle.js", "text/javascript"),
    _page("/docs/swagger-ui.css", "dist/swagger-ui.css", "text/css"),
    _page("/docs/icon.svg", "icon.svg", "image/svg+xml"),
    Route("/docs/tidemark_client.py", _client),
)
