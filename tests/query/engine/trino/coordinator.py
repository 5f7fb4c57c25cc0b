"""A coordinator that speaks Trino's HTTP protocol and computes nothing.

It keeps the statements that it gets, and answers with pages that a test has prepared. The real
Trino answers in `tests/conformance`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

Answer = Mapping[str, Any] | int
"""A page as the protocol has it, without `nextUri`; or an HTTP status."""


class Coordinator:
    """The statements it got, their headers, and what was cancelled."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self.answers = answers
        self.statements: list[str] = []
        self.headers: list[Mapping[str, str]] = []
        self.errors: dict[str, Mapping[str, str]] = {}
        """The error that a statement gets, by its first word."""
        self.cancelled = Event()
        self.asked = Event()
        """Set once somebody waits for a page."""
        self.silent = Event()
        """Set while it answers nothing but posts."""
        self.port = 0

    @property
    def address(self) -> str:
        """The address as a setting."""
        return f"trino://ana@127.0.0.1:{self.port}/lake.tidemark"

    def page(self, number: int) -> Answer:
        """A page, with the URL of the next one unless it is the last."""
        answer = self.answers[number]
        if isinstance(answer, int) or number + 1 == len(self.answers):
            return answer
        return {**answer, "nextUri": f"http://127.0.0.1:{self.port}/pages/{number + 1}"}


@contextmanager
def coordinator(*answers: Answer) -> Iterator[Coordinator]:
    """A coordinator that gives these pages to every statement; by default, no rows."""
    played = Coordinator(answers or ({"columns": []},))
    released = Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            played.statements.append(body.decode())
            played.headers.append(dict(self.headers))
            error = played.errors.get(played.statements[-1].split()[0])
            self.reply({"error": error} if error else played.page(0))

        def do_GET(self) -> None:
            played.asked.set()
            if played.silent.is_set():
                released.wait(60)
            number = int(self.path.rpartition("/")[2])
            answer = played.page(number)
            if isinstance(answer, int):  # busy once, then the page after it
                played.answers = [*played.answers[:number], *played.answers[number + 1 :]]
            self.reply(answer)

        def do_DELETE(self) -> None:
            played.cancelled.set()
            self.reply(204)

        def reply(self, answer: Answer) -> None:
            status, body = (answer, b"") if isinstance(answer, int) else (200, _encoded(answer))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        played.port = server.server_port
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield played
        finally:
            released.set()
            server.shutdown()
            thread.join()


def _encoded(answer: Mapping[str, Any]) -> bytes:
    return json.dumps(answer).encode()
