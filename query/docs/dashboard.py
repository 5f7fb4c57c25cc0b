"""The dashboard: the files of `query/web/dist`, read and compressed at start.

`index.html` answers every address of the page; the page itself reads the address. File names with
a hash of their content may be kept forever.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote

from msgspec import Struct, structs
from starlette.types import ASGIApp, Receive, Scope, Send

from schemas.errors import NotFound
from schemas.http.asgi import header
from schemas.http.static_content import StaticContent, send_static
from schemas.registry.share_links import PAGE_PATH

PAGE_FOLDER = Path(__file__).parent.parent / "web" / "dist"
INDEX = "index.html"
SERVICE_PATHS = ("v1", "health", "docs", "openapi.json")
"""First parts of paths that are never addresses of the page."""
HASHED_NAME = re.compile(r".*[-.][A-Za-z0-9_-]{8,}\.[a-z0-9]+(\.map)?")

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "font-src 'self'; connect-src 'self'; frame-src 'self'; worker-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors {}"
)
MEDIA_TYPES: Mapping[str, str] = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
}
OTHER_MEDIA_TYPE = "application/octet-stream"

PASSWORD_COOKIE = b"tidemark_share=password; Max-Age=%d; Path=%s; SameSite=Strict"
"""Has the page of a shared dashboard ask for its password without a request that is refused."""
PASSWORD_COOKIE_SECONDS = 60


class PageRules(Struct, frozen=True):
    """Rules of the page at one path."""

    frame_origins: tuple[str, ...] = ()
    """Which may show it in a frame."""
    asks_password: bool = False


RulesOf: TypeAlias = Callable[[str], PageRules]


def no_rules(_path: str) -> PageRules:
    """None of them."""
    return PageRules()


class PageFile(StaticContent, frozen=True, kw_only=True):
    """One file of the page."""

    cache_control: bytes


class Dashboard:
    """The files of the page as ASGI responses; without files nothing is found."""

    def __init__(self, files: Mapping[str, PageFile], rules: RulesOf = no_rules) -> None:
        self._files = files
        self._rules = rules

    async def respond(self, scope: Scope, _receive: Receive, send: Send) -> None:
        """The file of a path, or the page for a browser that opens one of its addresses.

        NotFound for other paths and methods.
        """
        path = str(scope["path"]).lstrip("/")
        file = self._files.get(path)
        if scope["method"] not in ("GET", "HEAD") or path.partition("/")[0] in SERVICE_PATHS:
            raise NotFound("No such route")
        if file is None:
            if not self._files or not _accepts_html(scope):
                raise NotFound("No such route")
            file = self._files[INDEX]
        await self._send(scope, send, file)

    def or_else(self, overview: ASGIApp) -> ASGIApp:
        """The page for browsers; for other clients, and without a page, the overview."""

        async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
            reads = scope["method"] in ("GET", "HEAD") and _accepts_html(scope)
            await (self.respond if self._files and reads else overview)(scope, receive, send)

        return endpoint

    async def _send(self, scope: Scope, send: Send, file: PageFile) -> None:
        rules = self._rules(scope["path"])
        origins = " ".join(rules.frame_origins) or "'none'"
        headers = [
            (b"content-security-policy", POLICY.format(origins).encode()),
            (b"referrer-policy", b"no-referrer"),
            (b"cache-control", file.cache_control),
            (b"vary", b"Accept, Accept-Encoding"),
        ]
        if scope["path"].startswith(PAGE_PATH):
            link = scope["path"].removeprefix(PAGE_PATH).partition("/")[0]
            seconds = PASSWORD_COOKIE_SECONDS if rules.asks_password else 0
            cookie = PASSWORD_COOKIE % (seconds, quote(PAGE_PATH + link).encode())
            headers.append((b"set-cookie", cookie))
        await send_static(scope, send, file, headers)


@cache
def read_page(folder: Path) -> Mapping[str, PageFile]:
    """The files of the page by path, compressed once in a process; empty when it is not built."""
    if not (folder / INDEX).is_file():
        return {}
    return {
        path.relative_to(folder).as_posix(): _read(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _accepts_html(scope: Scope) -> bool:
    """Whether the client is a browser that opens an address."""
    return "text/html" in (header(scope, b"accept") or "")


def _read(path: Path) -> PageFile:
    hashed = HASHED_NAME.fullmatch(path.name)
    content = StaticContent.of(path.read_bytes(), MEDIA_TYPES.get(path.suffix, OTHER_MEDIA_TYPE))
    return PageFile(
        **structs.asdict(content),
        cache_control=b"public, max-age=31536000, immutable" if hashed else b"no-cache",
    )
