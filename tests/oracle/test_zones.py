"""Days, hours, weeks and months begin as in their time zone; bounds worked out by hand."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, timedelta

import pytest

from tests.oracle.query import StandardQuery
from tests.oracle.service import Service
from tests.query.lake import a_view


@contextmanager
def viewed(*instants: str) -> Iterator[Service]:
    """A website with page views at these instants of UTC."""
    with Service([a_view(at=f"{at}Z") for at in instants]) as service:
        yield service


def course(
    service: Service, start: str, end: str, zone: str, granularity: str = "daily"
) -> list[tuple[str, int]]:
    """Label and page views of every point."""
    query = StandardQuery(
        name="events_by_date",
        start=date.fromisoformat(start),
        end=date.fromisoformat(end),
        zone=zone,
        granularity=granularity,
    )
    return [(row["date"], row["pageviews"]) for row in service.result(query)]


def total(service: Service, start: str, end: str, zone: str) -> int:
    """Page views of a span."""
    query = StandardQuery(
        name="summary_metrics",
        start=date.fromisoformat(start),
        end=date.fromisoformat(end),
        zone=zone,
    )
    return int(service.result(query)[0]["pageviews"])


def hours(day: str, *shown: str | int) -> list[str]:
    """Labels of a day's hours."""
    return [f"{day} {int(hour):02}:00:00" for hour in shown]


DAYS = [
    # zone, day, its first and its last millisecond in UTC
    ("UTC", "2026-11-10", "2026-11-10T00:00:00.000", "2026-11-10T23:59:59.999"),
    ("Europe/Berlin", "2026-10-25", "2026-10-24T22:00:00.000", "2026-10-25T22:59:59.999"),
    ("Europe/Berlin", "2026-03-29", "2026-03-28T23:00:00.000", "2026-03-29T21:59:59.999"),
    ("America/New_York", "2026-11-01", "2026-11-01T04:00:00.000", "2026-11-02T04:59:59.999"),
    ("America/New_York", "2026-03-08", "2026-03-08T05:00:00.000", "2026-03-09T03:59:59.999"),
    ("Asia/Kolkata", "2026-11-10", "2026-11-09T18:30:00.000", "2026-11-10T18:29:59.999"),
    ("Asia/Kathmandu", "2026-11-10", "2026-11-09T18:15:00.000", "2026-11-10T18:14:59.999"),
    ("Australia/Lord_Howe", "2026-10-04", "2026-10-03T13:30:00.000", "2026-10-04T12:59:59.999"),
    ("Australia/Lord_Howe", "2026-04-05", "2026-04-04T13:00:00.000", "2026-04-05T13:29:59.999"),
    ("Pacific/Chatham", "2026-04-05", "2026-04-04T10:15:00.000", "2026-04-05T11:14:59.999"),
    ("Pacific/Chatham", "2026-09-27", "2026-09-26T11:15:00.000", "2026-09-27T10:14:59.999"),
    ("Pacific/Apia", "2011-12-29", "2011-12-29T10:00:00.000", "2011-12-30T09:59:59.999"),
    ("Pacific/Apia", "2011-12-31", "2011-12-30T10:00:00.000", "2011-12-31T09:59:59.999"),
    ("America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00.000", "2018-11-05T01:59:59.999"),
    ("America/Havana", "2026-11-01", "2026-11-01T04:00:00.000", "2026-11-02T04:59:59.999"),
    ("Asia/Kathmandu", "2026-12-31", "2026-12-30T18:15:00.000", "2026-12-31T18:14:59.999"),
    ("Pacific/Kiritimati", "2027-01-01", "2026-12-31T10:00:00.000", "2027-01-01T09:59:59.999"),
]


