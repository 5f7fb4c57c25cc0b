"""Spans of their own: what happens now, and today; whatever dates a request has."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from query.span import Span
from query.standard.spec import Over

MINUTE_MS = 60_000
AHEAD_MS = 5 * MINUTE_MS
"""How far a visitor's clock may be ahead; a row from there is happening now."""


def last_minutes(minutes: int) -> Over:
    """From that many minutes ago on."""

    def over(span: Span, now_ms: int) -> Span:
        return Span(now_ms - minutes * MINUTE_MS, now_ms + AHEAD_MS, span.zone)

    return over


def today(span: Span, now_ms: int) -> Span:
    """The day that it is in the zone."""
    zone = ZoneInfo(span.zone)
    day = datetime.fromtimestamp(now_ms / 1000, zone).date()
    begin, end = (
        datetime(each.year, each.month, each.day, tzinfo=zone)
        for each in (day, day + timedelta(days=1))
    )
    return Span(round(begin.timestamp() * 1000), round(end.timestamp() * 1000), span.zone)
