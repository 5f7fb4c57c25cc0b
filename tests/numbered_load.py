"""Load of numbered events, of which each counts once in the end."""

import json
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from http.client import HTTPConnection, HTTPResponse
from typing import Self
from urllib.parse import urlsplit

from tests.flow.tenant import CHROME_USER_AGENT
from tests.installation import eventually

BATCH = 3


class NumberedLoad(ABC):
    """Threads that post small batches of numbered events to one website until stopped.

    A subclass says in `send_batch` what becomes of a batch.
    """

    pause_seconds = 0.02
    timeout_seconds = 20.0

    def __init__(
        self, collect_url: str, website_id: str, threads: int = 4, name: str = "a"
    ) -> None:
        self.acknowledged: set[str] = set()
        """Ids of events that were answered with 200."""
        self.lock = threading.Lock()
        """For what the threads record."""
        self._name = name
        self._address = urlsplit(collect_url).netloc
        self._path = f"/track?website_id={website_id}"
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(n,)) for n in range(threads)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def wait_for(self, more: int, seconds: float = 90) -> None:
        """Return when that many more ids are acknowledged."""
        goal = len(self.acknowledged) + more
        eventually(lambda: len(self.acknowledged) >= goal or None, seconds, 0.02)

    @abstractmethod
    def send_batch(self, connection: HTTPConnection, ids: Sequence[str]) -> None:
        """Send one batch, and record its response."""

    def post(self, connection: HTTPConnection, ids: Sequence[str]) -> HTTPResponse:
        """The response to a request with these events, read to its end."""
        items = [{"name": "numbered", "eventId": each, "anonymousId": each} for each in ids]
        agent = {"user-agent": CHROME_USER_AGENT}
        connection.request("POST", self._path, json.dumps(items), agent)
        response = connection.getresponse()
        response.read()
        return response

    def _run(self, thread: int) -> None:
        connection = HTTPConnection(self._address, timeout=self.timeout_seconds)
        number = 0
        while not self._stop.is_set():
            self.send_batch(
                connection, [f"{self._name}-{thread}-{number}-{i}" for i in range(BATCH)]
            )
            number += 1
            time.sleep(self.pause_seconds)
        connection.close()
