"""Sessions of whole UTC days come from prepared rows, the others from events."""

from pathlib import Path
from typing import Any

import pytest

from query.request.time_range import TimeRange
from query.scope.scope import BUCKET, MS
from query.scope.session_rows import VALUES, whole_days
from query.sql.portable import names_in
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS, SESSIONS
from stream.maintenance.derivation import derive_file
from stream.maintenance.merge_plan import live_data_files
from stream.storage.delta_commit import LakeTable
from tests.query.custom.custom_requests import ask
from tests.query.lake import a_view, an_event
from tests.query.metrics_queries import rows as metric_rows
from tests.query.metrics_queries import where
from tests.query.query_service import InProcessService, reused, start_service

HOUR = 3_600_000
DAY = 24 * HOUR


@reused
def service(tmp_path: Path) -> InProcessService:
    """A visit over midnight in UTC, and one of the evening after."""
    service = start_service(tmp_path)
    service.holds(
        a_view("/in", visitor="u1", session="s1", at="2026-11-10T23:50:00Z", channel="Email"),
        a_view("/out", visitor="u1", session="s1", at="2026-11-11T00:10:00Z"),
        an_event("signup", visitor="u2", session="s1", at="2026-11-11T00:11:00Z"),
        a_view("/in", visitor="u2", session="s2", at="2026-11-11T22:30:00Z"),
    )
    return service


def prepare(folder: Path) -> None:
    """Compute what the keeper has in place of the events."""
    settings = Settings(data_dir=str(folder))
    events, target = LakeTable(settings, EVENTS), LakeTable(settings, SESSIONS.table)
    files = live_data_files(events.handle, EVENTS)
    target.replace_files({}, [derive_file(SESSIONS, events, target, each) for each in files])


def found(service: InProcessService, path: str = "/v1/query/custom", **more: Any) -> Any:
    """The sessions of some days, or the SQL for them."""
    query = {
        "table": "sessions",
        "selects": [{"field": "duration", "aggregate": "sum", "alias": "seconds"}],
        "groupBy": ["session_id", "anonymous_id", "entry_path", "channel", "page_views"],
        "filters": more.pop("filters", []),
    }
    days = {"startDate": "2026-11-10", "endDate": "2026-11-11", **more}
    reply = ask(service, query, path, **days)
    assert reply.status == 200, reply.json
    return reply.json


ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu")


@pytest.mark.parametrize("zone", ZONES)
def test_sessions_are_the_same_from_prepared_rows(
    service: InProcessService, tmp_path: Path, zone: str
) -> None:
    before = found(service, timezone=zone)["data"]
    assert before

    prepare(tmp_path)

    assert found(service, timezone=zone)["data"] == before
    sql = found(service, "/v1/query/compile", timezone=zone)["sql"]
    assert "prepared_sessions" in sql
    assert ("events_before" in sql) == ("events_after" in sql) == (zone != "UTC")


def test_a_day_that_cuts_two_utc_days_is_read_from_events(
    service: InProcessService, tmp_path: Path
) -> None:
    prepare(tmp_path)
    a_day = {"startDate": "2026-11-11", "timezone": "Asia/Kathmandu"}

    assert "prepared_sessions" not in found(service, "/v1/query/compile", **a_day)["sql"]


def test_what_visitors_did_is_read_from_events(service: InProcessService, tmp_path: Path) -> None:
    prepare(tmp_path)
    signed_up = [{"has_done": {"event": "signup"}}]

    assert [row["session_id"] for row in found(service, filters=signed_up)["data"]] == ["s2"]


@pytest.mark.parametrize("zone", ZONES)
def test_metrics_of_visits_are_the_same_from_prepared_rows(
    service: InProcessService, tmp_path: Path, zone: str
) -> None:
    metrics = ["visits", "bounce_rate", "visit_duration", "median_visit_duration"]
    asked: list[dict[str, Any]] = [
        {"dimensions": ["time:day"]},
        {"dimensions": ["visit.entry_page", "visit.channel"]},
        {"filters": [where("visit.channel", "Email")]},
        {"filters": [where("visit.entry_page", "/in")], "dimensions": ["path"]},
        {"filters": [where("path", "/out")]},
    ]
    days = {"startDate": "2026-11-10", "endDate": "2026-11-11", "timezone": zone}
    before = [metric_rows(service, *metrics, **days, **each) for each in asked]
    assert all(before)

    prepare(tmp_path)

    assert [metric_rows(service, *metrics, **days, **each) for each in asked] == before


@pytest.mark.parametrize(
    ("start", "end", "whole"),
    [
        (0, 2 * DAY, (0, 2 * DAY)),
        (HOUR, 2 * DAY + HOUR, (DAY, 2 * DAY)),
        (HOUR, DAY + HOUR, None),
        (HOUR, DAY, None),
        (-HOUR, DAY, (0, DAY)),
    ],
)
def test_whole_days_lie_in_the_time_range(
    start: int, end: int, whole: tuple[int, int] | None
) -> None:
    days = whole_days(TimeRange(start, end, "UTC"))

    assert (days and (days.start_ms, days.end_ms)) == whole


def test_prepared_values_are_columns_of_the_table() -> None:
    columns = {MS, BUCKET, *(column.name for column in SESSIONS.table.columns)}
    prepared = [value.prepared_sql for value in VALUES.values() if value.prepared_sql]

    assert frozenset().union(*map(names_in, prepared)) <= columns
