"""Metrics by hand: three visits, of which one comes by search, sees two pages and buys."""

from pathlib import Path

from tests.query.lake import a_view, an_event
from tests.query.metrics_queries import rows, three_visits, where
from tests.query.query_service import InProcessService, reused, start_service
from tests.query.times import at

OF_VISITS = ("visits", "bounce_rate", "visit_duration", "median_visit_duration", "views_per_visit")


@reused
def service(tmp_path: Path) -> InProcessService:
    service = start_service(tmp_path)
    service.holds(*three_visits())
    return service


def test_totals(service: InProcessService) -> None:
    found = rows(service, "visitors", "page_views", "events", *OF_VISITS, "time_on_page")

    assert found == [
        {
            "visitors": 3,
            "page_views": 4,
            "events": 5,
            "visits": 3,
            "bounce_rate": 66.67,
            "visit_duration": 41.17,  # 120 s, 3.5 s, 0 s
            "median_visit_duration": 3.5,
            "views_per_visit": 1.33,
            "time_on_page": 3.5,
        }
    ]


def test_nothing_has_counts_of_zero_and_no_ratios(service: InProcessService) -> None:
    found = rows(service, "visitors", "visits", "bounce_rate", filters=[where("country", "FR")])

    assert found == [{"visitors": 0, "visits": 0, "bounce_rate": None}]


def test_rows_and_visits_by_a_fact_of_the_visit(service: InProcessService) -> None:
    found = rows(service, "page_views", *OF_VISITS, dimensions=["visit.channel"])

    assert found == [
        {
            "visit.channel": "Direct",
            "page_views": 2,
            "visits": 2,
            "bounce_rate": 100.0,
            "visit_duration": 1.75,
            "median_visit_duration": 1.75,
            "views_per_visit": 1.0,
        },
        {
            "visit.channel": "Organic Search",
            "page_views": 2,
            "visits": 1,
            "bounce_rate": 0.0,
            "visit_duration": 120.0,
            "median_visit_duration": 120.0,
            "views_per_visit": 2.0,
        },
    ]


def test_by_page_a_visit_counts_for_each_page_it_saw(service: InProcessService) -> None:
    found = rows(service, "visits", "bounce_rate", "entries", "exits", dimensions=["path"])

    assert found == [
        {"path": "/", "visits": 2, "bounce_rate": 50.0, "entries": 2, "exits": 1},
        {"path": "/pricing", "visits": 2, "bounce_rate": 50.0, "entries": 1, "exits": 2},
    ]


def test_a_filter_on_a_row_keeps_rows_and_whole_visits(service: InProcessService) -> None:
    found = rows(
        service,
        "page_views",
        "visits",
        "bounce_rate",
        "views_per_visit",
        filters=[where("path", "/pricing")],
    )

    assert found == [{"page_views": 2, "visits": 2, "bounce_rate": 50.0, "views_per_visit": 1.5}]


def test_a_filter_on_a_visit_keeps_all_of_it(service: InProcessService) -> None:
    found = rows(service, "events", *OF_VISITS[:2], filters=[where("channel", "Organic Search")])

    assert found == [{"events": 3, "visits": 1, "bounce_rate": 0.0}]


def test_entries_and_exits_are_those_of_the_visits_with_such_a_row(
    service: InProcessService,
) -> None:
    found = rows(
        service, "entries", "exits", dimensions=["path"], filters=[where("name", "purchase")]
    )

    assert found == [
        {"path": "/", "entries": 1, "exits": 0},
        {"path": "/pricing", "entries": 0, "exits": 1},
    ]


def test_exit_rate_is_the_share_of_page_views_that_ended_their_visit(
    service: InProcessService,
) -> None:
    found = rows(service, "exit_rate", dimensions=["path"])

    assert found == [
        {"path": "/pricing", "exit_rate": 100.0},
        {"path": "/", "exit_rate": 50.0},
    ]


def test_a_visit_is_in_the_bucket_of_its_first_page_view(service: InProcessService) -> None:
    service.holds(
        an_event("hello", at=at("13:59:00"), visitor="u4", session="s4"),
        a_view(at=at("14:01:00"), visitor="u4", session="s4"),
        a_view(at=at("15:01:00"), visitor="u4", session="s4"),
    )

    found = rows(
        service, "events", "visits", dimensions=["time:hour"], filters=[where("session_id", "s4")]
    )

    assert [row for row in found if row["events"] or row["visits"]] == [
        {"time:hour": "2026-11-10 13:00:00", "events": 1, "visits": 0},
        {"time:hour": "2026-11-10 14:00:00", "events": 1, "visits": 1},
        {"time:hour": "2026-11-10 15:00:00", "events": 1, "visits": 0},
    ]


def test_a_row_without_a_session_is_in_no_visit(service: InProcessService) -> None:
    service.holds(a_view("/alone", session=None, visitor="u5"))

    found = rows(service, "page_views", "visits", dimensions=["path"])

    assert found[-1] == {"path": "/alone", "page_views": 1, "visits": 0}
