"""First and last seen: of all events of a visitor, also those beyond the time range."""

from pathlib import Path
from typing import Any

import pytest

from query.scope.visitor_times import PREPARED_VISITORS, VISITOR_EVENTS, visitor_times_cte
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS, VISITORS
from schemas.telemetry.instruments import REGISTRY
from stream.maintenance.derivation import derive_file
from stream.maintenance.merge_plan import live_data_files
from stream.storage.delta_commit import LakeTable
from tests.query.custom.custom_requests import COUNT
from tests.query.custom.custom_requests import ask as custom
from tests.query.lake import a_view, an_error, an_identity
from tests.query.metrics_queries import ask, rows, where
from tests.query.query_service import InProcessService, reused, start_service

FIRST, LAST = "visitor.first_seen", "visitor.last_seen"


@reused
def service(tmp_path: Path) -> InProcessService:
    """An old visitor who comes back in December, a new one, and an error of nobody else."""
    service = start_service(tmp_path)
    service.holds(
        a_view("/", visitor="old", session="s2", at="2026-11-10T10:00:00Z"),
        a_view("/", visitor="old", session="s1", at="2025-02-28T23:30:00Z"),
        a_view("/", visitor="old", session="s3", at="2026-12-24T10:00:00Z"),
        a_view("/", visitor="old", session="s4", at="2024-01-01T10:00:00Z", website="blog"),
        a_view("/", visitor="new", session="s5", at="2026-11-11T10:00:00Z"),
        an_error("lost", visitor="silent", session="s6", at="2026-11-11T10:00:00Z"),
    )
    return service


def prepare(settings: Settings) -> None:
    """Compute what the keeper has in place of the events."""
    events, visitors = LakeTable(settings, EVENTS), LakeTable(settings, VISITORS.table)
    old = {f.path: f.day.isoformat() for f in live_data_files(visitors.handle, VISITORS.table)}
    files = live_data_files(events.handle, EVENTS)
    new = [derive_file(VISITORS, events, visitors, each) for each in files]
    added = [each for each in new if each.path not in old]
    visitors.replace_files({}, added)


def seen(service: InProcessService, **more: Any) -> Any:
    return rows(service, "visitors", dimensions=[FIRST, LAST], **more)


OLD = {FIRST: "2025-02-28T23:30:00.000Z", LAST: "2026-12-24T10:00:00.000Z", "visitors": 1}
NEW = {FIRST: "2026-11-11T10:00:00.000Z", LAST: "2026-11-11T10:00:00.000Z", "visitors": 1}


def test_instants_are_of_all_events_of_the_website(service: InProcessService) -> None:
    assert seen(service) == [OLD, NEW]


def test_an_event_that_comes_late_is_seen(service: InProcessService) -> None:
    service.holds(a_view("/", visitor="new", session="s0", at="2026-10-01T00:00:00Z"))

    assert seen(service) == [OLD, {**NEW, FIRST: "2026-10-01T00:00:00.000Z"}]


def test_buckets_are_those_of_the_time_zone(service: InProcessService) -> None:
    by = ["visitor.first_seen:month", "visitor.last_seen:day"]

    found = rows(service, "visitors", dimensions=by, timezone="Europe/Berlin")

    assert found == [
        {by[0]: "2025-03-01", by[1]: "2026-12-24", "visitors": 1},
        {by[0]: "2026-11-01", by[1]: "2026-11-11", "visitors": 1},
    ]


def test_a_filter_compares_instants(service: InProcessService) -> None:
    assert seen(service, filters=[where(FIRST, "2026-01-01T00:00:00Z", "lt")]) == [OLD]
    assert seen(service, filters=[where(LAST, "2026-12-24T10:00:00Z", "gte")]) == [OLD]
    assert seen(service, filters=[where("visitor.is_new", True)]) == [NEW]


def test_new_and_returning_visitors_are_metrics(service: InProcessService) -> None:
    found = rows(service, "visitors", "new_visitors", "returning_visitors")

    assert found == [{"visitors": 2, "new_visitors": 1, "returning_visitors": 1}]


def test_by_time_a_visitor_is_new_in_one_bucket(service: InProcessService) -> None:
    service.holds(a_view("/", visitor="new", session="s8", at="2026-11-13T10:00:00Z"))
    counts = ("visitors", "new_visitors", "returning_visitors")

    found = rows(service, *counts, dimensions=["time:day"])
    by_day = {row["time:day"]: tuple(row[name] for name in counts) for row in found}

    assert by_day["2026-11-11"] == (1, 1, 0)
    assert by_day["2026-11-13"] == (1, 0, 1)
    assert sum(row["new_visitors"] for row in found) == 1


