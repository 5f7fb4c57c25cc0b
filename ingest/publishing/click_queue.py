"""ClickQueue: publishes clicks asynchronously, in memory while Kafka is unavailable; counts losses.

With a spool clicks go there first (`spooling_producer.py`), and what it refuses waits here. A click
that was never sent waits in memory and is retried. A click that was sent and not
acknowledged is counted as unknown and not retried: Kafka may have it, and it must not count
twice.
"""

import asyncio
import logging
from collections import deque
from functools import partial

from msgspec import Struct

from ingest.publishing.partition_queue import DeliveryReport, DeliveryStatus
from ingest.publishing.publish import Producer
from schemas.errors import Unavailable
from schemas.kinds import CLICK
from schemas.runtime.request_id import REQUEST_ID
from schemas.telemetry.spans import CURRENT_SPAN

log = logging.getLogger(__name__)

MAX_WAITING_CLICKS = 10_000
RETRY_INTERVAL_SECONDS = 1.0
LOG_INTERVAL_SECONDS = 10.0


class EncodedClick(Struct, frozen=True, gc=False):
    """One click, ready to publish."""

    partition_key: int
    envelope: bytes


class ClickQueue:
    """Publishes clicks, queues those that Kafka rejects, and counts the lost and unknown."""

    def __init__(self, producer: Producer) -> None:
        self._producer = producer
        self._waiting: deque[EncodedClick] = deque()
        self._retry_task: asyncio.Task[None] | None = None
        self._in_flight = 0
        self._closed = False
        self._reported = float("-inf")
        self.lost = 0
        """Never sent: the queue was full, or they were still queued at shutdown."""
        self.unknown = 0
        """Sent, and not acknowledged."""

    @property
    def waiting(self) -> int:
        """Number of queued clicks."""
        return len(self._waiting)

    def record(self, click: EncodedClick) -> None:
        """Publish a click without waiting for the acknowledgement."""
        if self._waiting or not self._try_send(click):
            self._enqueue(click)

    def close(self) -> None:
        """Retry the queued clicks once and count the rest as lost; nothing is queued any more."""
        self._closed = True
        while self._waiting and self._try_send(self._waiting[0]):
            self._waiting.popleft()
        if self._retry_task is not None:
            self._retry_task.cancel()
        if self._waiting:
            self.lost += len(self._waiting)
            log.error("clicks lost at shutdown", extra={"clicks": len(self._waiting)})
            self._waiting.clear()

    def count_unacknowledged(self) -> None:
        """After the producer has closed: count the clicks without a report as unknown."""
        if self._in_flight:
            self.unknown += self._in_flight
            log.error("clicks not acknowledged at shutdown", extra={"clicks": self._in_flight})
            self._in_flight = 0

    def _try_send(self, click: EncodedClick) -> bool:
        try:
            delivery = self._producer.enqueue(CLICK.topic, click.partition_key, [click.envelope], 1)
        except Unavailable:
            return False
        self._in_flight += 1
        delivery.report.add_done_callback(partial(self._on_delivery, click))
        return True

    def _on_delivery(self, click: EncodedClick, report: "asyncio.Future[DeliveryReport]") -> None:
        if report.cancelled():
            return
        self._in_flight -= 1
        status = report.result().status
        if status is DeliveryStatus.NOT_SENT:
            self._enqueue(click)
        elif status is DeliveryStatus.UNKNOWN:
            self.unknown += 1
            self._log_loss("not acknowledged")

    def _enqueue(self, click: EncodedClick) -> None:
        if self._closed or len(self._waiting) >= MAX_WAITING_CLICKS:
            self.lost += 1
            self._log_loss("stopped" if self._closed else "queue full")
            return
        self._waiting.append(click)
        if self._retry_task is None:
            self._retry_task = asyncio.get_running_loop().create_task(self._retry_loop())

    async def _retry_loop(self) -> None:
        REQUEST_ID.set("")  # it sends the clicks of many requests
        CURRENT_SPAN.set(None)
        try:
            while self._waiting:
                await asyncio.sleep(RETRY_INTERVAL_SECONDS)
                while self._waiting and self._try_send(self._waiting[0]):
                    self._waiting.popleft()
        finally:
            self._retry_task = None

    def _log_loss(self, reason: str) -> None:
        """Log losses at most once per interval."""
        now = asyncio.get_running_loop().time()
        if now - self._reported >= LOG_INTERVAL_SECONDS:
            self._reported = now
            log.warning(
                "clicks not counted",
                extra={"reason": reason, "lost": self.lost, "unknown": self.unknown},
            )
