"""Waits until chunks are stored: the tables' logs say it, looked at only while somebody waits."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from msgspec import Struct

from schemas.errors import Unavailable
from schemas.kinds import EVERY_KIND
from schemas.lake.committed_offsets import (
    FORGETS_SECONDS,
    FRESH_SECONDS,
    Log,
    app_id,
    identity_app_id,
    log_folder,
)
from schemas.lake.delta_table import recorded
from schemas.receipts import Receipt
from schemas.runtime.settings import Settings

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.05
EPOCH_SECONDS = 0.2
MOST_WAITING = 1_000
"""Requests that may wait in one collector."""

TABLE_OF = {kind.topic: kind.table for kind in EVERY_KIND}

UNREAD = "log of a table not read"
TOO_MANY = "Too many requests wait to be stored; nothing was taken. Send it without 'wait'"
ELSEWHERE = "The collector cannot see the tables; nothing was taken. Send it without 'wait'"


class Waiter(Struct, frozen=True):
    """Somebody who waits for one chunk."""

    name: str
    """The topic partition, as its table calls it."""
    offset: int
    came: "asyncio.Future[None]"


class Watch:
    """Looks at one table's log, again and again while there is somebody who waits."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._waiting: set[Waiter] = set()
        self._looking: asyncio.Task[None] | None = None
        self._one_at_a_time = asyncio.Lock()

    async def follow(self) -> None:
        """Stand in the log, so that what is committed from now on will be seen."""
        if not self._log.looked_within(FORGETS_SECONDS / 3):  # the next look comes long before it
            await self.look()

    async def look(self) -> None:
        """Take in what the log says now."""
        async with self._one_at_a_time:
            await asyncio.to_thread(self._log.look)

    async def until(self, name: str, offset: int) -> None:
        """Return when a question that is asked then sees the chunk."""
        waiter = Waiter(name, offset, asyncio.get_running_loop().create_future())
        self._waiting.add(waiter)
        if self._looking is None:
            self._looking = asyncio.create_task(self._look_on())
        try:
            await waiter.came
        finally:
            self._waiting.discard(waiter)
        await asyncio.sleep(FRESH_SECONDS)  # a question may pin what was looked at so long ago

    async def _look_on(self) -> None:
        try:
            while self._waiting:
                await self.look()
                for waiter in self._waiting:
                    if self._log.holds(waiter.name, waiter.offset) and not waiter.came.done():
                        waiter.came.set_result(None)
                await asyncio.sleep(LOOK_SECONDS)
        except OSError as error:
            log.error(UNREAD, extra={"error": str(error)})
        finally:
            self._looking = None


class Waits:
    """Everybody who waits in this collector."""

    def __init__(self, settings: Settings) -> None:
        self._topic = settings.topic
        self._watches = watches(settings)
        self._epochs = Epochs(settings)
        self._room = MOST_WAITING

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """A place for one who waits, before anything is sent; Unavailable when there is none.

        What is committed from now on will be seen.
        """
        if not self._watches:
            raise Unavailable(ELSEWHERE)
        if not self._room:
            raise Unavailable(TOO_MANY, retry_after=1)
        self._room -= 1
        try:
            await self._follow()
            yield
        finally:
            self._room += 1

    async def until(self, receipts: list[Receipt], seconds: float) -> bool:
        """Whether all of it can be asked for by then."""
        if any(receipt.offset < 0 for receipt in receipts):
            return False  # nobody knows where it lies
        try:
            async with asyncio.timeout(seconds), asyncio.TaskGroup() as group:
                for receipt in receipts:
                    group.create_task(self._until(receipt))
        except TimeoutError:
            return False
        return True

    async def _follow(self) -> None:
        try:
            await asyncio.gather(*(watch.follow() for watch in set(self._watches.values())))
        except OSError as error:
            log.error(UNREAD, extra={"error": str(error)})
            raise Unavailable(ELSEWHERE) from None

    async def _until(self, receipt: Receipt) -> None:
        epoch = await self._epochs.of(receipt)
        name = app_id(epoch, self._topic(receipt.topic), receipt.partition)
        await self._watches[receipt.topic].until(name, receipt.offset)


class Epochs:
    """Under which epoch the tables keep the offsets of the topics that Kafka has."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._known: dict[tuple[str, str], int] = {}

    async def of(self, receipt: Receipt) -> int:
        """The receipt's epoch; waits for the first worker that meets a topic that is new."""
        if not receipt.topic_id:
            return receipt.epoch
        making = receipt.topic, receipt.topic_id
        while making not in self._known:
            if found := await asyncio.to_thread(self._recorded, *making):
                self._known[making] = found
            else:
                await asyncio.sleep(EPOCH_SECONDS)
        return self._known[making]

    def _recorded(self, topic: str, topic_id: str) -> int:
        name = identity_app_id(self._settings.topic(topic), topic_id)
        return recorded(self._settings.lake_url, TABLE_OF[topic], name)


def watches(settings: Settings) -> Mapping[str, Watch]:
    """A watch for each topic, by its name; none when the tables lie elsewhere."""
    folders = {kind.topic: log_folder(settings.lake_url, kind.table) for kind in EVERY_KIND}
    made: dict[object, Watch] = {
        folder: Watch(Log(folder)) for folder in folders.values() if folder is not None
    }
    return {topic: made[folder] for topic, folder in folders.items() if folder in made}
