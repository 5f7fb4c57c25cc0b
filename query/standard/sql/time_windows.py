"""Spans of their own: what happens now, and today; whatever dates a request has."""

from datetime import timedelta

from query.request.time_range import Span
from query.request.time_zones import instant, local
from query.standard.declaration.query_type import Over

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
    midnight = local(now_ms, span.zone).replace(hour=0, minute=0, second=0, microsecond=0)
    ends = (midnight, midnight + timedelta(days=1))
    start_ms, end_ms = (instant(each, span.zone) for each in ends)
    return Span(start_ms, end_ms, span.zone)
