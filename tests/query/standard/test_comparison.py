"""Comparisons: the same question about another span, beside each row."""

from datetime import date
from typing import Any

import pytest

from query.request.comparison_range import CompareOptions, ComparisonDates, comparison_range
from query.request.time_parameters import parse_time_range
from query.standard.declaration.statement import requested_range
from query.standard.query_types import QUERY_TYPES
from schemas.errors import Malformed
from tests.query.lake import a_click, a_view, an_error, an_event
from tests.query.query_service import InProcessService

PERIOD = {"to": "previous_period"}


def entry(service: InProcessService, parameter: str, start: str, end: str, **more: Any) -> Any:
    more = {"compare": PERIOD, "startDate": start, "endDate": end} | more
    return service.query(parameter, **more).json["data"][0]


def test_totals_are_held_against_the_period_before(service: InProcessService) -> None:
    service.holds(
        a_view("/", at="2026-11-08T12:00:00Z", visitor="u1", session="s1"),
        a_view("/", at="2026-11-10T12:00:00Z", visitor="u1", session="s2"),
        a_view("/", at="2026-11-10T12:01:00Z", visitor="u2", session="s3"),
        a_view("/b", at="2026-11-11T12:02:00Z", visitor="u2", session="s3"),
    )

    found = entry(service, "summary", "2026-11-10", "2026-11-11")["comparison"]

    assert (found["start"], found["end"]) == (
        "2026-11-08T00:00:00.000Z",
        "2026-11-10T00:00:00.000Z",
    )
    [row] = found["rows"]
    assert (row["previous"]["pageviews"], row["previous"]["sessions"]) == (1, 1)
    assert (row["change"]["pageviews"], row["changePercent"]["pageviews"]) == (2, 200.0)
    assert (row["change"]["bounce_rate"], row["changePercent"]["bounce_rate"]) == (-50.0, -50.0)
    assert row["changePercent"]["median_session_duration"] is None  # there was nothing


@pytest.mark.parametrize(
    ("until_now", "end", "views"),
    [(True, "2026-11-27T00:53:20.000Z", 1), (False, "2026-11-28T00:00:00.000Z", 2)],
)
def test_days_that_are_not_over_are_compared_with_the_same_part_when_asked_so(
    service: InProcessService, until_now: bool, end: str, views: int
) -> None:
    service.holds(
        a_view("/", at="2026-11-27T00:30:00Z"),
        a_view("/", at="2026-11-27T10:00:00Z"),
        a_view("/", at="2026-11-30T00:30:00Z"),
    )

    own = {**PERIOD, "untilNow": until_now}
    found = entry(service, "summary", "2026-11-28", "2026-11-30", compare=own)["comparison"]

    assert (found["start"], found["end"]) == ("2026-11-25T00:00:00.000Z", end)
    assert found["rows"][0]["previous"]["pageviews"] == views


def test_points_are_aligned_by_their_place(service: InProcessService) -> None:
    service.holds(
        a_click(at="2026-10-31T12:00:00Z"),
        *(a_click(at="2026-11-03T12:00:00Z") for _ in range(3)),
        a_click(at="2026-11-04T12:00:00Z"),
    )
    more = {"subject": "link:go", "sortBy": "clicks", "limit": 2}

    found = entry(service, "link_clicks_by_day", "2026-11-03", "2026-11-05", **more)

    assert [row["date"] for row in found["data"]] == ["2026-11-03", "2026-11-04"]
    assert found["comparison"]["rows"] == [
        {
            "previous": {"date": "2026-10-31", "clicks": 1},
            "change": {"clicks": 2},
            "changePercent": {"clicks": 200.0},
        },
        {
            "previous": {"date": "2026-11-01", "clicks": 0},
            "change": {"clicks": 1},
            "changePercent": {"clicks": None},
        },
    ]


def test_a_point_that_the_other_span_has_not_has_no_change(service: InProcessService) -> None:
    own = {"to": {"startDate": "2026-11-01", "endDate": "2026-11-01"}}
    more = {"subject": "link:go", "compare": own}

    found = entry(service, "link_clicks_by_day", "2026-11-03", "2026-11-04", **more)

    assert found["comparison"]["rows"][1] == {
        "previous": None,
        "change": {"clicks": None},
        "changePercent": {"clicks": None},
    }


def test_rows_are_found_by_their_text_however_low_they_ranked(service: InProcessService) -> None:
    service.holds(
        *(a_view("/old", at="2026-11-09T12:00:00Z", visitor=f"u{n}") for n in range(3)),
        a_view("/both", at="2026-11-09T12:00:00Z"),
        *(a_view("/both", at="2026-11-10T12:00:00Z", visitor=f"u{n}") for n in range(2)),
        a_view("/new", at="2026-11-10T12:00:00Z"),
    )

    found = entry(service, "pages", "2026-11-10", "2026-11-10", limit=2)

    assert [row["name"] for row in found["data"]] == ["/both", "/new"]
    both, new = found["comparison"]["rows"]
    assert both == {
        "previous": {"name": "/both", "pageviews": 1, "visitors": 1, "percentage": 25.0},
        "change": {"pageviews": 1, "visitors": 1, "percentage": 41.67},
        "changePercent": {"pageviews": 100.0, "visitors": 100.0, "percentage": 166.68},
    }
    assert new == {
        "previous": None,
        "change": {"pageviews": 1, "visitors": 1, "percentage": None},
        "changePercent": {"pageviews": None, "visitors": None, "percentage": None},
    }


