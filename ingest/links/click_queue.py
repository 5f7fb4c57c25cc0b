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

from ingest.dependencies import Outbox
from ingest.publishing.partition_queue import Answer, Outcome
from schemas.errors import Unavailable
from schemas.kinds import CLICK

log = logging.getLogger(__name__)

MOST_WAITING = 10_000
AGAIN_SECONDS = 1.0
REPORT_SECONDS = 10.0


class Sealed(Struct, frozen=True, gc=False):
    """One click, ready to be sent."""

    place: int
    envelope: bytes


class Clicks:
    """Sends clicks, keeps those that cannot be sent, and counts what became of neither."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._waiting: deque[Sealed] = deque()
        self._sending: asyncio.Task[None] | None = None
        self._under_way = 0
        self._over = False
        self._reported = float("-inf")
        self.lost = 0
        """Never got to Kafka: more than could wait, or still waiting when the collector stopped."""
        self.unknown = 0
        """Handed to Kafka, which did not acknowledge."""

    @property
    def waiting(self) -> int:
        """How many wait for Kafka."""
        return len(self._waiting)

    def record(self, click: Sealed) -> None:
        """Send a click; what becomes of it is seen to, and nobody has to wait."""
        if self._waiting or not self._sent(click):
            self._keep(click)

    def close(self) -> None:
        """Try once more what waits, and count the rest as lost; from now on nothing waits."""
        self._over = True
        while self._waiting and self._sent(self._waiting[0]):
            self._waiting.popleft()
        if self._sending is not None:
            self._sending.cancel()
        if self._waiting:
            self.lost += len(self._waiting)
            log.error("clicks lost at the end", extra={"clicks": len(self._waiting)})
            self._waiting.clear()

    def settle(self) -> None:
        """The outbox has closed: what it has not answered by now is never known."""
        if self._under_way:
            self.unknown += self._under_way
            log.error("clicks not acknowledged at the end", extra={"clicks": self._under_way})
            self._under_way = 0

    def _sent(self, click: Sealed) -> bool:
        try:
            ticket = self._outbox.put(CLICK.topic, click.place, [click.envelope], 1)
        except Unavailable:
            return False
        self._under_way += 1
        ticket.answered.add_done_callback(partial(self._account, click))
        return True

    def _account(self, click: Sealed, answered: "asyncio.Future[Answer]") -> None:
        if answered.cancelled():
            return
        self._under_way -= 1
        outcome = answered.result().outcome
        if outcome is Outcome.NOT_SENT:
            self._keep(click)
        elif outcome is Outcome.UNKNOWN:
            self.unknown += 1
            self._report("not acknowledged")

    def _keep(self, click: Sealed) -> None:
        if self._over or len(self._waiting) >= MOST_WAITING:
            self.lost += 1
            self._report("stopped" if self._over else "too many wait for Kafka")
            return
        self._waiting.append(click)
        if self._sending is None:
            self._sending = asyncio.get_running_loop().create_task(self._send_on())

    async def _send_on(self) -> None:
        try:
            while self._waiting:
                await asyncio.sleep(AGAIN_SECONDS)
                while self._waiting and self._sent(self._waiting[0]):
                    self._waiting.popleft()
        finally:
            self._sending = None

    def _report(self, reason: str) -> None:
        """One line of the log now and then, however many there are."""
        now = asyncio.get_running_loop().time()
        if now - self._reported >= REPORT_SECONDS:
            self._reported = now
            log.warning(
                "clicks not counted",
                extra={"reason": reason, "lost": self.lost, "unknown": self.unknown},
            )
