"""Static pages: API browser, Python client; nothing is loaded from other hosts."""

from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

FOLDER = Path(__file__).parent

HEADERS = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}


def _page(path: str, file: str, media_type: str) -> Route:
    content = (FOLDER / file).read_bytes()

    async def page(_request: Request) -> Response:
        return Response(content, media_type=media_type, headers=HEADERS)

    return Route(path, page)


PAGES = (
    _page("/docs", "docs.html", "text/html"),
    _page("/docs/docs.js", "docs.js", "text/javascript"),
    _page("/docs/docs.css", "docs.css", "text/css"),
    _page("/docs/icon.svg", "icon.svg", "image/svg+xml"),
    _page("/docs/tidemark_client.py", "../client.py", "text/x-python"),
)
