"""First and last event of a session in one hour, and which session an event joins."""

from msgspec import Struct

SESSION_TIMEOUT_MS = 30 * 60_000
HOUR_MS = 3_600_000
WINDOW_HOURS = 2
"""Hours before its own in which the events that an event joins may have been received."""
MAX_SPANS_PER_VISITOR = 64
"""Spans that are kept of one visitor: only forged timestamps make more."""

VisitorKey = tuple[str, int]
"""Website id and visitor hash."""


class SessionSpan(Struct, frozen=True, gc=False):
    """Times of the first and last event of one session, of those received in one hour."""

    session_id: str
    hour: int
    first: int
    last: int

    def distance(self, ms: int) -> int:
        return max(self.first - ms, ms - self.last, 0)

    def extended(self, first: int, last: int) -> "SessionSpan":
        if self.first <= first and last <= self.last:
            return self
        return SessionSpan(self.session_id, self.hour, min(self.first, first), max(self.last, last))


SessionSpans = tuple[SessionSpan, ...]


def nearest(spans: SessionSpans, ms: int, hour: int) -> str | None:
    """The session that an event of this time joins; None when none is within the timeout."""
    near = [
        (distance, span.first, span.session_id)
        for span in spans
        if span.hour >= hour - WINDOW_HOURS and (distance := span.distance(ms)) < SESSION_TIMEOUT_MS
    ]
    return min(near)[2] if near else None


def extended(
    spans: SessionSpans, session_id: str, hour: int, first: int, last: int
) -> SessionSpans:
    """The spans, with that of the session and hour extended to these times."""
    for index, span in enumerate(spans):
        if span.hour == hour and span.session_id == session_id:
            return (*spans[:index], span.extended(first, last), *spans[index + 1 :])
    return (*spans[-(MAX_SPANS_PER_VISITOR - 1) :], SessionSpan(session_id, hour, first, last))
