"""A web server of the tests: pages on a free port, with the collector under one path."""

import threading
from collections.abc import Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from msgspec import Struct

from tests.http_client import call
from tests.installation import free_port

OWN_PATH = "/t/"
FORWARDED_HEADERS = ("content-type", "user-agent", "origin", "accept-encoding")


class Html(Struct, frozen=True):
    """One page with what its answer carries."""

    body: str
    headers: Mapping[str, str] = {}
    status: int = 200


class WebSite:
    """Serves pages and proxies requests under OWN_PATH to the collector."""

    def __init__(self, collect_url: str) -> None:
        self.port = free_port()
        self.pages: dict[str, Html] = {}
        self.posted: list[bytes] = []
        """What was sent to the collector through this site."""
        self.refusals = 0
        """How many of the next POST requests get a 503 instead of being proxied."""
        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), handler(self, collect_url))
        self._server.daemon_threads = True

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


def handler(site: WebSite, collect_url: str) -> type[BaseHTTPRequestHandler]:
    """What answers one request."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if self.path.startswith(OWN_PATH):
                return self._pass_on()
            page = site.pages.get(self.path.partition("?")[0], Html("<title>Nothing</title>"))
            headers = {"content-type": "text/html; charset=utf-8", **page.headers}
            return self._answer(page.status, headers, page.body.encode())

        def do_POST(self) -> None:
            self._pass_on()

        def _pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            if self.command == "POST":
                site.posted.append(body)
            if self.command == "POST" and site.refusals:
                site.refusals -= 1
                self._answer(503, {}, b"")
                return
            forwarded = {
                name: self.headers[name] for name in FORWARDED_HEADERS if name in self.headers
            }
            url = collect_url + "/" + self.path.removeprefix(OWN_PATH)
            reply = call(self.command, url, body or None, forwarded)
            response_headers = {
                k: v for k, v in reply.headers.items() if k not in ("date", "server")
            }
            self._answer(reply.status, response_headers, reply.body)

        def _answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in {**headers, "content-length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(BrokenPipeError):  # of a page that is gone
                self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing."""

    return Handler
