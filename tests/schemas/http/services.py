"""Both services as processes without Kafka, for tests with raw connections."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from msgspec import Struct

from schemas.registry import Organization, RegistryStore
from schemas.runtime.environment import to_environment
from schemas.runtime.settings import Settings
from tests.http_client import Reply, call
from tests.installation import ROOT, eventually, free_port
from tests.query.query_service import NOW, fill_registry
from tests.registries import make_registry

RATE_HEADERS = {"x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"}
LIVE = b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n"
STALLED_SECONDS = 2.0


class RunningService(Struct, frozen=True):
    """A running service, and a request that it takes."""

    name: str
    port: int
    pid: int
    head: str
    """Of a good POST, without the line that ends it."""
    body: bytes

    def good(self, extra: str = "") -> bytes:
        """A whole request with a body."""
        return f"{self.head}Content-Length: {len(self.body)}\r\n{extra}\r\n".encode() + self.body

    def connect(self, seconds: float = 4.0) -> socket.socket:
        """A bare connection."""
        return socket.create_connection(("127.0.0.1", self.port), seconds)

    def say(self, *segments: bytes) -> list[Reply]:
        """Send each segment separately; the responses until the service closes the connection."""
        with self.connect() as connection:
            for segment in segments:
                connection.sendall(segment)
            return read_replies(connection)

    def call(self, method: str = "GET", path: str = "/health/live") -> Reply:
        return call(method, f"http://127.0.0.1:{self.port}{path}")

    @property
    def memory_mb(self) -> float:
        """Resident memory."""
        return float(psutil.Process(self.pid).memory_info().rss) / 1e6


@contextmanager
def collector(folder: Path, **settings: Any) -> Iterator[RunningService]:
    """The collector's application with a list instead of Kafka; `/long?n` has n bytes."""
    chosen = Settings(data_dir=str(folder), collect_port=free_port(), **settings)
    command = [sys.executable, "-m", "tests.schemas.http.collector_main"]
    head = "POST /track?website_id=shop HTTP/1.1\r\nHost: x\r\n"
    with run_service(
        "collector", command, chosen, chosen.collect_port, head, b'{"name":"a"}'
    ) as one:
        yield one


@contextmanager
def query(folder: Path, **settings: Any) -> Iterator[RunningService]:
    """The query service over a lake that holds nothing yet."""
    chosen = Settings(data_dir=str(folder), query_port=free_port(), **settings)
    folder.mkdir(parents=True, exist_ok=True)
    make_registry(chosen.registry_url)
    store = RegistryStore(chosen.registry_url)
    key = fill_registry(store)["acme"]
    store.update(Organization, "acme", NOW, limits={"custom": 10**9})
    store.close()
    command = [sys.executable, "-m", "query"]
    head = f"POST /v1/query/compile?website_id=shop HTTP/1.1\r\nHost: x\r\nX-Api-Key: {key}\r\n"
    body = (
        b'{"query":{"table":"events","selects":[{"field":"*","aggregate":"count"}]},'
        b'"startDate":"2026-11-01","endDate":"2026-11-30"}'
    )
    with run_service("query", command, chosen, chosen.query_port, head, body) as one:
        yield one


@contextmanager
def run_service(
    name: str, command: Sequence[str], settings: Settings, port: int, head: str, body: bytes
) -> Iterator[RunningService]:
    """The process, from its first answer on."""
    environment = {**os.environ, **to_environment(settings), "TIDEMARK_METRICS_PORT": "0"}
    settings.data.mkdir(parents=True, exist_ok=True)
    log = settings.data / "service.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=output)
    service = RunningService(name, port, process.pid, head, body)

    def answers() -> bool:
        assert process.poll() is None, log.read_text()
        try:
            return service.call("GET", "/health/ready").status == 200
        except OSError:
            return False

    try:
        eventually(answers)
        written = log.stat().st_size
        yield service
        assert log.stat().st_size == written, log.read_text()  # strangers fill no log
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def read_replies(connection: socket.socket) -> list[Reply]:
    """All answers until the connection is closed."""
    seen = b""
    while piece := connection.recv(262_144):
        seen += piece
    return list(split_replies(seen))


def read_reply(connection: socket.socket) -> Reply:
    """The next answer of a connection that stays open; nothing may follow it."""
    seen = b""
    while not (found := list(split_replies(seen))):
        piece = connection.recv(262_144)
        assert piece, f"closed after {seen!r}"
        seen += piece
    assert len(found) == 1, seen
    return found[0]


def split_replies(seen: bytes) -> Iterator[Reply]:
    """The answers in a stream of bytes, as far as they are whole."""
    while b"\r\n\r\n" in seen:
        head, _, rest = seen.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        status = int(first.split()[1])
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        length = int(headers.get("content-length", 0))
        if len(rest) < length:
            return
        if status >= 200:
            yield Reply(status, headers, rest[:length])
        seen = rest[length:]


def is_refusal(service: RunningService, reply: Reply, status: int) -> bool:
    """Whether it has the status, the contract's body of that service, and the three headers."""
    body = json.loads(reply.body)
    text = body["message"] if service.name == "collector" else body["error"]
    is_error = (
        body["status"] == "error" if service.name == "collector" else body["success"] is False
    )
    return (
        reply.status == status
        and is_error
        and isinstance(text, str)
        and isinstance(body["code"], str)
        and set(reply.headers) >= RATE_HEADERS
        and reply.headers["content-type"] == "application/json"
        and reply.headers["x-content-type-options"] == "nosniff"
    )


def statuses(replies: list[Reply]) -> list[int]:
    return [reply.status for reply in replies]
