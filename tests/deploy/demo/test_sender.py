import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from deploy.demo.first_start import DemoSendFailed, DemoTarget, SendProgress, send_visits
from deploy.demo.traffic import DemoVisit

SEEN = tuple[str, str, str | None]


class Collector(ThreadingHTTPServer):
    """Responds with the given statuses in order, then 200; records the requests."""

    def __init__(self, *statuses: int) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.statuses = list(statuses)
        self.seen: list[SEEN] = []


class Answer(BaseHTTPRequestHandler):
    server: Collector
    protocol_version = "HTTP/1.1"

    def respond(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.seen.append((self.command, self.path, self.headers["User-Agent"]))
        status = self.server.statuses.pop(0) if self.server.statuses else 200
        self.send_response(status)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"no")

    do_GET = do_POST = respond  # noqa: N815 - names of the standard library

    def log_message(self, *_: object) -> None:
        return


@contextmanager
def collector(*statuses: int) -> Iterator[Collector]:
    with Collector(*statuses) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def a_visit(*, by_link: bool = False, errors: int = 0) -> DemoVisit:
    return DemoVisit(0, "a browser", "DE", "de-DE", None, ({}, {}), ({},), ({},) * errors, by_link)


def send(server: Collector, *visits: DemoVisit) -> list[SendProgress]:
    target = DemoTarget(f"http://127.0.0.1:{server.server_port}", "w1", "demo")
    return list(send_visits(target, visits, lambda: False))


def test_a_visit_sends_what_its_browser_would() -> None:
    with collector() as server:
        sent = send(server, a_visit(by_link=True, errors=1))

    assert sent == [SendProgress(visits=1, total_visits=1, items=4, clicks=1)]
    assert server.seen == [
        ("GET", "/l/demo", "a browser"),
        ("POST", "/track?website_id=w1", "a browser"),
        ("POST", "/vitals?client_id=w1", "a browser"),
        ("POST", "/errors?client_id=w1", "a browser"),
    ]


def test_a_request_is_sent_again_when_the_collector_asks_for_patience() -> None:
    with collector(503, 403) as server:
        sent = send(server, a_visit())

    assert sent == [SendProgress(visits=1, total_visits=1, items=3, clicks=0)]
    assert [path for _, path, _ in server.seen] == [
        "/track?website_id=w1",
        "/track?website_id=w1",
        "/track?website_id=w1",
        "/vitals?client_id=w1",
    ]


def test_a_refusal_ends_the_sending_with_what_was_said() -> None:
    with (
        collector(400) as server,
        pytest.raises(DemoSendFailed, match=r"^POST /track\?website_id=w1: 400 no$"),
    ):
        send(server, a_visit())


def test_nothing_more_is_sent_when_told_to_stop() -> None:
    with collector() as server:
        target = DemoTarget(f"http://127.0.0.1:{server.server_port}", "w1", "demo")
        rounds = send_visits(target, [a_visit()] * 100, lambda: bool(server.seen))

        assert [sent.visits for sent in rounds] == [40]
