"""Schedules: periods and due instants, worked out by hand."""

from datetime import UTC, datetime

import pytest

from query.reports.schedule import (
    Period,
    Schedule,
    due_ms,
    last_due,
    last_period,
    next_due_ms,
    period_before,
)

BERLIN, NEW_YORK, KATHMANDU = "Europe/Berlin", "America/New_York", "Asia/Kathmandu"


def ms(instant: str) -> int:
    return round(datetime.fromisoformat(instant).timestamp() * 1000)


def shown(period: Period) -> tuple[str, str, str, str]:
    """Its first and last day, and its instants in UTC to the minute."""
    start, end = (
        f"{datetime.fromtimestamp(at / 1000, UTC):%Y-%m-%dT%H:%M}"
        for at in (period.start_ms, period.end_ms)
    )
    return str(period.first), str(period.last), start, end


@pytest.mark.parametrize(
    ("schedule", "zone", "at", "period"),
    [
        # clocks in Berlin go forward on 2026-03-29: the day has 23 hours
        ("daily", BERLIN, "2026-03-30T05:00Z", "2026-03-29 29 28T23:00 29T22:00"),
        # and back on 2026-10-25: the day has 25 hours
        ("daily", BERLIN, "2026-10-26T06:00Z", "2026-10-25 25 24T22:00 25T23:00"),
        # a minute before midnight in Berlin, the day is not over
        ("daily", BERLIN, "2026-10-25T22:59Z", "2026-10-24 24 23T22:00 24T22:00"),
        ("daily", BERLIN, "2026-10-25T23:00Z", "2026-10-25 25 24T22:00 25T23:00"),
        # Kathmandu is 5:45 ahead
        ("daily", KATHMANDU, "2026-12-01T18:15Z", "2026-12-01 01 30T18:15 01T18:15"),
        # a week from Monday to Sunday; New York goes back on Sunday, 2026-11-01
        ("weekly", NEW_YORK, "2026-11-02T12:00Z", "2026-10-26 01 26T04:00 02T05:00"),
        # the Monday has begun in UTC and not in New York
        ("weekly", NEW_YORK, "2026-11-02T04:59Z", "2026-10-19 25 19T04:00 26T04:00"),
        ("weekly", BERLIN, "2027-01-03T12:00Z", "2026-12-21 27 20T23:00 27T23:00"),
        ("monthly", BERLIN, "2026-12-01T00:00Z", "2026-11-01 30 31T23:00 30T23:00"),
        ("monthly", BERLIN, "2026-11-15T00:00Z", "2026-10-01 31 30T22:00 31T23:00"),
        # the year before; leap years have 29 February
        ("monthly", "UTC", "2027-01-31T23:59Z", "2026-12-01 31 01T00:00 01T00:00"),
        ("monthly", "UTC", "2028-03-01T00:00Z", "2028-02-01 29 01T00:00 01T00:00"),
        ("monthly", "UTC", "2027-03-01T00:00Z", "2027-02-01 28 01T00:00 01T00:00"),
    ],
)
def test_the_last_period_is_the_one_that_is_over(
    schedule: Schedule, zone: str, at: str, period: str
) -> None:
    first, last, start, end = shown(last_period(Schedule(schedule), zone, ms(at)))

    assert f"{first} {last[-2:]} {start[-8:]} {end[-8:]}" == period


@pytest.mark.parametrize(
    ("schedule", "at", "before"),
    [
        ("daily", "2028-03-02T12:00Z", ("2028-02-29", "2028-02-29")),
        ("weekly", "2026-11-30T12:00Z", ("2026-11-16", "2026-11-22")),
        # February has 28 days, and is compared as a whole with January
        ("monthly", "2027-03-10T12:00Z", ("2027-01-01", "2027-01-31")),
    ],
)
def test_the_period_before_is_of_the_same_schedule(
    schedule: str, at: str, before: tuple[str, str]
) -> None:
    kind = Schedule(schedule)
    period = last_period(kind, BERLIN, ms(at))

    assert shown(period_before(kind, BERLIN, period))[:2] == before


@pytest.mark.parametrize(
    ("zone", "at", "hour", "due"),
    [
        (BERLIN, "2026-12-01T12:00Z", 7, "2026-12-01T06:00Z"),
        (BERLIN, "2026-07-01T12:00Z", 7, "2026-07-01T05:00Z"),
        # 02:00 on 2026-03-29 is skipped in Berlin: 03:00 summer time, which is 01:00 UTC
        (BERLIN, "2026-03-29T12:00Z", 2, "2026-03-29T01:00Z"),
        # 02:00 on 2026-10-25 occurs twice: the first, in summer time
        (BERLIN, "2026-10-25T12:00Z", 2, "2026-10-25T00:00Z"),
        (NEW_YORK, "2026-03-08T12:00Z", 2, "2026-03-08T07:00Z"),
        (KATHMANDU, "2026-12-01T12:00Z", 0, "2026-11-30T18:15Z"),
        (KATHMANDU, "2026-12-01T12:00Z", 23, "2026-12-01T17:15Z"),
    ],
)
def test_a_report_is_due_at_the_local_hour_after_its_period(
    zone: str, at: str, hour: int, due: str
) -> None:
    assert due_ms(last_period(Schedule.DAILY, zone, ms(at)), hour, zone) == ms(due)


@pytest.mark.parametrize(
    ("at", "days"),
    [
        ("2026-11-30T05:59:59Z", ("2026-11-16", "2026-11-22")),
        ("2026-11-30T06:00:00Z", ("2026-11-23", "2026-11-29")),
    ],
)
def test_a_report_waits_for_its_hour(at: str, days: tuple[str, str]) -> None:
    assert shown(last_due(Schedule.WEEKLY, 7, BERLIN, ms(at)))[:2] == days


@pytest.mark.parametrize(
    ("schedule", "at", "due"),
    [
        ("daily", "2026-03-28T05:59Z", "2026-03-28T06:00Z"),  # 7:00 in Berlin
        ("daily", "2026-03-28T06:00Z", "2026-03-29T05:00Z"),  # an hour earlier from the 29th
        ("weekly", "2026-12-01T12:00Z", "2026-12-07T06:00Z"),
        ("weekly", "2026-12-07T05:00Z", "2026-12-07T06:00Z"),
        ("monthly", "2027-01-31T12:00Z", "2027-02-01T06:00Z"),
        ("monthly", "2027-02-01T06:00Z", "2027-03-01T06:00Z"),
        ("monthly", "2026-12-31T23:30Z", "2027-01-01T06:00Z"),
    ],
)
def test_the_next_report_is_due_after_now(schedule: str, at: str, due: str) -> None:
    assert next_due_ms(Schedule(schedule), 7, BERLIN, ms(at)) == ms(due)