@pytest.mark.parametrize(("zone", "day", "first", "last"), DAYS)
def test_a_day_holds_its_first_and_last_millisecond_and_no_other(
    zone: str, day: str, first: str, last: str
) -> None:
    ms = timedelta(milliseconds=1)
    before = (datetime.fromisoformat(first) - ms).isoformat()
    after = (datetime.fromisoformat(last) + ms).isoformat()

    with viewed(before, first, last, after) as service:
        assert course(service, day, day, zone) == [(day, 2)]
        assert total(service, day, day, zone) == 2


HOURS: list[tuple[str, str, Sequence[str | int]]] = [
    ("Europe/Berlin", "2026-03-29", [0, 1, *range(3, 24)]),
    ("Europe/Berlin", "2026-10-25", [0, 1, 2, 2, *range(3, 24)]),
    ("America/New_York", "2026-03-08", [0, 1, *range(3, 24)]),
    ("America/New_York", "2026-11-01", [0, 1, 1, *range(2, 24)]),
    ("Asia/Kolkata", "2026-11-10", range(24)),
    ("Asia/Kathmandu", "2026-11-10", range(24)),
    # 02:00 becomes 02:30: the hour is half as long
    ("Australia/Lord_Howe", "2026-10-04", range(24)),
    # 02:00 becomes 01:30: half of the hour occurs again
    ("Australia/Lord_Howe", "2026-04-05", [0, 1, 1, *range(2, 24)]),
    # 03:45 becomes 02:45: the clock shows 2, 3, 2, 3
    ("Pacific/Chatham", "2026-04-05", [0, 1, 2, 3, 2, 3, *range(4, 24)]),
    # 02:45 becomes 03:45
    ("Pacific/Chatham", "2026-09-27", range(24)),
    ("Pacific/Apia", "2011-12-30", []),
    ("America/Sao_Paulo", "2018-11-04", range(1, 24)),
    ("America/Havana", "2026-11-01", [0, 0, *range(1, 24)]),
]


@pytest.mark.parametrize(("zone", "day", "shown"), HOURS)
def test_a_day_has_the_hours_that_its_clocks_show(
    zone: str, day: str, shown: Sequence[str | int]
) -> None:
    with viewed() as service:
        points = course(service, day, day, zone, "hourly")

    assert points == [(label, 0) for label in hours(day, *shown)]


def test_an_hour_that_occurs_twice_keeps_its_halves_apart() -> None:
    with viewed("2026-10-25T00:00:00", "2026-10-25T00:59:59.999", "2026-10-25T01:00:00") as service:
        points = course(service, "2026-10-25", "2026-10-25", "Europe/Berlin", "hourly")

    assert points[1:5] == [
        ("2026-10-25 01:00:00", 0),
        ("2026-10-25 02:00:00", 2),
        ("2026-10-25 02:00:00", 1),
        ("2026-10-25 03:00:00", 0),
    ]


def test_hours_that_the_change_of_the_clock_cuts_share_nothing() -> None:
    """At 3:45 it is 2:45 again: two hours are cut, and each part is a point of its own."""
    quarters = ("12:15", "13:00", "13:15", "13:30", "13:45", "14:00", "14:15", "14:45", "15:00")
    with viewed(*(f"2026-04-04T{quarter}:00" for quarter in quarters)) as service:
        points = course(service, "2026-04-05", "2026-04-05", "Pacific/Chatham", "hourly")

    assert points[2:6] == [
        ("2026-04-05 02:00:00", 2),
        ("2026-04-05 03:00:00", 3),
        ("2026-04-05 02:00:00", 1),
        ("2026-04-05 03:00:00", 3),
    ]
    assert sum(views for _, views in points) == len(quarters)


def test_hours_begin_on_the_hour_of_the_zone() -> None:
    with viewed("2026-11-10T06:14:59.999", "2026-11-10T06:15:00") as service:
        points = course(service, "2026-11-10", "2026-11-10", "Asia/Kathmandu", "hourly")

    assert points[11:13] == [("2026-11-10 11:00:00", 1), ("2026-11-10 12:00:00", 1)]


