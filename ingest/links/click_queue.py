"""Clicks: sent beside the answer. While Kafka is away they wait here, and none is lost silently.

A click that never left waits in memory until Kafka answers again. One that was handed over and not
acknowledged is counted as unknown rather than sent again: Kafka may have it, and it must not count
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

log = logging.getLogger(__name__)

MAX_WAITING_CLICKS = 10_000
RETRY_INTERVAL_SECONDS = 1.0
LOG_INTERVAL_SECONDS = 10.0


class EncodedClick(Struct, frozen=True, gc=False):
    """One click, ready to be sent."""

    partition_key: int
    envelope: bytes


class ClickQueue:
    """Sends clicks, keeps those that cannot be sent, and counts what became of neither."""

    def __init__(self, outbox: Producer) -> None:
        self._producer = outbox
        self._waiting: deque[EncodedClick] = deque()
        self._retry_task: asyncio.Task[None] | None = None
        self._in_flight = 0
        self._closed = False
        self._reported = float("-inf")
        self.lost = 0
        """Never got to Kafka: more than could wait, or still waiting when the collector stopped."""
        self.unknown = 0
        """Handed to Kafka, which did not acknowledge."""

    @property
    def waiting(self) -> int:
        """How many wait for Kafka."""
        return len(self._waiting)

    def record(self, click: EncodedClick) -> None:
        """Send a click; what becomes of it is seen to, and nobody has to wait."""
        if self._waiting or not self._try_send(click):
            self._enqueue(click)

    def close(self) -> None:
        """Try once more what waits, and count the rest as lost; from now on nothing waits."""
        self._closed = True
        while self._waiting and self._try_send(self._waiting[0]):
            self._waiting.popleft()
        if self._retry_task is not None:
            self._retry_task.cancel()
        if self._waiting:
            self.lost += len(self._waiting)
            log.error("clicks lost at the end", extra={"clicks": len(self._waiting)})
            self._waiting.clear()

    def count_unacknowledged(self) -> None:
        """The outbox has closed: what it has not answered by now is never known."""
        if self._in_flight:
            self.unknown += self._in_flight
            log.error("clicks not acknowledged at the end", extra={"clicks": self._in_flight})
            self._in_flight = 0

    def _try_send(self, click: EncodedClick) -> bool:
        try:
            ticket = self._producer.enqueue(CLICK.topic, click.partition_key, [click.envelope], 1)
        except Unavailable:
            return False
        self._in_flight += 1
        ticket.report.add_done_callback(partial(self._on_delivery, click))
        return True

    def _on_delivery(self, click: EncodedClick, answered: "asyncio.Future[DeliveryReport]") -> None:
        if answered.cancelled():
            return
        self._in_flight -= 1
        outcome = answered.result().status
        if outcome is DeliveryStatus.NOT_SENT:
            self._enqueue(click)
        elif outcome is DeliveryStatus.UNKNOWN:
            self.unknown += 1
            self._log_loss("not acknowledged")

    def _enqueue(self, click: EncodedClick) -> None:
        if self._closed or len(self._waiting) >= MAX_WAITING_CLICKS:
            self.lost += 1
            self._log_loss("stopped" if self._closed else "too many wait for Kafka")
            return
        self._waiting.append(click)
        if self._retry_task is None:
            self._retry_task = asyncio.get_running_loop().create_task(self._retry_loop())

    async def _retry_loop(self) -> None:
        try:
            while self._waiting:
                await asyncio.sleep(RETRY_INTERVAL_SECONDS)
                while self._waiting and self._try_send(self._waiting[0]):
                    self._waiting.popleft()
        finally:
            self._retry_task = None

    def _log_loss(self, reason: str) -> None:
        """One line of the log now and then, however many there are."""
        now = asyncio.get_running_loop().time()
        if now - self._reported >= LOG_INTERVAL_SECONDS:
            self._reported = now
            log.warning(
                "clicks not counted",
                extra={"reason": reason, "lost": self.lost, "unknown": self.unknown},
            )
