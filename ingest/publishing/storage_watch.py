"""StorageWatch: wait until committed offsets in the Delta logs cover a receipt.

The logs are polled only while a request waits, in threads of their own: an object store that does
not answer delays nothing else.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import asynccontextmanager

from msgspec import Struct

from schemas.errors import Unavailable
from schemas.kinds import ALL_KINDS
from schemas.lake.committed_offsets import (
    FOLLOW_TIMEOUT_SECONDS,
    SNAPSHOT_MAX_AGE_SECONDS,
    LogFollower,
    app_id,
    identity_app_id,
    log_source,
)
from schemas.lake.delta_table import transaction_version
from schemas.lake.object_store import is_object_store
from schemas.receipts import Receipt
from schemas.runtime.settings import Settings

log = logging.getLogger(__name__)

POLL_INTERVAL_SECONDS, REMOTE_POLL_SECONDS = 0.05, 0.2
"""Pauses between polls of a local log, and of one in an object store."""
EPOCH_POLL_SECONDS = 0.2
FOLLOW_SECONDS = 5.0
"""How long a request may wait for the logs before its items are accepted."""
MAX_WAITING_REQUESTS = 1_000
"""Maximum per collector."""

TABLE_BY_TOPIC = {kind.topic: kind.table for kind in ALL_KINDS}

LOG_SILENT = "table log not read in time"
LOG_UNREADABLE = "table log not readable"
TOO_MANY_WAITING = (
    "Too many requests are waiting for storage; nothing was accepted. Send it without 'wait'"
)
TABLES_NOT_LOCAL = (
    "This collector has no access to the tables; nothing was accepted. Send it without 'wait'"
)
TABLES_SILENT = (
    "The store of the tables does not answer; nothing was accepted. Send it without 'wait'"
)


class Waiter(Struct, frozen=True):
    """One request that waits for one chunk."""

    name: str
    """Transaction app id of the topic partition in the table."""
    offset: int
    stored: "asyncio.Future[None]"


class TableWatch:
    """Polls the log of one table while a request waits for it."""

    def __init__(self, log: LogFollower, interval: float, threads: Executor) -> None:
        self._log = log
        self._interval = interval
        self._threads = threads
        self._waiting: set[Waiter] = set()
        self._poll_task: asyncio.Task[None] | None = None
        self._reading: asyncio.Future[bool] | None = None
        self._reading_since = 0.0

    async def follow(self) -> None:
        """Read the log up to now, so that later commits are recognized; TimeoutError, OSError."""
        # A third, because the next poll must come well before the timeout.
        if not self._log.polled_within(FOLLOW_TIMEOUT_SECONDS / 3):
            reading = self._start_reading()
            ends = self._reading_since + FOLLOW_SECONDS
            await asyncio.wait((reading,), timeout=max(0.0, ends - time.monotonic()))
            if not reading.done():
                raise TimeoutError
            reading.result()

    async def poll(self) -> None:
        """Read the new entries of the log."""
        await asyncio.shield(self._start_reading())

    def _start_reading(self) -> "asyncio.Future[bool]":
        """The read that is in progress, or a new one; it goes on when nobody waits for it."""
        if self._reading is None or self._reading.done():
            loop = asyncio.get_running_loop()
            self._reading = loop.run_in_executor(self._threads, self._log.poll)
            self._reading.add_done_callback(_retrieve)
            self._reading_since = time.monotonic()
        return self._reading

    async def wait_for(self, name: str, offset: int) -> None:
        """Return when a query that starts then sees the chunk."""
        waiter = Waiter(name, offset, asyncio.get_running_loop().create_future())
        self._waiting.add(waiter)
        if self._poll_task is None:
            self._poll_task = asyncio.create_task(self._poll_loop())
        try:
            await waiter.stored
        finally:
            self._waiting.discard(waiter)
        # A query may read a table version that was looked up this long ago.
        await asyncio.sleep(SNAPSHOT_MAX_AGE_SECONDS)

    async def _poll_loop(self) -> None:
        try:
            while self._waiting:
                await self.poll()
                for waiter in self._waiting:
                    if self._log.contains(waiter.name, waiter.offset) and not waiter.stored.done():
                        waiter.stored.set_result(None)
                await asyncio.sleep(self._interval)
        except OSError as error:
            log.error(LOG_UNREADABLE, extra={"error": str(error)})
        finally:
            self._poll_task = None


class StorageWatch:
    """All requests of this collector that wait for storage."""

    def __init__(self, settings: Settings) -> None:
        self._topic = settings.topic
        self._watches = table_watches(settings)
        self._epochs = TopicEpochs(settings)
        self._free_slots = MAX_WAITING_REQUESTS

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Reserve a slot before anything is sent; Unavailable if none is free.

        Commits from now on are recognized.
        """
        if not self._free_slots:
            raise Unavailable(TOO_MANY_WAITING, retry_after=1)
        self._free_slots -= 1
        try:
            await self._follow()
            yield
        finally:
            self._free_slots += 1

    async def wait_for(self, receipts: list[Receipt], seconds: float) -> bool:
        """Whether all receipts are visible to queries within that time."""
        if any(receipt.offset < 0 for receipt in receipts):
            return False  # the offset is unknown
        try:
            async with asyncio.timeout(seconds), asyncio.TaskGroup() as group:
                for receipt in receipts:
                    group.create_task(self._wait_for(receipt))
        except TimeoutError:
            return False
        return True

    async def _follow(self) -> None:
        try:
            await asyncio.gather(*(watch.follow() for watch in set(self._watches.values())))
        except TimeoutError:
            log.error(LOG_SILENT)
            raise Unavailable(TABLES_SILENT) from None
        except OSError as error:
            log.error(LOG_UNREADABLE, extra={"error": str(error)})
            raise Unavailable(TABLES_NOT_LOCAL) from None

    async def _wait_for(self, receipt: Receipt) -> None:
        epoch = await self._epochs.get(receipt)
        name = app_id(epoch, self._topic(receipt.topic), receipt.partition)
        await self._watches[receipt.topic].wait_for(name, receipt.offset)


