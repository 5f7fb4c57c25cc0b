"""Labels of buckets by their number, around changes of the clock."""

from datetime import date

import pytest

from query.request.buckets import (
    WIDTH_MS,
    Granularity,
    bucket_at,
    bucket_label,
    bucket_position,
    list_buckets,
)
from query.request.time_range import time_range, utc_offset_periods

CHANGES = (
    ("UTC", date(2026, 11, 29)),
    ("Europe/Berlin", date(2026, 10, 25)),
    ("Europe/Berlin", date(2026, 3, 29)),
    ("Asia/Kathmandu", date(2026, 1, 1)),
    ("Australia/Lord_Howe", date(2026, 4, 5)),
    ("Australia/Lord_Howe", date(2026, 10, 4)),
    ("Pacific/Chatham", date(2026, 4, 5)),
)


@pytest.mark.parametrize(("zone", "day"), CHANGES)
@pytest.mark.parametrize("granularity", list(Granularity))
def test_a_label_by_number_is_that_of_the_list(
    zone: str, day: date, granularity: Granularity
) -> None:
    periods = utc_offset_periods(time_range(day, day, zone, 1))

    for number, label in list_buckets(periods, granularity):
        assert bucket_label(number, periods, granularity) == label


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe"])
@pytest.mark.parametrize("granularity", list(WIDTH_MS))
@pytest.mark.parametrize("month", [4, 10])
def test_positions_are_those_of_the_list_of_buckets(
    zone: str, granularity: Granularity, month: int
) -> None:
    periods = utc_offset_periods(time_range(date(2026, month, 1), date(2026, month, 30), zone, 99))
    numbers = [number for number, _ in list_buckets(periods, granularity)]
    width, places = WIDTH_MS[granularity], range(len(numbers))

    assert [bucket_at(place, periods, width) for place in places] == numbers
    assert [bucket_position(number, periods, width) for number in numbers] == [*places]
    assert bucket_at(len(numbers), periods, width) is None