def test_a_skipped_day_is_no_point_and_holds_nothing() -> None:
    with viewed("2011-12-30T09:59:59.999", "2011-12-30T10:00:00") as service:
        assert course(service, "2011-12-29", "2011-12-31", "Pacific/Apia") == [
            ("2011-12-29", 1),
            ("2011-12-31", 1),
        ]
        assert course(service, "2011-12-30", "2011-12-30", "Pacific/Apia") == []
        assert total(service, "2011-12-30", "2011-12-30", "Pacific/Apia") == 0
        assert total(service, "2011-12-30", "2011-12-31", "Pacific/Apia") == 1


def test_the_year_ends_at_midnight_of_the_zone() -> None:
    with viewed("2026-12-31T22:59:59.999", "2026-12-31T23:00:00") as service:
        assert course(service, "2026-12-31", "2027-01-01", "Europe/Berlin") == [
            ("2026-12-31", 1),
            ("2027-01-01", 1),
        ]
        assert course(service, "2026-12-31", "2027-01-01", "UTC") == [
            ("2026-12-31", 2),
            ("2027-01-01", 0),
        ]


def test_the_same_instants_are_other_days_elsewhere() -> None:
    with viewed("2026-11-10T10:30:00") as service:
        days = {
            zone: course(service, "2026-11-09", "2026-11-11", zone)
            for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago", "UTC")
        }

    assert days == {
        "Pacific/Kiritimati": [("2026-11-09", 0), ("2026-11-10", 0), ("2026-11-11", 1)],
        "Pacific/Pago_Pago": [("2026-11-09", 1), ("2026-11-10", 0), ("2026-11-11", 0)],
        "UTC": [("2026-11-09", 0), ("2026-11-10", 1), ("2026-11-11", 0)],
    }


def test_a_week_begins_on_monday_of_the_zone() -> None:
    # Sunday the 25th has 25 hours in Berlin: it ends at 23:00 of UTC
    with viewed("2026-10-25T22:59:59.999", "2026-10-25T23:00:00") as service:
        assert course(service, "2026-10-21", "2026-10-28", "Europe/Berlin", "weekly") == [
            ("2026-10-19", 1),
            ("2026-10-26", 1),
        ]


def test_the_last_week_of_a_year_goes_on_in_the_next() -> None:
    with viewed("2026-12-31T12:00:00", "2027-01-01T12:00:00", "2027-01-04T00:00:00") as service:
        assert course(service, "2026-12-28", "2027-01-04", "UTC", "weekly") == [
            ("2026-12-28", 2),
            ("2027-01-04", 1),
        ]


def test_a_month_begins_on_its_first_day_in_the_zone() -> None:
    # New York is four hours behind until the first of November, five after
    with viewed(
        "2026-11-01T03:59:59.999", "2026-11-01T04:00:00", "2026-12-01T04:59:59.999"
    ) as service:
        assert course(service, "2026-10-31", "2026-12-01", "America/New_York", "monthly") == [
            ("2026-10-01", 1),
            ("2026-11-01", 2),
            ("2026-12-01", 0),
        ]


def test_months_and_years_of_a_zone_with_a_skipped_day() -> None:
    with viewed("2011-12-30T10:00:00", "2011-12-31T10:00:00") as service:
        assert course(service, "2011-12-30", "2012-01-01", "Pacific/Apia", "monthly") == [
            ("2011-12-01", 1),
            ("2012-01-01", 1),
        ]


def test_a_minute_that_occurs_twice_has_two_points() -> None:
    # 02:00 in Lord Howe becomes 01:30: the minutes from 01:30 occur twice
    with viewed("2026-04-04T14:45:00", "2026-04-04T15:15:30") as service:
        points = course(service, "2026-04-05", "2026-04-05", "Australia/Lord_Howe", "minute")

    assert len(points) == 24 * 60 + 30
    assert [point for point in points if point[1]] == [("2026-04-05 01:45:00", 1)] * 2
