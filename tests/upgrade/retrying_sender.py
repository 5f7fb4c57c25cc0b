"""Senders that repeat a request until it is accepted, as trackers do, and count what refused it."""

import time
from collections import Counter
from collections.abc import Sequence
from http.client import HTTPConnection, HTTPException, HTTPResponse

from tests.numbered_load import NumberedLoad


class RetryingSender(NumberedLoad):
    """Threads that send each batch again until it is accepted."""

    def __init__(self, collect_url: str, website_id: str, name: str = "a") -> None:
        super().__init__(collect_url, website_id, name=name)
        self.outcomes: Counter[str] = Counter()
        """Requests by outcome: `200`, `503 with Retry-After`, `connection closed`, …"""
        self.slowest_seconds = 0.0
        """The longest that one batch took, with all repetitions."""

    def send_batch(self, connection: HTTPConnection, ids: Sequence[str]) -> None:
        began = time.monotonic()
        while (outcome := self._outcome(connection, ids)) != "200":
            with self.lock:
                self.outcomes[outcome] += 1
            connection.close()
            time.sleep(0.2)
        with self.lock:
            self.outcomes[outcome] += 1
            self.acknowledged.update(ids)
            self.slowest_seconds = max(self.slowest_seconds, time.monotonic() - began)

    def _outcome(self, connection: HTTPConnection, ids: Sequence[str]) -> str:
        try:
            return _named(self.post(connection, ids))
        except (OSError, HTTPException) as error:
            return f"connection: {type(error).__name__}"


def _named(response: HTTPResponse) -> str:
    if response.status == 200:
        return "200"
    has_header = response.getheader("retry-after") is not None
    return f"{response.status} {'with' if has_header else 'without'} Retry-After"
