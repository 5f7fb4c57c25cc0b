"""Dimensions: fields, properties and parts of time."""

from pathlib import Path

import pytest

from tests.query.lake import a_view
from tests.query.metrics_queries import error, rows, three_visits, where
from tests.query.query_service import InProcessService, reused, start_service


@reused
def service(tmp_path: Path) -> InProcessService:
    service = start_service(tmp_path)
    service.holds(*three_visits())
    return service


def test_a_plain_source_is_that_of_the_visit_and_event_that_of_the_row(
    service: InProcessService,
) -> None:
    assert rows(service, "page_views", dimensions=["channel"]) == [
        {"channel": "Direct", "page_views": 2},
        {"channel": "Organic Search", "page_views": 2},
    ]
    assert rows(service, "page_views", dimensions=["event.channel"]) == [
        {"event.channel": "Direct", "page_views": 3},
        {"event.channel": "Organic Search", "page_views": 1},
    ]


def test_properties_are_dimensions(service: InProcessService) -> None:
    found = rows(service, "events", dimensions=["properties.plan"])

    assert found == [
        {"properties.plan": None, "events": 4},
        {"properties.plan": "pro", "events": 1},
    ]


def test_several_dimensions_with_parts_of_time(service: InProcessService) -> None:
    found = rows(
        service,
        "page_views",
        dimensions=["time:day_of_week", "time:hour_of_day", "visit.entry_page"],
        timezone="Asia/Kathmandu",
    )

    assert found == [
        {
            "time:day_of_week": 2,
            "time:hour_of_day": hour,
            "visit.entry_page": page,
            "page_views": views,
        }
        for hour, page, views in ((15, "/", 2), (16, "/", 1), (17, "/pricing", 1))
    ]


def test_an_hour_that_occurs_twice_is_two_rows(service: InProcessService) -> None:
    service.holds(a_view(at="2026-10-25T00:30:00Z"), a_view(at="2026-10-25T01:30:00Z"))

    found = rows(
        service,
        "page_views",
        dimensions=["time:hour"],
        timezone="Europe/Berlin",
        startDate="2026-10-25",
        endDate="2026-10-25",
    )

    assert len(found) == 25
    assert found[2:4] == [{"time:hour": "2026-10-25 02:00:00", "page_views": 1}] * 2


def test_a_visitor_is_new_without_a_row_before_the_time_range(service: InProcessService) -> None:
    service.holds(
        a_view("/old", at="2025-01-01T00:00:00Z", visitor="u1", session="old"),
        a_view("/old", at="2025-01-01T00:00:00Z", visitor="u2", session="o", website="blog"),
    )

    found = rows(service, "visitors", "page_views", "visits", dimensions=["visitor.is_new"])
    returning = rows(
        service,
        "visits",
        "views_per_visit",
        dimensions=["visit.channel"],
        filters=[where("visitor.is_new", False)],
    )

    assert found == [
        {"visitor.is_new": True, "visitors": 2, "page_views": 2, "visits": 2},
        {"visitor.is_new": False, "visitors": 1, "page_views": 2, "visits": 1},
    ]
    assert returning == [{"visit.channel": "Organic Search", "visits": 1, "views_per_visit": 2.0}]


def test_an_instant_is_shown_as_one(service: InProcessService) -> None:
    [first, *_] = rows(service, "events", dimensions=["ts"])

    assert first == {"ts": "2026-11-10T10:00:00.000Z", "events": 1}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("page", "Unknown dimension 'page' in 'dimensions[0]'; did you mean 'path'?"),
        ("day", "Unknown dimension 'day' in 'dimensions[0]'; did you mean 'time:day'?"),
        (
            "visit.chanel",
            "Unknown dimension 'visit.chanel' in 'dimensions[0]'; did you mean 'visit.channel'?",
        ),
        (
            "time:dayly",
            "Unknown part of time 'time:dayly' in 'dimensions[0]'; did you mean 'time:day'?",
        ),
        (
            "'; DROP",
            "Unknown dimension ''; DROP' in 'dimensions[0]'; GET /v1/query/metrics lists all",
        ),
        (
            "properties.",
            "'dimensions[0]' is 'properties.'; use a path of 1 to 8 keys such as properties.plan",
        ),
        (
            "visitor_hash",
            "Unknown dimension 'visitor_hash' in 'dimensions[0]'; did you mean 'visitor_made'?",
        ),
    ],
)
def test_an_unknown_dimension_is_rejected(
    service: InProcessService, name: str, message: str
) -> None:
    assert error(service, "visits", dimensions=[name]) == message


def test_a_dimension_is_given_once(service: InProcessService) -> None:
    found = error(service, "visits", dimensions=["path", "path"])

    assert found == "'dimensions[1]' is 'path' again; give each dimension once"