def test_two_texts_say_together_what_a_row_is(service: InProcessService) -> None:
    at = "2026-11-09T12:00:00Z"
    service.holds(
        a_view("/", city="Paris", country="US", visitor="u1", session="s1", at=at),
        a_view("/", city="Paris", country="FR", visitor="u2", session="s2", at=at),
        a_view("/", city="Paris", country="FR", visitor="u3", session="s3", at=at),
        a_view("/", city="Paris", country="FR", at="2026-11-10T12:00:00Z"),
    )

    [row] = entry(service, "city", "2026-11-10", "2026-11-10")["comparison"]["rows"]

    assert (row["previous"]["country"], row["change"]["pageviews"]) == ("FR", -1)


def test_points_of_several_rows_are_found_by_place_and_text(service: InProcessService) -> None:
    service.holds(
        an_event("buy", at="2026-11-08T12:00:00Z"),
        an_event("buy", at="2026-11-09T12:00:00Z"),
        an_event("buy", at="2026-11-09T13:00:00Z"),
        *(an_event("buy", at="2026-11-11T12:00:00Z") for _ in range(3)),
        an_event("hello", at="2026-11-11T12:00:00Z"),
    )

    found = entry(service, "custom_events_trends_by_event", "2026-11-10", "2026-11-11")

    buy, hello = found["comparison"]["rows"]
    assert [row["event_name"] for row in found["data"]] == ["buy", "hello"]
    assert (buy["previous"]["date"], buy["change"]["total_events"]) == ("2026-11-09", 1)
    assert (hello["previous"], hello["change"]["total_events"]) == (None, 1)


def test_groups_of_errors_are_matched_by_all_that_tells_them_apart(
    service: InProcessService,
) -> None:
    service.holds(
        an_error("boom", at="2026-11-09T12:00:00Z", lineno=1),
        an_error("boom", at="2026-11-10T12:00:00Z", lineno=2),
    )

    found = entry(service, "error_fingerprints", "2026-11-10", "2026-11-10")

    assert [row["previous"] for row in found["comparison"]["rows"]] == [None]


def test_a_type_with_a_span_of_its_own_is_not_compared(service: InProcessService) -> None:
    name = next(
        name
        for name, each in QUERY_TYPES.items()
        if each.time_range_override is not requested_range
    )

    found = entry(service, name, "2026-11-10", "2026-11-11")

    assert found["error"] == (
        f"Query type '{name}' has a fixed time range and does not support 'compare'"
    )


@pytest.mark.parametrize(
    ("start", "end", "to", "first", "beyond"),
    [
        ("2026-03-01", "2026-03-31", "previous_period", "2026-01-29", "2026-03-01"),
        ("2026-03-30", "2026-03-30", "previous_period", "2026-03-29", "2026-03-30"),
        ("2026-03-01", "2026-03-31", "previous_year", "2025-03-01", "2025-04-01"),
        ("2028-02-29", "2028-02-29", "previous_year", "2027-02-28", "2027-03-01"),
        ("2028-02-01", "2028-02-29", "previous_year", "2027-02-01", "2027-03-01"),
    ],
)
def test_days_are_held_against_days_also_across_a_change_of_the_clock(
    start: str, end: str, to: str, first: str, beyond: str
) -> None:
    whole = parse_time_range(start, end, None, "Europe/Berlin", 0, 400)

    found = comparison_range(CompareOptions(to), whole, 0, 400)

    assert found.days == (date.fromisoformat(first), date.fromisoformat(beyond))


def test_times_are_held_against_as_much_time() -> None:
    whole = parse_time_range(
        "2026-03-29 04:00:00", "2026-03-29 05:59:59", None, "Europe/Berlin", 0, 400
    )
    hour = 3_600_000

    before = comparison_range(CompareOptions("previous_period"), whole, 0, 400)
    last_year = comparison_range(CompareOptions("previous_year"), whole, 0, 400)

    assert (before.start_ms, before.end_ms) == (whole.start_ms - 2 * hour, whole.start_ms)
    # 04:00 was an hour later in UTC a year before, when the clocks had not been changed yet.
    assert whole.start_ms - last_year.start_ms == (365 * 24 - 1) * hour


@pytest.mark.parametrize(
    ("to", "message"),
    [
        ("last_period", "did you mean 'previous_period'?"),
        (ComparisonDates("2026-11-02", "2026-11-01"), "which is before 'startDate'"),
    ],
)
def test_an_invalid_comparison_is_rejected(to: Any, message: str) -> None:
    whole = parse_time_range("2026-11-01", "2026-11-30", None, "UTC", 0, 400)

    with pytest.raises(Malformed) as refused:
        comparison_range(CompareOptions(to), whole, 0, 400)

    assert message in refused.value.message


def test_a_rate_of_an_empty_period_has_no_change(service: InProcessService) -> None:
    service.holds(
        a_view("/", at="2026-11-10T12:00:00Z", session="s1", time_on_page=5),
        an_event("hello", at="2026-11-09T12:00:00Z", session="s1"),
    )

    totals = entry(service, "summary", "2026-11-10", "2026-11-10")
    series = entry(service, "events_by_date", "2026-11-10", "2026-11-10")

    for found in (totals, series):
        [row], [shown] = found["comparison"]["rows"], found["data"]
        rates = [name for name in ("bounce_rate", "median_session_duration") if name in shown]
        assert rates
        # an event before, but no session
        assert [row["previous"][name] for name in rates] == [0.0] * len(rates)
        assert [row["change"][name] for name in rates] == [None] * len(rates)
        assert [row["changePercent"][name] for name in rates] == [None] * len(rates)
        assert row["change"]["pageviews"] == 1
