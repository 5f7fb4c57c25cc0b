"""The API page of a service (Swagger UI), its OpenAPI document, and static files.

Nothing is loaded from other hosts.
"""

from collections.abc import Callable
from functools import cache
from html import escape
from pathlib import Path
from string import Template

from starlette.types import ASGIApp, Receive, Scope, Send

from schemas.errors import MethodNotAllowed, Unavailable
from schemas.http.openapi import ApiDescription, encode_document
from schemas.http.static_content import StaticContent, send_static

FOLDER = Path(__file__).parent

API_PAGE_PATH = "/docs"
OPENAPI_PATH = "/openapi.json"

HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
        b"frame-ancestors 'none'",
    ),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-cache"),
]

FILES = (
    ("page.js", "text/javascript"),
    ("page.css", "text/css"),
    ("dist/swagger-ui-bundle.js", "text/javascript"),
    ("dist/swagger-ui.css", "text/css"),
    ("icon.svg", "image/svg+xml"),
)
"""Files of the page, with their media types."""


def api_pages(title: str, section: Callable[[], str] = str) -> dict[str, ASGIApp]:
    """The API page and its files by path; `section` is HTML above the operations."""

    def page() -> bytes:
        template = Template((FOLDER / "page.html").read_text())
        return template.substitute(title=escape(title), section=section()).encode()

    files = {
        f"{API_PAGE_PATH}/{Path(file).name}": static_file(FOLDER / file, media_type)
        for file, media_type in FILES
    }
    return {API_PAGE_PATH: static_endpoint(page, "text/html"), **files}


def static_file(file: Path, media_type: str) -> ASGIApp:
    """The endpoint of a text file; Unavailable when it is not installed."""

    def installed() -> bytes:
        try:
            return file.read_bytes()
        except FileNotFoundError:
            raise Unavailable("The API page is not installed; run `make setup`") from None

    return static_endpoint(installed, media_type)


def static_endpoint(body: Callable[[], bytes], media_type: str) -> ASGIApp:
    """The endpoint of a text that is the same for everybody, made for the first request."""

    @cache
    def content() -> StaticContent:
        return StaticContent.of(body(), f"{media_type}; charset=utf-8")

    async def endpoint(scope: Scope, _receive: Receive, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            raise MethodNotAllowed("GET, HEAD")
        await send_static(scope, send, content(), HEADERS)

    return endpoint


def openapi_endpoint(service: Callable[[], ApiDescription]) -> ASGIApp:
    """The endpoint of the document, which is built for the first request and cached."""

    @cache
    def document() -> StaticContent:
        return StaticContent.of(encode_document(service()), "application/json")

    async def endpoint(scope: Scope, _receive: Receive, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            raise MethodNotAllowed("GET")
        await send_static(scope, send, document(), [(b"cache-control", b"no-cache")])

    return endpoint


async def send_text(scope: Scope, send: Send, body: bytes, media_type: str) -> None:
    """Send a short text under a policy that loads nothing from other hosts; no body for HEAD."""
    headers = [
        *HEADERS,
        (b"content-type", f"{media_type}; charset=utf-8".encode()),
        (b"content-length", b"%d" % len(body)),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    sent = b"" if scope["method"] == "HEAD" else body
    await send({"type": "http.response.body", "body": sent})
