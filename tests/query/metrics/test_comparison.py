"""`compare` of metrics: rows beside those of another time range, in JSON and in files."""

from pathlib import Path
from typing import Any

import pytest

from tests.query.lake import a_view, an_error, an_event
from tests.query.metrics_queries import ask, error, where
from tests.query.query_service import InProcessService, reused, start_service

TWO_DAYS = {"startDate": "2026-11-10", "endDate": "2026-11-11", "compare": "previous_period"}


@reused
def service(tmp_path: Path) -> InProcessService:
    """Two days before two days: of Direct one visit then and two now, of Email one then."""
    service = start_service(tmp_path)
    service.holds(
        a_view("/a", at="2026-11-08T10:00:00Z", session="s1", channel="Direct"),
        a_view("/b", at="2026-11-08T10:01:00Z", session="s1", channel="Direct"),
        a_view("/a", at="2026-11-09T10:00:00Z", session="s2", channel="Email"),
        a_view("/a", at="2026-11-10T10:00:00Z", session="s3", channel="Direct"),
        a_view("/a", at="2026-11-11T10:00:00Z", session="s4", channel="Direct"),
        a_view("/a", at="2026-11-11T11:00:00Z", session="s5", channel="Referral"),
    )
    return service


def compared(service: InProcessService, *metrics: Any, **more: Any) -> Any:
    reply = ask(service, *metrics, **{**TWO_DAYS, **more})
    assert reply.status == 200, reply.json
    return reply.json["comparison"]


def test_totals_are_compared(service: InProcessService) -> None:
    assert compared(service, "visits", "bounce_rate", "page_views") == {
        "start": "2026-11-08T00:00:00.000Z",
        "end": "2026-11-10T00:00:00.000Z",
        "rows": [
            {
                "previous": {"visits": 2, "bounce_rate": 50.0, "page_views": 3},
                "change": {"visits": 1, "bounce_rate": 50.0, "page_views": 0},
                "changePercent": {"visits": 50.0, "bounce_rate": 100.0, "page_views": 0.0},
            }
        ],
    }


def test_days_that_are_not_over_are_compared_with_the_same_part(service: InProcessService) -> None:
    days = {"startDate": "2026-11-29", "endDate": "2026-11-30"}
    until_now = {"to": "previous_period", "untilNow": True}

    found = compared(service, "visits", **days, compare=until_now)

    assert (found["start"], found["end"]) == (
        "2026-11-27T00:00:00.000Z",
        "2026-11-28T00:53:20.000Z",
    )


def test_rows_are_matched_by_dimensions_however_low_they_rank(service: InProcessService) -> None:
    found = compared(service, "visits", "bounce_rate", dimensions=["channel"])["rows"]

    assert [row["previous"] for row in found] == [
        {"channel": "Direct", "visits": 1, "bounce_rate": 0.0},
        None,
    ]
    # a rate of nothing is not 0, and did not change
    assert found[1]["change"] == {"visits": 1, "bounce_rate": None}
    assert found[1]["changePercent"] == {"visits": None, "bounce_rate": None}


def test_a_rate_of_an_empty_period_has_no_change(service: InProcessService) -> None:
    options = {"to": {"startDate": "2026-01-01", "endDate": "2026-01-31"}}

    [row] = compared(service, "visits", "bounce_rate", compare=options)["rows"]

    assert row == {
        "previous": {"visits": 0, "bounce_rate": None},
        "change": {"visits": 3, "bounce_rate": None},
        "changePercent": {"visits": None, "bounce_rate": None},
    }


def test_buckets_are_matched_by_position(service: InProcessService) -> None:
    found = compared(service, "visits", dimensions=["time:day"])["rows"]

    assert [row["previous"] for row in found] == [
        {"time:day": "2026-11-08", "visits": 1},
        {"time:day": "2026-11-09", "visits": 1},
    ]
    assert [row["change"] for row in found] == [{"visits": 0}, {"visits": 1}]


def test_a_bucket_without_a_counterpart_has_no_change(service: InProcessService) -> None:
    options = {"to": {"startDate": "2026-11-08", "endDate": "2026-11-08"}}

    series = compared(service, "visits", dimensions=["time:day"], compare=options)["rows"]
    sparse = compared(service, "visits", dimensions=["time:day", "path"], compare=options)["rows"]

    nothing = {"previous": None, "change": {"visits": None}, "changePercent": {"visits": None}}
    assert series[1] == nothing
    assert [row for row in sparse if row["previous"] is None] == [nothing]


