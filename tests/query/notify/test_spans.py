"""Buckets of alerts in the time zone of the website, worked out by hand."""

from datetime import UTC, datetime

import pytest

from query.notify import spans
from query.notify.spans import Span

BERLIN, KATHMANDU, LORD_HOWE = "Europe/Berlin", "Asia/Kathmandu", "Australia/Lord_Howe"


def ms(text: str) -> int:
    """An instant of UTC, as `2026-03-29T01:00`."""
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def span(start: str, end: str) -> Span:
    return ms(start), ms(end)


def texts(value: Span) -> tuple[str, str]:
    """Start and end in UTC, without the seconds."""
    start, end = (f"{datetime.fromtimestamp(one / 1000, UTC):%Y-%m-%dT%H:%M}" for one in value)
    return start, end


def hours(value: Span) -> float:
    return (value[1] - value[0]) / 3_600_000


@pytest.mark.parametrize(
    ("until", "every", "zone", "expected"),
    [
        # the end of a bucket is exclusive: at that instant it is complete
        ("2026-11-10T12:00", "hour", "UTC", ("2026-11-10T11:00", "2026-11-10T12:00")),
        ("2026-11-10T12:59", "hour", "UTC", ("2026-11-10T11:00", "2026-11-10T12:00")),
        ("2026-11-10T12:29", "quarter_hour", "UTC", ("2026-11-10T12:00", "2026-11-10T12:15")),
        ("2026-11-10T00:00", "quarter_hour", "UTC", ("2026-11-09T23:45", "2026-11-10T00:00")),
        # in winter Berlin is one hour ahead; 2026-11-09 is a Monday
        ("2026-11-10T22:59", "day", BERLIN, ("2026-11-08T23:00", "2026-11-09T23:00")),
        ("2026-11-10T23:00", "day", BERLIN, ("2026-11-09T23:00", "2026-11-10T23:00")),
        ("2026-11-15T22:59", "week", BERLIN, ("2026-11-01T23:00", "2026-11-08T23:00")),
        ("2026-11-15T23:00", "week", BERLIN, ("2026-11-08T23:00", "2026-11-15T23:00")),
        # 5 h 45 min ahead: hours begin at a quarter past in UTC
        ("2026-11-10T12:14", "hour", KATHMANDU, ("2026-11-10T10:15", "2026-11-10T11:15")),
        ("2026-11-10T12:15", "hour", KATHMANDU, ("2026-11-10T11:15", "2026-11-10T12:15")),
        ("2026-11-10T12:15", "quarter_hour", KATHMANDU, ("2026-11-10T12:00", "2026-11-10T12:15")),
        ("2026-11-10T18:15", "day", KATHMANDU, ("2026-11-09T18:15", "2026-11-10T18:15")),
        # Berlin, 2026-03-29: 02:00 becomes 03:00 at 01:00 UTC; the hour from 2 is left out
        ("2026-03-29T00:59", "hour", BERLIN, ("2026-03-28T23:00", "2026-03-29T00:00")),
        ("2026-03-29T01:00", "hour", BERLIN, ("2026-03-29T00:00", "2026-03-29T01:00")),
        ("2026-03-29T01:59", "hour", BERLIN, ("2026-03-29T00:00", "2026-03-29T01:00")),
        ("2026-03-29T02:00", "hour", BERLIN, ("2026-03-29T01:00", "2026-03-29T02:00")),
        ("2026-03-29T01:00", "quarter_hour", BERLIN, ("2026-03-29T00:45", "2026-03-29T01:00")),
        ("2026-03-29T22:00", "day", BERLIN, ("2026-03-28T23:00", "2026-03-29T22:00")),
        ("2026-03-29T22:00", "week", BERLIN, ("2026-03-22T23:00", "2026-03-29T22:00")),
        # Berlin, 2026-10-25: 03:00 becomes 02:00 at 01:00 UTC; the hour from 2 has two hours
        ("2026-10-25T00:59", "hour", BERLIN, ("2026-10-24T23:00", "2026-10-25T00:00")),
        ("2026-10-25T01:00", "hour", BERLIN, ("2026-10-24T23:00", "2026-10-25T00:00")),
        ("2026-10-25T01:59", "hour", BERLIN, ("2026-10-24T23:00", "2026-10-25T00:00")),
        ("2026-10-25T02:00", "hour", BERLIN, ("2026-10-25T00:00", "2026-10-25T02:00")),
        ("2026-10-25T00:59", "quarter_hour", BERLIN, ("2026-10-25T00:30", "2026-10-25T00:45")),
        ("2026-10-25T02:00", "quarter_hour", BERLIN, ("2026-10-25T00:45", "2026-10-25T02:00")),
        ("2026-10-25T23:00", "day", BERLIN, ("2026-10-24T22:00", "2026-10-25T23:00")),
        ("2026-10-25T23:00", "week", BERLIN, ("2026-10-18T22:00", "2026-10-25T23:00")),
        # Lord Howe, 2026-10-04: 02:00 becomes 02:30 at 15:30 UTC of the day before
        ("2026-10-03T15:30", "hour", LORD_HOWE, ("2026-10-03T14:30", "2026-10-03T15:30")),
        ("2026-10-03T16:00", "hour", LORD_HOWE, ("2026-10-03T15:30", "2026-10-03T16:00")),
        # Lord Howe, 2026-04-05: 02:00 becomes 01:30 at 15:00 UTC of the day before
        ("2026-04-04T15:29", "hour", LORD_HOWE, ("2026-04-04T13:00", "2026-04-04T14:00")),
        ("2026-04-04T15:30", "hour", LORD_HOWE, ("2026-04-04T14:00", "2026-04-04T15:30")),
    ],
)
def test_the_last_complete_bucket(
    until: str, every: str, zone: str, expected: tuple[str, str]
) -> None:
    assert texts(spans.last_complete(ms(until), every, zone)) == expected


