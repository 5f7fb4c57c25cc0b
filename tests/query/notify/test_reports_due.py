"""Reports are written once for each period, when it is due and all its events are stored."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from query.notify.reports_due import ReportsDue
from schemas.registry import Report
from schemas.registry.notices import RegistryNotices
from schemas.runtime.clock import format_instant
from tests.query.notify.times import Times, at_times, ms
from tests.query.query_service import InProcessService, reused, start_service

OPS = "ops@shop.example"
"""Reports are created on Monday, 30 November 2026, at 00:53:20."""


class Reports(Struct):
    """A service whose reports are looked at at given times."""

    service: InProcessService
    times: Times
    reports: ReportsDue
    notices: RegistryNotices

    def save(self, **body: Any) -> str:
        """The id of a new report of the shop."""
        members = {"name": "r", "schedule": "daily", "recipients": [OPS], **body}
        reply = self.service.ask(
            "POST", "/v1/reports", members, key="acme-admin", website_id="shop"
        )
        assert reply.status == 201, reply.json
        return str(reply.json["data"]["id"])

    def look(self, now: str, stored_until: str | None = None) -> int:
        """Look once; how many were written."""
        self.times.move(stored_until or now, now)
        return asyncio.run(self.reports.write_due())

    def periods(self, report_id: str) -> list[tuple[str | None, str | None]]:
        """Periods that were written, the oldest first."""
        newest = [notice for notice, _ in self.notices.history(9, report_id=report_id)]
        return [
            (format_instant(one.start_at), format_instant(one.end_at)) for one in reversed(newest)
        ]


def reports_of(service: InProcessService) -> Reports:
    dependencies, times = at_times(service)
    notices = service.store.notices()
    return Reports(service, times, ReportsDue(dependencies, notices), notices)


@reused
def service(tmp_path: Path) -> InProcessService:
    return start_service(tmp_path)


@pytest.fixture
def reports(service: InProcessService) -> Reports:
    return reports_of(service)


def test_a_daily_report_is_written_once_a_day(reports: Reports) -> None:
    report_id = reports.save()

    written = [
        reports.look("2026-11-30T06:59:59Z"),
        reports.look("2026-11-30T07:00:00Z"),
        reports.look("2026-11-30T07:00:02Z"),
        reports.look("2026-12-01T06:59:59Z"),
        reports.look("2026-12-01T07:00:00Z"),
    ]

    assert written == [0, 1, 0, 0, 1]
    assert reports.periods(report_id) == [
        ("2026-11-29T00:00:00.000Z", "2026-11-30T00:00:00.000Z"),
        ("2026-11-30T00:00:00.000Z", "2026-12-01T00:00:00.000Z"),
    ]
    (_, [delivery]), _ = reports.notices.history(9, report_id=report_id)
    assert (delivery.target, delivery.due_at) == (OPS, ms("2026-12-01T07:00:00Z"))


def test_the_hour_is_one_of_the_website(reports: Reports) -> None:
    zone = {"timezone": "Asia/Kathmandu"}  # 5 h 45 min ahead
    path = "/v1/websites/shop"
    assert reports.service.ask("PATCH", path, zone, key="acme-admin").status == 200
    report_id = reports.save(hour=8)

    assert [reports.look(f"2026-11-30T02:{text}:00Z") for text in ("14", "15")] == [0, 1]
    assert reports.periods(report_id) == [("2026-11-28T18:15:00.000Z", "2026-11-29T18:15:00.000Z")]


def test_a_report_waits_until_its_events_are_stored(reports: Reports) -> None:
    reports.save()

    written = [
        reports.look("2026-11-30T07:00:00Z", stored_until="2026-11-30T00:00:59Z"),
        reports.look("2026-11-30T09:00:00Z", stored_until="2026-11-30T00:01:00Z"),
    ]

    assert written == [0, 1]


def test_a_new_report_does_not_begin_with_the_past(reports: Reports) -> None:
    daily = reports.save(hour=0)
    weekly = reports.save(schedule="weekly", name="w", hour=0)

    assert reports.look("2026-11-30T01:00:00Z") == 0
    assert reports.look("2026-12-01T00:01:00Z") == 1
    assert (len(reports.periods(daily)), len(reports.periods(weekly))) == (1, 0)


def test_after_a_pause_the_newest_period_is_written(reports: Reports) -> None:
    report_id = reports.save()

    assert reports.look("2026-12-04T08:00:00Z") == 1
    assert reports.periods(report_id) == [("2026-12-03T00:00:00.000Z", "2026-12-04T00:00:00.000Z")]


def test_a_paused_report_is_not_written(reports: Reports) -> None:
    reports.save(paused=True)

    assert reports.look("2026-11-30T08:00:00Z") == 0


def test_another_process_does_not_write_it_again(
    reports: Reports, service: InProcessService
) -> None:
    report_id = reports.save()
    reports.look("2026-11-30T08:00:00Z")

    assert reports_of(service).look("2026-11-30T08:00:01Z") == 0
    assert len(reports.periods(report_id)) == 1


def test_a_report_that_was_deleted_meanwhile_stops_no_other(reports: Reports) -> None:
    deleted, other = reports.save(), reports.save(name="other")
    reports.service.store.delete(Report, deleted)  # the snapshot has it still

    assert reports.look("2026-11-30T08:00:00Z") == 1
    assert len(reports.periods(other)) == 1
