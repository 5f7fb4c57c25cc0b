"""Days and hours in a zone: bounds, numbers and labels."""

from datetime import UTC, date, datetime

import pytest

from query.span import Granularity, Point, Span, pieces, span
from schemas.failures import Malformed

HOUR = 3_600_000


def of(start: str, end: str, zone: str) -> Span:
    return span(date.fromisoformat(start), date.fromisoformat(end), zone, 400)


def utc(text: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def labels(whole: Span, granularity: Granularity = Granularity.HOURLY) -> list[str]:
    return [point.label for point in whole.points(granularity)]


@pytest.mark.parametrize(
    ("zone", "start", "end", "hours"),
    [
        ("UTC", "2026-10-25 00:00", "2026-10-26 00:00", 24),
        ("Europe/Berlin", "2026-10-24 22:00", "2026-10-25 23:00", 25),
        ("Asia/Kolkata", "2026-10-24 18:30", "2026-10-25 18:30", 24),
        ("Asia/Kathmandu", "2026-10-24 18:15", "2026-10-25 18:15", 24),
    ],
)
def test_a_day_begins_and_ends_at_midnight_of_its_zone(
    zone: str, start: str, end: str, hours: int
) -> None:
    day = of("2026-10-25", "2026-10-25", zone)

    assert (day.start_ms, day.end_ms) == (utc(start), utc(end))
    assert len(day.points(Granularity.HOURLY)) == hours
    assert labels(day, Granularity.DAILY) == ["2026-10-25"]


def test_a_day_on_which_the_clock_is_set_forward_has_23_points() -> None:
    found = labels(of("2026-03-29", "2026-03-29", "Europe/Berlin"))

    assert len(found) == 23
    assert found[1:3] == ["2026-03-29 01:00:00", "2026-03-29 03:00:00"]


def test_the_hour_that_occurs_twice_has_two_points() -> None:
    day = of("2026-10-25", "2026-10-25", "Europe/Berlin")

    assert day.points(Granularity.HOURLY)[2:4] == [
        Point(utc("2026-10-25 00:00"), "2026-10-25 02:00:00"),
        Point(utc("2026-10-25 01:00"), "2026-10-25 02:00:00"),
    ]


def test_half_an_hour_set_back_makes_a_second_short_point() -> None:
    found = labels(of("2026-04-05", "2026-04-05", "Australia/Lord_Howe"))

    assert found[:4] == [
        "2026-04-05 00:00:00",
        "2026-04-05 01:00:00",
        "2026-04-05 01:00:00",
        "2026-04-05 02:00:00",
    ]
    assert len(found) == 25


def test_a_day_that_a_zone_skipped_is_empty() -> None:
    skipped = of("2011-12-30", "2011-12-30", "Pacific/Apia")
    around = of("2011-12-29", "2011-12-31", "Pacific/Apia")

    assert skipped.start_ms == skipped.end_ms
    assert labels(skipped) == labels(skipped, Granularity.DAILY) == []
    assert labels(around, Granularity.DAILY) == ["2011-12-29", "2011-12-31"]


def test_a_midnight_that_does_not_exist_is_the_first_instant_after_it() -> None:
    day = of("2018-11-04", "2018-11-04", "America/Sao_Paulo")

    assert day.start_ms == utc("2018-11-04 03:00")
    assert labels(day)[0] == "2018-11-04 01:00:00"
    assert len(labels(day)) == 23


@pytest.mark.parametrize(
    "zone",
    ["UTC", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Asia/Kathmandu"],
)
@pytest.mark.parametrize("granularity", Granularity)
def test_every_instant_is_in_the_bucket_of_its_local_label(
    zone: str, granularity: Granularity
) -> None:
    from zoneinfo import ZoneInfo

    year = of("2026-01-01", "2026-12-31", zone)
    label_of = {point.bucket: point.label for point in year.points(granularity)}
    form = "%Y-%m-%d" if granularity is Granularity.DAILY else "%Y-%m-%d %H:00:00"

    for ms in range(year.start_ms, year.end_ms, 1_733_000):
        piece = next(p for p in pieces(year) if ms < p.end_ms)
        local = ms + piece.offset_ms
        number = local - local % 86_400_000 if form == "%Y-%m-%d" else ms - local % HOUR
        there = datetime.fromtimestamp(ms / 1000, ZoneInfo(zone))
        assert label_of[number] == there.strftime(form)


def test_days_in_the_wrong_order_or_too_many_are_refused() -> None:
    with pytest.raises(Malformed, match="before 'startDate'"):
        of("2026-10-25", "2026-10-24", "UTC")
    with pytest.raises(Malformed, match="401 days; at most 400"):
        of("2026-01-01", "2027-02-05", "UTC")
    with pytest.raises(Malformed, match="must be after"):
        of("0001-01-01", "0001-01-02", "Pacific/Apia")
