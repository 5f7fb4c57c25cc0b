"""A service that answers the Python client as a script says."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from msgspec import Struct

from query.client import Client


class Said(Struct, frozen=True):
    """One answer of the script."""

    status: int
    body: bytes
    headers: dict[str, str] = {}
    missing: int = 0
    """Bytes that are promised and never come."""


class Script(Struct):
    """Scripted responses, and the requests that were made."""

    answers: list[Said]
    requests: list[tuple[str, dict[str, str], Any]] = []
    paused: list[float] = []


Playing = Callable[..., tuple[Client, Script]]


@contextmanager
def scripted_services() -> Iterator[Playing]:
    """Starts a service for each script; all of them end with the context."""
    servers: list[ThreadingHTTPServer] = []

    def play(*answers: Said, **more: Any) -> tuple[Client, Script]:
        script = Script(list(answers), [], [])
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler(script))
        servers.append(server)
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        return Client(address, "tk_x", address, sleep=script.paused.append, **more), script

    yield play
    for server in servers:
        server.shutdown()
        server.server_close()


def handler(script: Script) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            script.requests.append((self.path, headers, json.loads(body) if body else None))
            response = script.answers.pop(0)
            self.send_response(response.status)
            for name, value in response.headers.items():
                self.send_header(name, value)
            if "transfer-encoding" not in response.headers:
                self.send_header("content-length", str(len(response.body) + response.missing))
            self.end_headers()
            self.wfile.write(response.body)

        do_GET = do_PUT = do_PATCH = do_DELETE = do_POST  # noqa: N815

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing."""

    return Handler


def answering(*rows: Any, **more: Any) -> Said:
    """A successful response with rows."""
    return Said(200, json.dumps({"success": True, "data": list(rows), **more}).encode())


def failing(status: int, code: str, message: str) -> Said:
    """An error of the query service."""
    return Said(status, json.dumps({"success": False, "error": message, "code": code}).encode())
