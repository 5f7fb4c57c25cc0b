"""Senders that repeat a request until it is accepted, as trackers do, and count what refused it."""

import json
import threading
import time
from collections import Counter
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Self
from urllib.parse import urlsplit

from tests.flow.tenant import CHROME_USER_AGENT

ITEMS = 3
PAUSE_SECONDS = 0.02


class RetryingSender:
    """Threads that post numbered events to one website until stopped."""

    def __init__(
        self, collect_url: str, website_id: str, threads: int = 4, name: str = "a"
    ) -> None:
        self._name = name
        self._address = urlsplit(collect_url).netloc
        self._path = f"/track?website_id={website_id}"
        self._stop, self._lock = threading.Event(), threading.Lock()
        self._threads = [threading.Thread(target=self._run, args=(n,)) for n in range(threads)]
        self.accepted: set[str] = set()
        """Event ids; each was sent again until it was accepted."""
        self.outcomes: Counter[str] = Counter()
        """Requests by outcome: `200`, `503 with Retry-After`, `connection closed`, …"""
        self.slowest_seconds = 0.0
        """The longest that one batch took, with all repetitions."""

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def wait_for(self, more: int, seconds: float = 90) -> None:
        """Return when that many more ids are accepted."""
        goal, until = len(self.accepted) + more, time.monotonic() + seconds
        while len(self.accepted) < goal:
            assert time.monotonic() < until, f"{len(self.accepted)} of {goal}: {self.outcomes}"
            time.sleep(PAUSE_SECONDS)

    def _run(self, thread: int) -> None:
        connection = HTTPConnection(self._address, timeout=20)
        number = 0
        while not self._stop.is_set():
            ids = [f"{self._name}-{thread}-{number}-{index}" for index in range(ITEMS)]
            self._send_until_accepted(connection, ids)
            number += 1
            time.sleep(PAUSE_SECONDS)
        connection.close()

    def _send_until_accepted(self, connection: HTTPConnection, ids: list[str]) -> None:
        items = [{"name": "upgrade", "eventId": each, "anonymousId": each} for each in ids]
        began = time.monotonic()
        while (outcome := self._outcome(connection, json.dumps(items))) != "200":
            with self._lock:
                self.outcomes[outcome] += 1
            connection.close()
            time.sleep(0.2)
        with self._lock:
            self.outcomes[outcome] += 1
            self.accepted.update(ids)
            self.slowest_seconds = max(self.slowest_seconds, time.monotonic() - began)

    def _outcome(self, connection: HTTPConnection, body: str) -> str:
        try:
            connection.request("POST", self._path, body, {"user-agent": CHROME_USER_AGENT})
            response = connection.getresponse()
            response.read()
        except (OSError, HTTPException) as error:
            return f"connection: {type(error).__name__}"
        return _named(response)


def _named(response: HTTPResponse) -> str:
    if response.status == 200:
        return "200"
    headers: Mapping[str, str] = {name.lower(): value for name, value in response.getheaders()}
    return f"{response.status} {'with' if 'retry-after' in headers else 'without'} Retry-After"
