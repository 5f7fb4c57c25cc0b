"""The bucket of each quarter of an hour is that of SQL, in every zone."""

from datetime import date

import pytest

from query.prepared.part_tables import QUARTER_MS
from query.prepared.quarters import by_bucket, whole_range
from query.request.buckets import Granularity, bucket_number
from query.request.time_range import TimeRange, time_range, utc_offset_periods

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
