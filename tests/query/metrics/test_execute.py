"""Pages of metrics: every bucket of a series, otherwise the rows with data."""

from pathlib import Path
from typing import Any

import pytest

from tests.query.lake import a_view, an_event
from tests.query.metrics_queries import ask, rows, three_visits, where
from tests.query.query_service import InProcessService, reused, start_service

SEEN = [where("events", 0, "gt")]


@reused
def service(tmp_path: Path) -> InProcessService:
    service = start_service(tmp_path)
    service.holds(*three_visits())
    return service


def test_minutes_of_a_month_beside_a_page_are_the_rows_with_data(service: InProcessService) -> None:
    found = rows(service, "events", dimensions=["time:minute", "path"])

    assert [(row["time:minute"], row["path"], row["events"]) for row in found] == [
        ("2026-11-10 10:00:00", "/", 1),
        ("2026-11-10 10:01:00", "/pricing", 1),
        ("2026-11-10 10:02:00", "/pricing", 1),
        ("2026-11-10 11:00:00", "/", 1),
        ("2026-11-10 12:00:00", "/pricing", 1),
    ]


def test_minutes_of_years_under_having_are_the_rows_with_data(service: InProcessService) -> None:
    dates = {"startDate": "2020-01-01", "endDate": "2026-11-30"}

    reply = ask(service, "events", dimensions=["time:minute"], having=SEEN, **dates).json

    assert [row["time:minute"] for row in reply["data"]] == [
        f"2026-11-10 {time}:00" for time in ("10:00", "10:01", "10:02", "11:00", "12:00")
    ]
    assert reply["meta"]["partialBucket"] == "2026-11-30 00:53:00"


def test_a_sparse_hour_that_occurs_twice_is_two_rows_with_one_label(
    service: InProcessService,
) -> None:
    service.holds(a_view(at="2026-10-25T00:30:00Z"), a_view(at="2026-10-25T01:30:00Z"))
    day = {"startDate": "2026-10-25", "endDate": "2026-10-25", "timezone": "Europe/Berlin"}

    found = rows(service, "events", dimensions=["time:hour", "name"], **day)

    assert [row["time:hour"] for row in found] == ["2026-10-25 02:00:00"] * 2


@pytest.mark.parametrize(
    ("page", "days"),
    [(1, ["2026-11-01", "2026-11-02"]), (15, ["2026-11-29", "2026-11-30"]), (16, [])],
)
def test_pages_of_a_series(service: InProcessService, page: int, days: list[str]) -> None:
    reply = ask(service, "events", dimensions=["time:day"], limit=2, page=page).json

    assert [row["time:day"] for row in reply["data"]] == days
    assert reply["meta"]["totalRows"] == 30


def test_a_page_beyond_the_last_knows_how_many_rows_there_are(service: InProcessService) -> None:
    meta = ask(service, "events", dimensions=["path"], page=9, limit=1).json["meta"]

    assert (meta["rowCount"], meta["totalRows"]) == (0, 2)


def test_a_metric_and_a_dimension_of_one_name_are_two_members(service: InProcessService) -> None:
    service.holds(
        an_event("page_exit", scroll_depth=None, session="s8"),
        a_view("/deep", time_on_page=9.5, session="s8"),
    )
    asked: Any = {"dimensions": ["time_on_page"], "having": [where("time_on_page", 0, "gt")]}

    found = rows(service, "time_on_page", **asked)
    by_dimension = rows(service, "time_on_page", **asked, orderBy=[{"field": "event.time_on_page"}])

    assert (
        found
        == by_dimension
        == [
            {"event.time_on_page": 9.5, "time_on_page": 9.5},
            {"event.time_on_page": 3.5, "time_on_page": 3.5},
        ]
    )
    assert rows(service, "events", dimensions=["time_on_page"], limit=1) == [
        {"time_on_page": None, "events": 5}
    ]
