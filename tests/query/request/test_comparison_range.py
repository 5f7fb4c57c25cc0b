"""Dates that are not over are compared with the same part of the days before, when asked so."""

from datetime import datetime

import pytest

from query.request.comparison_range import CompareOptions, ComparisonDates, comparison_range
from query.request.time_parameters import parse_time_range
from query.request.time_zones import to_local, to_unix_ms
from schemas.errors import Malformed

BERLIN = "Europe/Berlin"
NOON_MS = 1_795_604_400_000
"""2026-11-25, 12:00 in Berlin."""
MAX_DAYS = 1100


def compared(
    start: str, end: str, compare: CompareOptions, now_ms: int = NOON_MS
) -> tuple[str, str]:
    requested = parse_time_range(start, end, None, BERLIN, now_ms, MAX_DAYS)
    found = comparison_range(compare, requested, now_ms, MAX_DAYS)
    first, last = (str(to_local(ms, BERLIN))[:16] for ms in (found.start_ms, found.end_ms))
    return first, last


@pytest.mark.parametrize(
    ("start", "end", "to", "expected"),
    [
        ("2026-11-23", "2026-11-25", "previous_period", ("2026-11-20 00:00", "2026-11-22 12:00")),
        ("2026-11-23", "2026-11-26", "previous_period", ("2026-11-19 00:00", "2026-11-21 12:00")),
        ("2026-11-22", "2026-11-24", "previous_period", ("2026-11-19 00:00", "2026-11-22 00:00")),
        ("2026-11-26", "2026-11-27", "previous_period", ("2026-11-24 00:00", "2026-11-26 00:00")),
        ("2026-11-23", "2026-11-25", "previous_year", ("2025-11-23 00:00", "2025-11-25 12:00")),
        ("2026-11-25", "2026-11-25", "same_weekdays", ("2026-11-18 00:00", "2026-11-18 12:00")),
        ("2026-10-27", "2026-11-25", "same_weekdays", ("2026-09-22 00:00", "2026-10-21 12:00")),
        ("2026-11-19", "2026-11-25", "same_weekdays", ("2026-11-12 00:00", "2026-11-18 12:00")),
        ("2026-11-01", "2026-11-10", "same_weekdays", ("2026-10-18 00:00", "2026-10-28 00:00")),
        ("2026-12-20", "2026-12-20", "same_weekdays", ("2026-12-13 00:00", "2026-12-14 00:00")),
        (  # local time goes back within it
            "2026-10-25T00:50:00Z",
            "2026-10-25T01:05:00Z",
            "same_weekdays",
            ("2026-10-18 02:50", "2026-10-18 03:05"),
        ),
        # the clocks went back on 25 October: noon is noon
        ("2026-11-05", "2026-11-25", "previous_period", ("2026-10-15 00:00", "2026-11-04 12:00")),
        (
            "2026-11-25T10:00:00+01:00",
            "2026-11-25T14:00:00+01:00",
            "previous_period",
            ("2026-11-25 05:59", "2026-11-25 07:59"),  # an end is the last millisecond
        ),
    ],
)
def test_the_compared_time_range_ends_when_the_requested_one_has_come_so_far(
    start: str, end: str, to: str, expected: tuple[str, str]
) -> None:
    assert compared(start, end, CompareOptions(to, until_now=True)) == expected


@pytest.mark.parametrize(
    ("start", "end", "now", "expected"),
    [
        # a 29 February in one of both time ranges only
        ("2024-03-01", "2026-11-27", "2026-11-25 12:00", "2025-11-25 12:00"),
        ("2028-02-01", "2028-03-31", "2028-03-10 12:00", "2027-03-10 12:00"),
        ("2029-02-01", "2029-03-31", "2029-03-10 12:00", "2028-03-10 12:00"),
    ],
)
def test_a_year_before_has_the_same_date_and_time(
    start: str, end: str, now: str, expected: str
) -> None:
    now_ms = to_unix_ms(datetime.fromisoformat(now), BERLIN)
    options = CompareOptions("previous_year", until_now=True)

    assert compared(start, end, options, now_ms)[1] == expected


def test_instants_are_as_far_from_the_begin_whatever_the_clocks_do() -> None:
    """The clocks went back at 01:00Z on 25 October: an hour of the day came twice."""
    options = CompareOptions("previous_period", until_now=True)
    begin, now, end = "2026-10-25T00:50:00Z", "2026-10-25T01:10:00+00:00", "2026-10-25T20:00:00Z"
    now_ms = int(datetime.fromisoformat(now).timestamp() * 1000)
    requested = parse_time_range(begin, end, None, BERLIN, now_ms, MAX_DAYS)

    found = comparison_range(options, requested, now_ms, MAX_DAYS)

    assert found.end_ms - found.start_ms == 20 * 60_000


def test_until_now_is_for_a_period_before() -> None:
    options = CompareOptions(ComparisonDates("2026-11-01", "2026-11-03"), until_now=True)

    with pytest.raises(Malformed, match=r"'compare\.untilNow' is for a period before"):
        compared("2026-11-23", "2026-11-25", options)


def test_without_asking_so_dates_are_compared_with_whole_days() -> None:
    to = CompareOptions("previous_period")

    assert compared("2026-11-23", "2026-11-25", to) == ("2026-11-20 00:00", "2026-11-23 00:00")
