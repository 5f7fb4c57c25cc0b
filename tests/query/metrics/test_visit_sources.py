"""Visits as sources: whole visits, their ends and their page views, by several dimensions."""

from pathlib import Path

from tests.query.lake import a_view, an_event
from tests.query.metrics_queries import rows, where
from tests.query.query_service import InProcessService, reused, start_service
from tests.query.times import at


@reused
def service(tmp_path: Path) -> InProcessService:
    """s1 sees three pages over an hour and a purchase; s2 sees one page for 30 seconds."""
    service = start_service(tmp_path)
    service.holds(
        a_view("/", at=at("10:00:00"), session="s1", country="DE"),
        a_view("/a", at=at("10:30:00"), session="s1", country="DE"),
        an_event("buy", at=at("10:40:00"), session="s1", country="DE", path="/a"),
        a_view("/", at=at("11:00:00"), session="s1", country="US"),
        a_view("/", at=at("11:30:00"), session="s2", visitor="u2", time_on_page=30, country="US"),
    )
    return service


def test_the_ends_of_a_visit_have_all_dimensions_of_their_page_view(
    service: InProcessService,
) -> None:
    found = rows(service, "entries", "exits", "exit_rate", dimensions=["path", "country"])

    assert found == [
        {"path": "/", "country": "DE", "entries": 1, "exits": 0, "exit_rate": 0.0},
        {"path": "/", "country": "US", "entries": 1, "exits": 2, "exit_rate": 100.0},
        {"path": "/a", "country": "DE", "entries": 0, "exits": 0, "exit_rate": 0.0},
    ]


def test_a_fact_of_the_visit_stands_beside_what_its_rows_have(service: InProcessService) -> None:
    found = rows(
        service, "visits", "exits", "exit_rate", "visitors", dimensions=["visit.exit_page", "path"]
    )

    first, second = {"visit.exit_page": "/", "path": "/"}, {"visit.exit_page": "/", "path": "/a"}
    assert found == [
        {**first, "visits": 2, "exits": 2, "exit_rate": 66.67, "visitors": 2},
        {**second, "visits": 1, "exits": 0, "exit_rate": 0.0, "visitors": 1},
    ]


def test_all_of_a_visit_is_in_the_bucket_of_its_first_page_view(service: InProcessService) -> None:
    found = rows(service, "visits", "exits", "exit_rate", dimensions=["time:hour_of_day", "path"])

    assert found == [
        {"time:hour_of_day": 10, "path": "/", "visits": 1, "exits": 1, "exit_rate": 50.0},
        {"time:hour_of_day": 10, "path": "/a", "visits": 1, "exits": 0, "exit_rate": 0.0},
        {"time:hour_of_day": 11, "path": "/", "visits": 1, "exits": 1, "exit_rate": 100.0},
    ]


def test_durations_are_of_whole_visits_under_each_of_their_values(
    service: InProcessService,
) -> None:
    found = rows(
        service, "visits", "median_visit_duration", "views_per_visit", dimensions=["country"]
    )

    assert found == [
        {
            "country": "US",
            "visits": 2,
            "median_visit_duration": 1815.0,
            "views_per_visit": 2.0,
        },
        {
            "country": "DE",
            "visits": 1,
            "median_visit_duration": 3600.0,
            "views_per_visit": 3.0,
        },
    ]


def test_a_filter_on_rows_keeps_the_ends_of_the_whole_visit(service: InProcessService) -> None:
    found = rows(
        service, "entries", "visit_duration", dimensions=["path"], filters=[where("path", "/a")]
    )

    assert found == [
        {"path": "/", "entries": 1, "visit_duration": None},
        {"path": "/a", "entries": 0, "visit_duration": 3600.0},
    ]