class TopicEpochs:
    """Topic epochs by topic id, as the tables record them."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._known: dict[tuple[str, str], int] = {}
        self._thread = ThreadPoolExecutor(1, "topic-epochs")

    async def get(self, receipt: Receipt) -> int:
        """The epoch of a receipt; waits until a worker has recorded a new topic id."""
        if not receipt.topic_id:
            return receipt.epoch
        topic_key = receipt.topic, receipt.topic_id
        while topic_key not in self._known:
            reading = asyncio.get_running_loop().run_in_executor(
                self._thread, self._read_epoch, *topic_key
            )
            if epoch := await reading:
                self._known[topic_key] = epoch
            else:
                await asyncio.sleep(EPOCH_POLL_SECONDS)
        return self._known[topic_key]

    def _read_epoch(self, topic: str, topic_id: str) -> int:
        name = identity_app_id(self._settings.topic(topic), topic_id)
        return transaction_version(self._settings.lake_url, TABLE_BY_TOPIC[topic], name)


def table_watches(settings: Settings) -> Mapping[str, TableWatch]:
    """A watch per topic, by name; topics whose items are in one table share it."""
    interval = REMOTE_POLL_SECONDS if is_object_store(settings.lake_url) else POLL_INTERVAL_SECONDS
    tables = {table.name: table for table in TABLE_BY_TOPIC.values()}
    threads = ThreadPoolExecutor(len(tables), "table-logs")
    watches = {
        name: TableWatch(LogFollower(log_source(settings.lake_url, table)), interval, threads)
        for name, table in tables.items()
    }
    return {topic: watches[table.name] for topic, table in TABLE_BY_TOPIC.items()}


def _retrieve(reading: "asyncio.Future[bool]") -> None:
    """Take the error of a read, which nobody may wait for any more."""
    if not reading.cancelled():
        reading.exception()
