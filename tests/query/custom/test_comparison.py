"""`compare` of custom queries: rows beside those of another time range, in JSON and in files."""

from pathlib import Path
from typing import Any

import pytest

from tests.query.custom.custom_requests import COUNT, ask
from tests.query.lake import a_view
from tests.query.query_service import InProcessService, start_service

TWO_DAYS = {"startDate": "2026-11-10", "endDate": "2026-11-11", "compare": "previous_period"}
SECONDS = {"field": "time_on_page", "aggregate": "avg", "alias": "seconds"}


@pytest.fixture
def service(tmp_path: Path) -> InProcessService:
    """Of Germany two views then and one now, of France one now."""
    service = start_service(tmp_path)
    service.holds(
        a_view("/a", at="2026-11-08T10:00:00Z", country="DE", time_on_page=2.0),
        a_view("/b", at="2026-11-09T10:00:00Z", country="DE", time_on_page=4.0),
        a_view("/c", at="2026-11-10T10:00:00Z", country="DE", time_on_page=1.5),
        a_view("/d", at="2026-11-11T10:00:00Z", country="FR"),
    )
    return service


def test_rows_are_matched_by_their_groups(service: InProcessService) -> None:
    query = {"selects": [COUNT, SECONDS], "groupBy": ["country"], "orderBy": [{"field": "country"}]}

    found = ask(service, query, **TWO_DAYS).json["comparison"]

    assert found == {
        "start": "2026-11-08T00:00:00.000Z",
        "end": "2026-11-10T00:00:00.000Z",
        "rows": [
            # a count of nothing is 0, a mean of nothing is none
            {
                "previous": None,
                "change": {"n": 1, "seconds": None},
                "changePercent": {"n": None, "seconds": None},
            },
            {
                "previous": {"country": "DE", "n": 2, "seconds": 3.0},
                "change": {"n": -1, "seconds": -1.5},
                "changePercent": {"n": -50.0, "seconds": -50.0},
            },
        ],
    }


def test_buckets_are_matched_by_position(service: InProcessService) -> None:
    order: Any = [{"field": "date", "direction": "asc"}]

    found = ask(service, {"groupBy": ["time:daily"], "orderBy": order}, **TWO_DAYS).json

    assert [row["previous"] for row in found["comparison"]["rows"]] == [
        {"date": "2026-11-08", "n": 1},
        {"date": "2026-11-09", "n": 1},
    ]


def test_instants_have_no_change(service: InProcessService) -> None:
    last = {"field": "ts", "aggregate": "max", "alias": "last"}

    [row] = ask(service, {"selects": [last, COUNT]}, **TWO_DAYS).json["comparison"]["rows"]

    assert row == {
        "previous": {"last": "2026-11-09T10:00:00.000Z", "n": 2},
        "change": {"n": 0},
        "changePercent": {"n": 0.0},
    }


def test_files_have_columns_of_the_comparison(service: InProcessService) -> None:
    order = [{"field": "date", "direction": "asc"}]
    query = {"table": "events", "selects": [COUNT], "groupBy": ["time:daily"], "orderBy": order}

    reply = service.ask(
        "POST", "/v1/query/custom", {"query": query, **TWO_DAYS}, website_id="shop", format="csv"
    )

    assert reply.body.decode().splitlines() == [
        "date,n,previous_date,previous_n,change_n,change_percent_n",
        "2026-11-10,1,2026-11-08,1,0,0.0",
        "2026-11-11,1,2026-11-09,1,0,0.0",
    ]


def test_compile_names_the_comparison(service: InProcessService) -> None:
    assert ask(service, {}, "/v1/query/compile", **TWO_DAYS).json["further"] == ["comparison"]
