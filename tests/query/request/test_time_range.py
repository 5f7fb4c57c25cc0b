"""Days and hours in a zone: bounds, numbers and labels."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import duckdb
import pytest

from query.request.time_range import Granularity, SeriesPoint, TimeRange, time_range
from schemas.errors import Malformed


def of(start: str, end: str, zone: str) -> TimeRange:
    return time_range(date.fromisoformat(start), date.fromisoformat(end), zone, 400)


def utc(text: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def labels(whole: TimeRange, granularity: Granularity = Granularity.HOURLY) -> list[str]:
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
        SeriesPoint(utc("2026-10-25 00:00"), "2026-10-25 02:00:00"),
        SeriesPoint(utc("2026-10-25 01:00"), "2026-10-25 02:00:00"),
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


LABELS = {
    Granularity.MINUTE: "%Y-%m-%d %H:%M:00",
    Granularity.HOURLY: "%Y-%m-%d %H:00:00",
    Granularity.DAILY: "%Y-%m-%d",
    Granularity.MONTHLY: "%Y-%m-01",
    Granularity.YEARLY: "%Y-01-01",
}


def label_of(ms: int, zone: str, granularity: Granularity) -> str:
    """The label by the calendar of Python."""
    there = datetime.fromtimestamp(ms / 1000, ZoneInfo(zone))
    if granularity is Granularity.WEEKLY:
        return str(there.date() - timedelta(days=there.weekday()))
    if granularity is Granularity.SUNDAY_WEEK:
        return str(there.date() - timedelta(days=there.isoweekday() % 7))
    if granularity is Granularity.QUARTERLY:
        return f"{there.year}-{(there.month + 2) // 3 * 3 - 2:02}-01"
    if granularity is Granularity.QUARTER_HOUR:
        return f"{there:%Y-%m-%d %H}:{there.minute // 15 * 15:02}:00"
    return there.strftime(LABELS[granularity])


@pytest.mark.parametrize(
    "zone",
    ["UTC", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Chatham"],
)
@pytest.mark.parametrize("granularity", Granularity)
def test_every_instant_is_in_the_bucket_of_its_local_label(
    zone: str, granularity: Granularity
) -> None:
    narrow = granularity in (Granularity.MINUTE, Granularity.QUARTER_HOUR)
    year = of("2026-04-04", "2026-04-06", zone) if narrow else of("2026-01-01", "2026-12-31", zone)
    labels = {point.bucket: point.label for point in year.points(granularity)}
    sample = list(range(year.start_ms, year.end_ms, 97_000 if narrow else 1_733_000))
    bucket = year.bucket_sql("ms", granularity)

    rows = duckdb.execute(
        f"SELECT ms, {bucket.text} FROM (SELECT UNNEST($sample) AS ms)",
        {"sample": sample, **bucket.values},
    ).fetchall()

    assert [labels[number] for _, number in rows] == [
        label_of(ms, zone, granularity) for ms, _ in rows
    ]


def test_weeks_begin_on_monday_and_months_on_the_first() -> None:
    turn = of("2026-12-30", "2027-02-01", "Asia/Kathmandu")

    assert labels(turn, Granularity.WEEKLY) == [
        "2026-12-28",
        "2027-01-04",
        "2027-01-11",
        "2027-01-18",
        "2027-01-25",
        "2027-02-01",
    ]
    assert labels(turn, Granularity.MONTHLY) == ["2026-12-01", "2027-01-01", "2027-02-01"]


def test_quarters_begin_every_third_month_and_weeks_from_sunday_on_sunday() -> None:
    turn = of("2026-12-30", "2027-01-11", "Asia/Kathmandu")

    assert labels(turn, Granularity.QUARTERLY) == ["2026-10-01", "2027-01-01"]
    assert labels(turn, Granularity.YEARLY) == ["2026-01-01", "2027-01-01"]
    assert labels(turn, Granularity.SUNDAY_WEEK) == ["2026-12-27", "2027-01-03", "2027-01-10"]


def test_a_week_with_a_change_of_the_clock_is_one_point() -> None:
    assert labels(of("2026-10-19", "2026-11-01", "Europe/Berlin"), Granularity.WEEKLY) == [
        "2026-10-19",
        "2026-10-26",
    ]


def test_the_bucket_that_now_is_in_is_still_running() -> None:
    days = of("2026-10-24", "2026-10-26", "Europe/Berlin")
    twice = utc("2026-10-25 01:30")  # 02:30 for the second time

    assert days.current_bucket_label(twice, Granularity.DAILY) == "2026-10-25"
    assert days.current_bucket_label(twice, Granularity.HOURLY) == "2026-10-25 02:00:00"
    assert days.current_bucket_label(twice, Granularity.MONTHLY) == "2026-10-01"
    assert days.current_bucket_label(days.end_ms, Granularity.DAILY) is None


def test_too_many_points_are_refused() -> None:
    with pytest.raises(Malformed, match="minute gives 10,080 data points; at most 10,000"):
        of("2026-11-01", "2026-11-07", "UTC").points(Granularity.MINUTE)


def test_days_in_the_wrong_order_or_too_many_are_refused() -> None:
    with pytest.raises(Malformed, match="before 'startDate'"):
        of("2026-10-25", "2026-10-24", "UTC")
    with pytest.raises(Malformed, match="401 days; at most 400"):
        of("2026-01-01", "2027-02-05", "UTC")
    with pytest.raises(Malformed, match="must be between"):
        of("0001-01-01", "0001-01-02", "Pacific/Apia")
