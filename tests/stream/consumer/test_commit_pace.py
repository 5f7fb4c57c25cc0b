"""Small batches wait while commits are not to spare, and shortly while somebody looks."""

import asyncio
from pathlib import Path

from schemas.lake.live_notice import LiveNotice
from schemas.tables import EVENTS
from stream.consumer.commit_pace import (
    FEW_ITEMS,
    LIVE_COMMIT_SECONDS,
    LIVE_SECONDS,
    READ_SECONDS,
    SPARE_COMMITS,
    CommitPace,
    LiveWatch,
)

QUIET_SECONDS = 15.0


class Arrivals:
    """A second is a tick; each brings so many items."""

    def __init__(self, quiet_seconds: float = QUIET_SECONDS) -> None:
        self.now = 0.0
        self.items = 0
        self.is_live = False
        self.asked = 0
        self.pace = CommitPace(quiet_seconds, self._is_live, lambda: self.now)

    def _is_live(self) -> bool:
        self.asked += 1
        return self.is_live

    def commits(self, seconds: int, items: int, awaited: bool = False) -> int:
        """Commits during so many seconds."""
        commits = 0
        for _ in range(seconds):
            self.now += 1
            self.items += items
            if self.items and self.pace.allows(self.items, awaited):
                commits, self.items = commits + 1, 0
        return commits


def test_an_item_a_second_needs_at_most_250_batches_an_hour() -> None:
    assert Arrivals().commits(3600, 1) <= 250


def test_after_a_pause_the_first_items_do_not_wait() -> None:
    arrivals = Arrivals()
    arrivals.commits(600, 1)
    arrivals.commits(200, 0)

    assert arrivals.commits(SPARE_COMMITS, 1) == SPARE_COMMITS


def test_no_item_waits_longer_than_the_quiet_seconds() -> None:
    arrivals = Arrivals()
    arrivals.commits(100, 1)

    assert all(arrivals.commits(int(QUIET_SECONDS), 1) == 1 for _ in range(20))


def test_while_somebody_looks_no_item_waits_longer_than_a_live_commit() -> None:
    arrivals = Arrivals()
    arrivals.commits(100, 1)
    arrivals.is_live = True

    assert arrivals.commits(1, 1) == 1, "the first look finds what has waited"
    assert all(arrivals.commits(int(LIVE_COMMIT_SECONDS), 1) == 1 for _ in range(20))


def test_a_page_that_looks_all_the_time_costs_at_most_720_batches_an_hour() -> None:
    arrivals = Arrivals()
    arrivals.commits(100, 1)
    arrivals.is_live = True
    assert 700 <= arrivals.commits(3600, 1) <= 720

    arrivals.is_live = False
    assert arrivals.commits(3600, 1) <= 250


def test_nobody_is_looked_for_while_nothing_waits() -> None:
    arrivals = Arrivals()
    arrivals.commits(SPARE_COMMITS, 1)
    arrivals.commits(600, FEW_ITEMS)

    assert arrivals.asked == 0


def test_many_items_do_not_wait() -> None:
    assert Arrivals().commits(600, FEW_ITEMS) == 600


def test_awaited_items_do_not_wait() -> None:
    assert Arrivals().commits(600, 1, awaited=True) == 600


def test_without_quiet_seconds_nothing_waits() -> None:
    assert Arrivals(0).commits(600, 1) == 600


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
