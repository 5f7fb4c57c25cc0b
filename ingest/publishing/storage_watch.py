"""Waits until chunks are stored: the tables' logs say it, looked at only while somebody waits."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
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
    log_folder,
)
from schemas.lake.delta_table import transaction_version
from schemas.receipts import Receipt
from schemas.runtime.settings import Settings

log = logging.getLogger(__name__)

POLL_INTERVAL_SECONDS = 0.05
EPOCH_POLL_SECONDS = 0.2
MAX_WAITING_REQUESTS = 1_000
"""Requests that may wait in one collector."""

TABLE_BY_TOPIC = {kind.topic: kind.table for kind in ALL_KINDS}

LOG_UNREADABLE = "log of a table not read"
TOO_MANY_WAITING = "Too many requests wait to be stored; nothing was taken. Send it without 'wait'"
TABLES_NOT_LOCAL = "The collector cannot see the tables; nothing was taken. Send it without 'wait'"


class Waiter(Struct, frozen=True):
    """Somebody who waits for one chunk."""

    name: str
    """The topic partition, as its table calls it."""
    offset: int
    stored: "asyncio.Future[None]"


class TableWatch:
    """Looks at one table's log, again and again while there is somebody who waits."""

    def __init__(self, log: LogFollower) -> None:
        self._log = log
        self._waiting: set[Waiter] = set()
        self._poll_task: asyncio.Task[None] | None = None
        self._poll_lock = asyncio.Lock()

    async def follow(self) -> None:
        """Stand in the log, so that what is committed from now on will be seen."""
        if not self._log.polled_within(
            FOLLOW_TIMEOUT_SECONDS / 3
        ):  # the next look comes long before it
            await self.poll()

    async def poll(self) -> None:
        """Take in what the log says now."""
        async with self._poll_lock:
            await asyncio.to_thread(self._log.poll)

    async def wait_for(self, name: str, offset: int) -> None:
        """Return when a question that is asked then sees the chunk."""
        waiter = Waiter(name, offset, asyncio.get_running_loop().create_future())
        self._waiting.add(waiter)
        if self._poll_task is None:
            self._poll_task = asyncio.create_task(self._poll_loop())
        try:
            await waiter.stored
        finally:
            self._waiting.discard(waiter)
        await asyncio.sleep(
            SNAPSHOT_MAX_AGE_SECONDS
        )  # a question may pin what was looked at so long ago

    async def _poll_loop(self) -> None:
        try:
            while self._waiting:
                await self.poll()
                for waiter in self._waiting:
                    if self._log.contains(waiter.name, waiter.offset) and not waiter.stored.done():
                        waiter.stored.set_result(None)
                await asyncio.sleep(POLL_INTERVAL_SECONDS)
        except OSError as error:
            log.error(LOG_UNREADABLE, extra={"error": str(error)})
        finally:
            self._poll_task = None


class StorageWatch:
    """Everybody who waits in this collector."""

    def __init__(self, settings: Settings) -> None:
        self._topic = settings.topic
        self._watches = table_watches(settings)
        self._epochs = TopicEpochs(settings)
        self._free_slots = MAX_WAITING_REQUESTS

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """A place for one who waits, before anything is sent; Unavailable when there is none.

        What is committed from now on will be seen.
        """
        if not self._watches:
            raise Unavailable(TABLES_NOT_LOCAL)
        if not self._free_slots:
            raise Unavailable(TOO_MANY_WAITING, retry_after=1)
        self._free_slots -= 1
        try:
            await self._follow()
            yield
        finally:
            self._free_slots += 1

    async def wait_for(self, receipts: list[Receipt], seconds: float) -> bool:
        """Whether all of it can be asked for by then."""
        if any(receipt.offset < 0 for receipt in receipts):
            return False  # nobody knows where it lies
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
        except OSError as error:
            log.error(LOG_UNREADABLE, extra={"error": str(error)})
            raise Unavailable(TABLES_NOT_LOCAL) from None

    async def _wait_for(self, receipt: Receipt) -> None:
        epoch = await self._epochs.get(receipt)
        name = app_id(epoch, self._topic(receipt.topic), receipt.partition)
        await self._watches[receipt.topic].wait_for(name, receipt.offset)


class TopicEpochs:
    """Under which epoch the tables keep the offsets of the topics that Kafka has."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._known: dict[tuple[str, str], int] = {}

    async def get(self, receipt: Receipt) -> int:
        """The receipt's epoch; waits for the first worker that meets a topic that is new."""
        if not receipt.topic_id:
            return receipt.epoch
        making = receipt.topic, receipt.topic_id
        while making not in self._known:
            if found := await asyncio.to_thread(self._read_epoch, *making):
                self._known[making] = found
            else:
                await asyncio.sleep(EPOCH_POLL_SECONDS)
        return self._known[making]

    def _read_epoch(self, topic: str, topic_id: str) -> int:
        name = identity_app_id(self._settings.topic(topic), topic_id)
        return transaction_version(self._settings.lake_url, TABLE_BY_TOPIC[topic], name)


def table_watches(settings: Settings) -> Mapping[str, TableWatch]:
    """A watch for each topic, by its name; none when the tables lie elsewhere."""
    folders = {kind.topic: log_folder(settings.lake_url, kind.table) for kind in ALL_KINDS}
    made: dict[object, TableWatch] = {
        folder: TableWatch(LogFollower(folder)) for folder in folders.values() if folder is not None
    }
    return {topic: made[folder] for topic, folder in folders.items() if folder in made}