def test_days_of_a_change_have_23_and_25_hours() -> None:
    spring = spans.last_complete(ms("2026-03-30T12:00"), "day", BERLIN)
    autumn = spans.last_complete(ms("2026-10-26T12:00"), "day", BERLIN)

    assert (hours(spring), hours(autumn)) == (23, 25)


def test_the_bucket_before_ends_where_a_bucket_begins() -> None:
    after_the_skip = span("2026-03-29T01:00", "2026-03-29T02:00")
    monday = span("2026-10-25T23:00", "2026-10-26T23:00")

    assert texts(spans.previous(after_the_skip, "hour", BERLIN)) == (
        "2026-03-29T00:00",
        "2026-03-29T01:00",
    )
    assert texts(spans.previous(monday, "day", BERLIN)) == ("2026-10-24T22:00", "2026-10-25T23:00")


def test_the_next_bucket_ends_after_one_by_the_clock_of_the_zone() -> None:
    ends = [
        spans.next_end(span("2026-03-29T00:00", "2026-03-29T01:00"), "hour", BERLIN),
        spans.next_end(span("2026-03-28T23:00", "2026-03-29T00:00"), "hour", BERLIN),
        spans.next_end(span("2026-10-24T23:00", "2026-10-25T00:00"), "hour", BERLIN),
        spans.next_end(span("2026-10-23T22:00", "2026-10-24T22:00"), "day", BERLIN),
    ]

    assert ends == [
        ms("2026-03-29T02:00"),
        ms("2026-03-29T01:00"),
        ms("2026-10-25T02:00"),
        ms("2026-10-25T23:00"),
    ]


def test_a_week_before_is_the_same_time_by_the_clock() -> None:
    ten_to_eleven = span("2026-03-30T08:00", "2026-03-30T09:00")

    assert texts(spans.week_before(ten_to_eleven, BERLIN)) == (
        "2026-03-23T09:00",
        "2026-03-23T10:00",
    )


def test_a_week_before_a_left_out_hour_is_the_hour_after_it() -> None:
    from_two_to_three = span("2026-04-05T00:00", "2026-04-05T01:00")

    assert texts(spans.week_before(from_two_to_three, BERLIN)) == (
        "2026-03-29T01:00",
        "2026-03-29T02:00",
    )


def test_usual_hours_are_those_of_14_days_before() -> None:
    buckets = spans.usual(span("2026-11-15T12:00", "2026-11-15T13:00"), "hour", "UTC")

    assert [texts(bucket)[0] for bucket in buckets] == [
        f"2026-11-{day:02}T12:00" for day in range(14, 0, -1)
    ]
    assert {hours(bucket) for bucket in buckets} == {1}


