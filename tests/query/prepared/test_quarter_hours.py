"""Quarter-hours of a time range, and the bucket that each belongs to."""

from datetime import date

import pytest

from query.prepared.cohorts import Cohorts
from query.prepared.custom_events import CustomEventsByBucket, CustomEventTotals
from query.prepared.quarter_hours import by_bucket, date_parts, whole_range, with_local_time
from query.prepared.rollup_tables import QUARTER_MS
from query.prepared.session_groups import SessionsByBucket
from query.request.buckets import Granularity, bucket_number
from query.request.date_parts import DatePart
from query.request.time_range import TimeRange, time_range, utc_offset_periods
from query.request.time_zones import to_local

ZONES = {
    "UTC": date(2026, 11, 10),
    "Europe/Berlin": date(2026, 10, 25),
    "America/New_York": date(2026, 3, 8),
    "Asia/Kathmandu": date(2026, 1, 1),
    "Australia/Lord_Howe": date(2026, 4, 5),
    "Pacific/Apia": date(2011, 12, 30),
}
WIDE = [each for each in Granularity if each is not Granularity.MINUTE]


@pytest.mark.parametrize("granularity", WIDE)
@pytest.mark.parametrize("zone", ZONES)
def test_each_quarter_has_the_bucket_of_its_instants(zone: str, granularity: Granularity) -> None:
    day = ZONES[zone]
    asked = time_range(day.replace(day=1), day, zone, 40)

    quarters = by_bucket(asked, granularity)

    assert quarters is not None
    periods = utc_offset_periods(asked)
    assert (quarters.first * QUARTER_MS, quarters.end * QUARTER_MS) == (
        asked.start_ms,
        asked.end_ms,
    )
    for i, bucket in enumerate(quarters.buckets):
        first = (quarters.first + i) * QUARTER_MS
        for ms in (first, first + QUARTER_MS - 1):
            assert quarters.numbers[bucket] == bucket_number(ms, periods, granularity)


def test_a_range_that_cuts_a_quarter_has_none() -> None:
    assert whole_range(TimeRange(1, QUARTER_MS, "UTC")) is None
    assert by_bucket(TimeRange(0, QUARTER_MS + 1, "UTC"), Granularity.DAILY) is None


def test_minutes_and_zones_with_odd_offsets_have_none() -> None:
    assert by_bucket(TimeRange(0, 4 * QUARTER_MS, "UTC"), Granularity.MINUTE) is None
    monrovia = time_range(date(1971, 1, 1), date(1971, 1, 2), "Africa/Monrovia", 9)
    assert by_bucket(monrovia, Granularity.DAILY) is None


def test_a_day_that_returns_after_the_next_has_none() -> None:
    """Clocks of Casey Station went back from 02:00 to 23:00 of the day before."""
    night = time_range(date(2010, 3, 4), date(2010, 3, 5), "Antarctica/Casey", 9)

    assert by_bucket(night, Granularity.DAILY) is None
    assert by_bucket(night, Granularity.HOURLY) is not None


@pytest.mark.parametrize("zone", ZONES)
def test_each_quarter_has_the_date_parts_of_its_local_time(zone: str) -> None:
    day = ZONES[zone]
    asked = time_range(day.replace(day=1), day, zone, 40)

    quarters = with_local_time(asked)

    assert quarters is not None
    hours, days = (date_parts(quarters, asked, part) for part in DatePart)
    for i in range(quarters.end - quarters.first):
        local = to_local((quarters.first + i) * QUARTER_MS, zone)
        assert (hours[i], days[i]) == (local.hour, local.isoweekday())


def test_a_change_of_the_offset_within_a_quarter_has_no_date_parts() -> None:
    # the clocks of Liberia went forward by 44 minutes and a half on 1972-01-07
    day = date(1972, 1, 7)
    assert with_local_time(time_range(day, day, "Africa/Monrovia", 40)) is None


HOURS = TimeRange(8 * QUARTER_MS, 16 * QUARTER_MS, "UTC")
CUT = TimeRange(8 * QUARTER_MS + 1, 16 * QUARTER_MS, "UTC")


def test_a_form_of_the_whole_range_has_one_bucket() -> None:
    quarters = CustomEventTotals().quarters(HOURS, Granularity.HOURLY)

    assert quarters is not None
    assert (quarters.first, quarters.end, set(quarters.buckets.tolist())) == (8, 16, {0})
    assert CustomEventTotals().quarters(CUT, Granularity.HOURLY) is None


def test_a_form_of_buckets_has_those_of_the_granularity() -> None:
    quarters = CustomEventsByBucket().quarters(HOURS, Granularity.HOURLY)

    assert quarters is not None
    assert quarters.buckets.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert CustomEventsByBucket().quarters(CUT, Granularity.HOURLY) is None


def test_forms_without_options_are_told_apart() -> None:
    forms = {Cohorts(9), CustomEventTotals(), CustomEventsByBucket(), SessionsByBucket()}

    assert len(forms) == 4
    assert len({repr(form) for form in forms}) == 4
