"""Finds reports that are due: once for each period, when all its events are there.

After a pause only the newest period is sent.
"""

import asyncio

from msgspec import structs

from query.dependencies import QueryDependencies
from query.notify.rules import GRACE_MS
from query.reports.schedule import Period, Schedule, due_ms, last_due, next_due_ms
from schemas.registry import Report, Website
from schemas.registry.notices import (
    Notice,
    NoticeEvent,
    RegistryNotices,
    new_notice,
    targets_of,
)


class ReportsDue:
    """Writes the notice of each report that is due."""

    def __init__(self, dependencies: QueryDependencies, notices: RegistryNotices) -> None:
        self._dependencies = dependencies
        self._notices = notices
        self._waiting: dict[str, tuple[Report, str, int, int]] = {}
        """Reports with the zone in which they have nothing to do from one instant to another."""

    async def write_due(self) -> int:
        """The number of notices that were written."""
        registry, written = self._dependencies.registry, 0
        for website_id, records in registry.saved.by_website.items():
            website = registry.websites.get(website_id)
            for report in records.values():
                if isinstance(report, Report) and website is not None and not report.paused:
                    written += await self._write(report, website)
        return written

    async def _write(self, report: Report, website: Website) -> bool:
        now, watermark = self._dependencies.clock(), self._dependencies.freshness.newest_watermark()
        schedule, zone = Schedule(report.schedule), website.timezone
        waiting = self._waiting.get(report.id)
        if waiting and waiting[:2] == (report, zone) and waiting[2] <= now < waiting[3]:
            return False
        await asyncio.sleep(0)  # all of them at once take long
        period, added = last_due(schedule, report.hour, zone, now), False
        if due_ms(period, report.hour, zone) >= report.created_at:
            if watermark is None or watermark < period.end_ms + GRACE_MS:
                return False
            notice = report_notice(report, period, now)
            saved = self._dependencies.registry.saved.of_website(website.id)
            targets = targets_of(report, saved.by_id)
            added = await self._dependencies.in_registry(
                lambda: self._notices.add(notice, targets, now)
            )
        until = next_due_ms(schedule, report.hour, zone, now)
        self._waiting[report.id] = (report, zone, now, until)
        return added


def report_notice(report: Report, period: Period, now_ms: int, *, once: bool = True) -> Notice:
    """The notice of a period; unless `once`, it may be sent again.

    The days of a period are told once, also if the website gets another time zone.
    """
    notice = new_notice(
        NoticeEvent.REPORT,
        report.website_id,
        (period.start_ms, period.end_ms),
        now_ms,
        report_id=report.id,
        once=once,
    )
    days = f"{report.id}.{period.first}.{period.last}"
    return structs.replace(notice, repetition=days) if once else notice