def test_buckets_and_values_are_matched_together(service: InProcessService) -> None:
    found = ask(
        service, "visits", dimensions=["channel", "time:day"], page=2, limit=1, **TWO_DAYS
    ).json

    assert found["data"] == [{"channel": "Direct", "time:day": "2026-11-11", "visits": 1}]
    assert found["comparison"]["rows"] == [
        {"previous": None, "change": {"visits": 1}, "changePercent": {"visits": None}}
    ]


@pytest.mark.parametrize(
    "dimension",
    [
        "event.time_on_page",
        "is_bot",
        "ts",
        "interaction_count",
        "visitor.is_new",
        "title",
        "properties.plan",
        "time:hour_of_day",
        "received_at",
    ],
)
def test_values_of_every_type_are_matched(service: InProcessService, dimension: str) -> None:
    service.holds(
        *(
            an_event(
                "buy", at=f"2026-11-{day}T10:00:00Z", interaction_count=3, properties='{"plan":"a"}'
            )
            for day in ("08", "10")
        ),
        a_view("/a", at="2026-11-09T10:00:00Z", session="s8", time_on_page=2.5),
        a_view("/a", at="2026-11-11T10:00:00Z", session="s9", time_on_page=2.5),
        a_view("/a", at="2026-11-11T11:00:00Z", session="s10", visitor="new"),
    )

    reply = ask(service, "events", dimensions=[dimension], **TWO_DAYS).json

    befores = [row["previous"] for row in reply["comparison"]["rows"]]
    timed = dimension in ("ts", "received_at")
    assert any(befores) is not timed
    assert all(
        before is None or before[dimension] == row[dimension]
        for row, before in zip(reply["data"], befores, strict=True)
    )


def test_filters_hold_in_both_time_ranges(service: InProcessService) -> None:
    morning = [where("time:hour_of_day", 10), where("path", "/a")]

    [row] = compared(service, "page_views", filters=morning)["rows"]

    assert row["previous"] == {"page_views": 2}
    assert row["change"] == {"page_views": 0}


def test_metrics_of_other_tables_are_compared(service: InProcessService) -> None:
    service.holds(an_error(at="2026-11-08T10:00:30Z", session="s1", visitor="u1"))

    [row] = compared(service, "errors", "error_rate")["rows"]

    assert row["previous"] == {"errors": 1, "error_rate": 50.0}
    assert row["change"] == {"errors": -1, "error_rate": -50.0}


def test_files_have_columns_of_the_comparison(service: InProcessService) -> None:
    body = {"metrics": ["visits", "bounce_rate"], "dimensions": ["time:day"], **TWO_DAYS}

    reply = service.ask("POST", "/v1/query/metrics", body, website_id="shop", format="csv")

    assert reply.body.decode().splitlines() == [
        "time:day,visits,bounce_rate,previous_time:day,previous_visits,change_visits,"
        "change_percent_visits,previous_bounce_rate,change_bounce_rate,change_percent_bounce_rate",
        "2026-11-10,1,100.0,2026-11-08,1,0,0.0,0.0,100.0,",
        "2026-11-11,2,100.0,2026-11-09,1,1,100.0,100.0,0.0,0.0",
    ]


def test_a_preset_is_compared_with_the_one_before(service: InProcessService) -> None:
    body = {"metrics": ["visits"], "preset": "last_month", "compare": "previous_period"}

    reply = service.ask("POST", "/v1/query/metrics", body, website_id="shop")

    assert reply.json["comparison"]["start"] == "2026-09-01T00:00:00.000Z"


def test_without_compare_there_is_no_comparison(service: InProcessService) -> None:
    assert "comparison" not in ask(service, "visits").json


def test_no_row_of_another_tenant_is_compared(service: InProcessService) -> None:
    service.holds(a_view("/a", at="2026-11-08T12:00:00Z", session="s1", website="rival"))

    [row] = compared(service, "page_views")["rows"]

    assert row["previous"] == {"page_views": 3}


def test_an_unknown_comparison_is_rejected(service: InProcessService) -> None:
    assert error(service, "visits", compare="next_year") == (
        "Unknown comparison 'next_year' in 'compare.to'; known are previous_period, "
        "previous_year, same_weekdays"
    )


def test_minutes_of_a_year_with_few_rows_are_compared(service: InProcessService) -> None:
    for year in (2025, 2026):
        service.holds(a_view(session=f"s{year}", at=f"{year}-11-10T12:00:30Z"))
    years = {"startDate": "2026-01-01", "endDate": "2026-12-31", "compare": "previous_year"}

    found = compared(service, "visits", dimensions=["time:minute", "path"], **years)["rows"]

    previous = [row["previous"] for row in found if row["previous"]]
    assert previous == [{"time:minute": "2025-11-10 12:00:00", "path": "/", "visits": 1}]
