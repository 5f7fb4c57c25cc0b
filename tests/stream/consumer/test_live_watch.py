"""A worker knows for a while that somebody looks, by a notice that changes."""

import asyncio
from pathlib import Path

from schemas.lake.live_notice import LiveNotice
from schemas.tables import EVENTS
from stream.consumer.live_watch import LIVE_SECONDS, READ_SECONDS, LiveWatch


class Worker:
    """Asks while a batch waits; the clock is the test's."""

    def __init__(self, lake: Path) -> None:
        self.now = 100.0
        self.watch = LiveWatch(str(lake), EVENTS, lambda: self.now)

    async def sees(self, seconds: float = READ_SECONDS) -> bool:
        """Whether somebody looks, as it is known so much later."""
        self.now += seconds
        self.watch.is_live()
        if self.watch._reading is not None:
            await self.watch._reading
        return self.watch.is_live()


def test_a_notice_that_changes_is_live_for_a_while(tmp_path: Path) -> None:
    async def watch() -> None:
        worker, notice = Worker(tmp_path), LiveNotice(str(tmp_path), EVENTS)
        assert not await worker.sees()

        notice.write(1_795_000_000_000)
        assert await worker.sees()
        assert await worker.sees(LIVE_SECONDS / 2)
        notice.write(1_795_000_005_000)
        assert await worker.sees(LIVE_SECONDS / 2)
        assert await worker.sees(LIVE_SECONDS - 1)
        assert not await worker.sees(2)

    asyncio.run(watch())


def test_a_notice_from_before_the_worker_is_not_live(tmp_path: Path) -> None:
    async def watch() -> None:
        notice = LiveNotice(str(tmp_path), EVENTS)
        notice.write(1_795_000_000_000)
        worker = Worker(tmp_path)
        assert not await worker.sees()
        assert not await worker.sees()
        notice.write(1_795_000_005_000)
        assert await worker.sees()

    asyncio.run(watch())
