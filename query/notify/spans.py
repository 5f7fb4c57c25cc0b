"""Spans of time of alerts: buckets in the time zone of the website, and those to compare with."""

from collections.abc import Sequence
from datetime import datetime, time, timedelta

from query.request import time_zones

Span = tuple[int, int]
MINUTE_MS, WEEK_DAYS = 60_000, 7
LENGTHS = {
    "quarter_hour": timedelta(minutes=15),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(days=WEEK_DAYS),
}
"""The length of each bucket by the clock of the zone."""
USUAL_DAYS, USUAL_WEEKS = 14, 8
"""How many earlier buckets say what is usual: of the same time of day, of the same weekday."""
NEW_DAYS = 30
"""Days before a bucket whose rows are not new."""


def last_complete(until_ms: int, every: str, zone: str) -> Span:
    """The last bucket that ended at an instant or before it.

    Where clocks go back, the bucket that occurs twice is one; where they go forward, one is left
    out.
    """
    start = _start_of(time_zones.to_local(until_ms, zone), every)
    end = time_zones.to_unix_ms(start, zone)
    while (begin := time_zones.to_unix_ms(start := start - LENGTHS[every], zone)) >= end:
        pass
    return begin, end


def previous(span: Span, every: str, zone: str) -> Span:
    """The bucket before."""
    return last_complete(span[0], every, zone)


def next_end(span: Span, every: str, zone: str) -> int:
    """The end of the bucket after."""
    return time_zones.to_unix_ms(time_zones.to_local(span[1], zone) + LENGTHS[every], zone)


def week_before(span: Span, zone: str) -> Span:
    """The same bucket a week earlier by the clock of the zone.

    If the clock left it out, as long a time after it.
    """
    start, end = _earlier(span, zone, timedelta(days=WEEK_DAYS))
    return (start, end) if start < end else (start, start + span[1] - span[0])


def usual(span: Span, every: str, zone: str) -> Sequence[Span]:
    """Earlier buckets of the same time of day, or for days and weeks of the same weekday."""
    weekly = every in ("day", "week")
    count, step = (USUAL_WEEKS, WEEK_DAYS) if weekly else (USUAL_DAYS, 1)
    spans = [_earlier(span, zone, timedelta(days=step * i)) for i in range(1, count + 1)]
    return [(start, end) for start, end in spans if start < end]


def before(span: Span, zone: str) -> Span:
    """The days before a bucket, to which its rows are compared."""
    start = time_zones.to_local(span[0], zone) - timedelta(days=NEW_DAYS)
    return time_zones.to_unix_ms(start, zone), span[0]


def quiet_end(now_ms: int, quiet_hours: str | None, zone: str) -> int:
    """The end of the quiet hours that an instant lies in; the instant itself outside of them."""
    if quiet_hours is None:
        return now_ms
    begins, ends = (time.fromisoformat(text) for text in quiet_hours.split("-"))
    now = time_zones.to_local(now_ms, zone)
    within = (
        begins <= now.time() < ends if begins < ends else now.time() >= begins or now.time() < ends
    )
    if not within:
        return now_ms
    day = now.date() if now.time() < ends else now.date() + timedelta(days=1)
    return max(now_ms, time_zones.to_unix_ms(datetime.combine(day, ends), zone))


def _start_of(local: datetime, every: str) -> datetime:
    midnight = datetime.combine(local.date(), time())
    if every == "week":
        return midnight - timedelta(days=local.weekday())
    if every == "day":
        return midnight
    length = LENGTHS[every]
    return midnight + (local - midnight) // length * length


def _earlier(span: Span, zone: str, by: timedelta) -> Span:
    start, end = (time_zones.to_unix_ms(time_zones.to_local(ms, zone) - by, zone) for ms in span)
    return start, end