def test_a_visitor_without_events_was_never_seen(service: InProcessService) -> None:
    month = "visitor.first_seen:month"
    found = rows(service, "errors", dimensions=[FIRST, month, "visitor.is_new"])

    assert found == [{FIRST: None, month: None, "visitor.is_new": True, "errors": 1}]


def test_a_person_is_seen_with_all_devices(service: InProcessService) -> None:
    service.holds(
        an_identity("anna", visitor="old", at="2026-11-20T10:00:00Z"),
        an_identity("anna", visitor="new", at="2026-11-20T10:00:00Z"),
    )

    assert seen(service, person="profile") == [OLD]


def test_a_device_that_becomes_known_later_is_of_a_returning_person(
    service: InProcessService,
) -> None:
    counts = ("visitors", "new_visitors", "returning_visitors")
    service.holds(
        an_identity("anna", visitor="old", at="2026-11-01T10:00:00Z"),
        an_identity("anna", visitor="new", at="2026-12-20T10:00:00Z"),
    )

    found = rows(service, *counts, person="profile")

    assert found == [dict(zip(counts, (1, 0, 1), strict=True))]


def test_in_a_query_of_several_websites_a_visitor_is_seen_in_any(service: InProcessService) -> None:
    assert seen(service, website="shop,blog") == [{**OLD, FIRST: "2024-01-01T10:00:00.000Z"}, NEW]


def test_events_of_bots_count_where_bots_are_included(service: InProcessService) -> None:
    service.holds(a_view("/", visitor="new", at="2026-09-01T10:00:00Z", is_bot=True))

    assert seen(service) == [OLD, NEW]
    assert seen(service, include_bots=True) == [OLD, {**NEW, FIRST: "2026-09-01T10:00:00.000Z"}]


def test_in_a_comparison_visitors_are_new_in_the_period_of_their_own(
    service: InProcessService,
) -> None:
    service.holds(
        a_view("/", visitor="new", session="s0", at="2026-10-31T10:00:00Z"),
        a_view("/", visitor="later", session="s7", at="2026-11-30T10:00:00Z"),
    )

    reply = ask(service, "new_visitors", "returning_visitors", compare={"to": "previous_period"})

    assert reply.json["data"] == [{"new_visitors": 1, "returning_visitors": 2}]
    [compared] = reply.json["comparison"]["rows"]
    assert compared["previous"] == {"new_visitors": 1, "returning_visitors": 0}


def test_prepared_visitors_change_no_result(service: InProcessService, tmp_path: Path) -> None:
    settings = Settings(data_dir=str(tmp_path))
    prepare(settings)
    assert seen(service) == [OLD, NEW]

    service.holds(a_view("/", visitor="new", session="s0", at="2026-10-01T00:00:00Z"))
    late = [OLD, {**NEW, FIRST: "2026-10-01T00:00:00.000Z"}]
    assert seen(service) == late

    prepare(settings)
    assert seen(service) == late


def test_data_files_are_counted_by_how_they_are_read(
    service: InProcessService, tmp_path: Path
) -> None:
    def read(source: str) -> float:
        return REGISTRY.get_sample_value("tidemark_visitor_sources_total", {"source": source}) or 0

    computed, prepared = read("computed"), read("prepared")
    seen(service)
    computed_then = read("computed")
    assert computed_then > computed
    assert read("prepared") == prepared

    prepare(Settings(data_dir=str(tmp_path)))
    seen(service)
    assert read("computed") == computed_then
    assert read("prepared") - prepared == computed_then - computed


def test_only_relations_with_data_files_are_read() -> None:
    assert VISITOR_EVENTS not in visitor_times_cte([PREPARED_VISITORS]).sql
    assert PREPARED_VISITORS not in visitor_times_cte([VISITOR_EVENTS]).sql


@pytest.mark.parametrize(
    ("fields", "end"),
    [
        (["visitor.is_new"], "2026-11-01T00:00:00.000Z"),
        (["visitor.is_new", FIRST], "2100-01-01T00:00:00.000Z"),
    ],
)
def test_who_is_new_is_decided_by_the_events_before_the_time_range(
    service: InProcessService, fields: list[str], end: str
) -> None:
    query = {"table": "events", "selects": [COUNT], "groupBy": fields}

    reply = custom(service, query, "/v1/query/compile")

    assert reply.json["values"]["visitor_events_end"] == end
