"""SpanQueue: ended spans on their way to the receiver, in bounded memory and a thread of its own.

Who ends a span never waits: a full queue drops it. What the receiver does not take is not sent
again. Both are counted.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from schemas.telemetry.instruments import SPANS

log = logging.getLogger(__name__)

MAX_QUEUED = 8_192
MAX_SENT_AT_ONCE = 512
INTERVAL_SECONDS = 1.0
LOG_INTERVAL_SECONDS = 60.0

Ended = TypeVar("Ended")


class SpanQueue(Generic[Ended]):
    """Sends spans from a thread, at least every second while there are any."""

    def __init__(
        self,
        send: Callable[[Sequence[Ended]], bool],
        limit: int = MAX_QUEUED,
        interval_seconds: float = INTERVAL_SECONDS,
    ) -> None:
        self._send = send
        """Sends spans, in bounded time; whether the receiver took them."""
        self._limit = limit
        self._interval_seconds = interval_seconds
        self._waiting: deque[Ended] = deque()
        self._wake, self._empty = threading.Event(), threading.Event()
        self._closed = False
        self._logged = float("-inf")
        self._thread = threading.Thread(target=self._run, name="traces", daemon=True)
        self._thread.start()

    def put(self, span: Ended) -> None:
        """Queue a span that has ended; drops it when the queue is full."""
        if self._closed or len(self._waiting) >= self._limit:
            SPANS.labels("dropped").inc()
            return
        self._waiting.append(span)
        if len(self._waiting) >= MAX_SENT_AT_ONCE:
            self._wake.set()

    def close(self, seconds: float) -> None:
        """Send what is queued, for at most `seconds`; drop the rest."""
        self._closed = True
        self._wake.set()
        self._thread.join(seconds)
        if self._waiting:
            SPANS.labels("dropped").inc(len(self._waiting))

    def _run(self) -> None:
        while not self._closed:
            self._wake.wait(self._interval_seconds)
            self._wake.clear()
            self._send_waiting()

    def _send_waiting(self) -> None:
        while self._waiting:
            count = min(len(self._waiting), MAX_SENT_AT_ONCE)
            spans = [self._waiting.popleft() for _ in range(count)]
            if self._try_send(spans):
                SPANS.labels("sent").inc(count)
            else:
                SPANS.labels("failed").inc(count)
                if self._closed:
                    return

    def _try_send(self, spans: Sequence[Ended]) -> bool:
        try:
            if self._send(spans):
                return True
            reason = "the receiver does not take them"
        except Exception as error:  # a library's; the thread must go on
            reason = repr(error)
        if time.monotonic() - self._logged >= LOG_INTERVAL_SECONDS:
            self._logged = time.monotonic()
            log.warning("spans not sent", extra={"spans": len(spans), "reason": reason})
        return False
