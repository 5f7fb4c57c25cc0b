"""Dates that are not over are compared with the same part of the days before, when asked so."""

import pytest

from query.request.comparison_range import CompareOptions, ComparisonDates, comparison_range
from query.request.time_parameters import parse_time_range
from query.request.time_zones import to_local

BERLIN = "Europe/Berlin"
NOON_MS = 1_795_604_400_000
"""2026-11-25, 12:00 in Berlin."""
MAX_DAYS = 1000


def compared(start: str, end: str, compare: CompareOptions) -> tuple[str, str]:
    requested = parse_time_range(start, end, None, BERLIN, NOON_MS, MAX_DAYS)
    found = comparison_range(compare, requested, NOON_MS, MAX_DAYS)
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


def test_dates_to_compare_with_are_whole_days() -> None:
    to = CompareOptions(ComparisonDates("2026-11-01", "2026-11-03"), until_now=True)

    assert compared("2026-11-23", "2026-11-25", to) == ("2026-11-01 00:00", "2026-11-04 00:00")


def test_without_asking_so_dates_are_compared_with_whole_days() -> None:
    to = CompareOptions("previous_period")

    assert compared("2026-11-23", "2026-11-25", to) == ("2026-11-20 00:00", "2026-11-23 00:00")