@pytest.mark.parametrize("every", ["day", "week"])
def test_usual_days_are_those_of_the_weekday_in_8_weeks_before(every: str) -> None:
    end = {"day": "2026-11-09T23:00", "week": "2026-11-15T23:00"}[every]

    buckets = spans.usual(span("2026-11-08T23:00", end), every, BERLIN)

    assert [texts(bucket)[0] for bucket in buckets] == [
        "2026-11-01T23:00",
        "2026-10-25T23:00",
        "2026-10-18T22:00",
        "2026-10-11T22:00",
        "2026-10-04T22:00",
        "2026-09-27T22:00",
        "2026-09-20T22:00",
        "2026-09-13T22:00",
    ]


def test_a_left_out_hour_is_none_of_the_usual_ones() -> None:
    from_two_to_three = span("2026-04-05T00:00", "2026-04-05T01:00")

    buckets = spans.usual(from_two_to_three, "hour", BERLIN)

    assert len(buckets) == 13
    assert all(start < end for start, end in buckets)


@pytest.mark.parametrize("zone", [BERLIN, LORD_HOWE, KATHMANDU, "UTC"])
@pytest.mark.parametrize("every", ["quarter_hour", "hour", "day", "week"])
def test_no_bucket_of_a_year_is_empty_or_unfinished(every: str, zone: str) -> None:
    step = 36_900_000 if every in ("quarter_hour", "hour") else 86_400_000
    for until in range(ms("2026-03-25T00:00"), ms("2026-11-10T00:00"), step):
        bucket = spans.last_complete(until, every, zone)

        assert bucket[0] < bucket[1] <= until < bucket[1] + 8 * 86_400_000
        compared = [
            spans.previous(bucket, every, zone),
            spans.week_before(bucket, zone),
            spans.before(bucket, zone),
            *spans.usual(bucket, every, zone),
        ]
        assert all(start < end <= bucket[0] for start, end in compared), texts(bucket)
        assert spans.next_end(bucket, every, zone) > bucket[1]


def test_rows_are_new_which_30_days_before_had_not() -> None:
    hour = span("2026-11-10T08:00", "2026-11-10T09:00")

    assert texts(spans.before(hour, BERLIN)) == ("2026-10-11T07:00", "2026-11-10T08:00")


@pytest.mark.parametrize(
    ("now", "quiet_hours", "zone", "end"),
    [
        ("2026-11-10T12:00", None, "UTC", "2026-11-10T12:00"),
        # over midnight
        ("2026-11-10T21:59", "22:00-07:00", "UTC", "2026-11-10T21:59"),
        ("2026-11-10T22:00", "22:00-07:00", "UTC", "2026-11-11T07:00"),
        ("2026-11-11T00:00", "22:00-07:00", "UTC", "2026-11-11T07:00"),
        ("2026-11-11T06:59", "22:00-07:00", "UTC", "2026-11-11T07:00"),
        ("2026-11-11T07:00", "22:00-07:00", "UTC", "2026-11-11T07:00"),
        ("2026-11-10T23:30", "22:00-00:00", "UTC", "2026-11-11T00:00"),
        # within a day
        ("2026-11-10T11:59", "12:00-13:30", "UTC", "2026-11-10T11:59"),
        ("2026-11-10T12:00", "12:00-13:30", "UTC", "2026-11-10T13:30"),
        ("2026-11-10T13:30", "12:00-13:30", "UTC", "2026-11-10T13:30"),
        ("2026-11-10T05:00", "00:00-07:00", "UTC", "2026-11-10T07:00"),
        # in the zone of the website
        ("2026-11-10T21:30", "22:00-07:00", BERLIN, "2026-11-11T06:00"),
        # 7 o'clock is an hour of UTC earlier in summer
        ("2026-03-28T22:00", "22:00-07:00", BERLIN, "2026-03-29T05:00"),
        ("2026-10-24T21:00", "22:00-07:00", BERLIN, "2026-10-25T06:00"),
        # half past two does not exist that night, then there are two of it
        ("2026-03-29T00:30", "22:00-02:30", BERLIN, "2026-03-29T01:00"),
        ("2026-10-25T00:10", "22:00-02:30", BERLIN, "2026-10-25T00:30"),
        ("2026-10-25T01:10", "22:00-02:30", BERLIN, "2026-10-25T01:10"),
    ],
)
def test_quiet_hours_end(now: str, quiet_hours: str | None, zone: str, end: str) -> None:
    assert spans.quiet_end(ms(now), quiet_hours, zone) == ms(end)
