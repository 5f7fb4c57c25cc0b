"""Queries while their service is replaced: short ones all the time, and one long export."""

import socket
import threading
import time
from collections import Counter
from http.client import HTTPConnection, HTTPException
from typing import Self
from urllib.parse import urlsplit

from tests.http_client import Reply, call

THREADS = 2
PAUSE_SECONDS = 0.05
PIECE_BYTES, PIECE_SECONDS = 65_536, 0.03
"""The export is read at 2 MB/s."""


class AskingClient:
    """Threads that ask one query again and again, each on a new connection, and count outcomes."""

    def __init__(self, url: str, body: object, key: str) -> None:
        self.outcomes: Counter[str] = Counter()
        """Requests by outcome: `200`, `503 with Retry-After`, `connection: …`, …"""
        self.slowest_seconds = 0.0
        self._request = (url, body, {"x-api-key": key})
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._run) for _ in range(THREADS)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        while not self._stop.wait(PAUSE_SECONDS):
            began = time.monotonic()
            outcome = self._outcome()
            with self._lock:
                self.outcomes[outcome] += 1
                self.slowest_seconds = max(self.slowest_seconds, time.monotonic() - began)

    def _outcome(self) -> str:
        try:
            return named(call("POST", *self._request, seconds=60))
        except (OSError, HTTPException) as error:
            return f"connection: {type(error).__name__}"


def named(reply: Reply) -> str:
    """The outcome of a request as a short text."""
    if reply.status == 200:
        return "200"
    has_header = "retry-after" in reply.headers
    return f"{reply.status} {'with' if has_header else 'without'} Retry-After"


class SlowExport(threading.Thread):
    """An export as NDJSON of which a client reads the rest slowly, after `release`."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(name="export")
        self.lines = 0
        self.failure: str | None = None
        self._parts = urlsplit(url)
        self._key = key
        self._begun, self._released = threading.Event(), threading.Event()

    def begin(self, seconds: float = 60.0) -> None:
        """Return when the first rows have arrived."""
        self.start()
        assert self._begun.wait(seconds), "the export has no rows"

    def release(self) -> None:
        """Let it read the rest."""
        self._released.set()

    def run(self) -> None:
        try:
            self._read()
        except (OSError, HTTPException) as error:
            self.failure = f"{type(error).__name__}: {error}"
        finally:
            self._begun.set()

    def _read(self) -> None:
        connection = HTTPConnection(self._parts.hostname or "", self._parts.port, timeout=60)
        connection.connect()
        # So that the server cannot hand everything to the kernel at once.
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, PIECE_BYTES)
        target = f"{self._parts.path}?{self._parts.query}"
        connection.request("GET", target, headers={"x-api-key": self._key})
        response = connection.getresponse()
        if response.status != 200:
            self.failure = f"{response.status} {response.read(500)!r}"
            return
        piece = response.read(PIECE_BYTES)
        self._begun.set()
        self._released.wait()
        while piece:
            self.lines += piece.count(b"\n")
            time.sleep(PIECE_SECONDS)
            piece = response.read(PIECE_BYTES)
        connection.close()
