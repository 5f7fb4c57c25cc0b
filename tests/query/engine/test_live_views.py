"""Queries of what happens now are noted beside their table, at most every few seconds."""

import asyncio
import logging
from pathlib import Path

import pytest

from query.engine.live_views import NOTICE_SECONDS, RETRY_SECONDS, LiveViews
from query.standard.query_types import QUERY_TYPES
from schemas.lake.live_notice import LIVE_FOLDER, LiveNotice
from schemas.tables import EVENTS
from tests.installation import eventually
from tests.query.lake import a_view
from tests.query.query_service import InProcessService


class Page:
    """Asks again and again; a second is a tick."""

    def __init__(self, lake: Path) -> None:
        self.now = 0.0
        self.lake = lake
        self.views = LiveViews(str(lake), lambda: int(self.now * 1000) + 1, lambda: self.now)

    async def notices(self, seconds: int) -> int:
        """How often the notice changes during so many seconds."""
        seen = set()
        for _ in range(seconds):
            self.now += 1
            self.views.note(EVENTS)
            await asyncio.gather(*self.views._writing)
            seen.add(LiveNotice(str(self.lake), EVENTS).read())
        return len(seen - {0})


def test_a_notice_is_written_every_few_seconds_while_somebody_looks(tmp_path: Path) -> None:
    assert asyncio.run(Page(tmp_path).notices(10 * int(NOTICE_SECONDS))) == 10


def test_a_lake_that_cannot_be_written_is_tried_again_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def ask() -> None:
        page = Page(tmp_path / "lake")
        with caplog.at_level(logging.WARNING):
            assert await page.notices(2 * int(RETRY_SECONDS)) == 0
        (tmp_path / "lake").mkdir()
        assert await page.notices(int(RETRY_SECONDS)) >= 1

    asyncio.run(ask())
    assert [record.message for record in caplog.records] == ["live queries not announced"]


def test_queries_of_what_happens_now_are_noted(service: InProcessService) -> None:
    service.holds(a_view("/"))
    notice = service.lake.root / LIVE_FOLDER / EVENTS.name

    assert service.query("summary_metrics").status == 200
    assert not notice.exists()
    assert service.query("realtime_pages").status == 200
    eventually(notice.exists)


def test_the_types_of_the_last_minutes_are_live() -> None:
    live = {name for name, query_type in QUERY_TYPES.items() if query_type.is_live}

    assert live == {
        "active_stats", "realtime_cities", "realtime_countries", "realtime_feed",
        "realtime_pages", "realtime_referrers", "realtime_sessions", "realtime_velocity",
    }  # fmt: skip
