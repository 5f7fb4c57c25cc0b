"""Spans: what is known of one session in one hour of receipt, and which of them an event joins."""

from msgspec import Struct

GAP_MS = 30 * 60_000
HOUR_MS = 3_600_000
WINDOW = 2
"""Hours before its own in which what an event joins may have been received."""
OWN_SPANS = 64
"""Of one visitor: nobody has more, but for who makes up times to begin one with each event."""

Visitor = tuple[str, int]
"""Website and hash of the visitor."""


class Span(Struct, frozen=True, gc=False):
    """First and last event that one session received in one hour."""

    session_id: str
    hour: int
    first: int
    last: int

    def distance(self, ms: int) -> int:
        return max(self.first - ms, ms - self.last, 0)

    def stretched(self, first: int, last: int) -> "Span":
        if self.first <= first and last <= self.last:
            return self
        return Span(self.session_id, self.hour, min(self.first, first), max(self.last, last))


Spans = tuple[Span, ...]


def nearest(spans: Spans, ms: int, hour: int) -> str | None:
    """The session that an event of this time joins; None when all are too far."""
    near = [
        (distance, span.first, span.session_id)
        for span in spans
        if span.hour >= hour - WINDOW and (distance := span.distance(ms)) < GAP_MS
    ]
    return min(near)[2] if near else None


def extended(spans: Spans, session_id: str, hour: int, first: int, last: int) -> Spans:
    """The same, and the session received events of this time in this hour."""
    for index, span in enumerate(spans):
        if span.hour == hour and span.session_id == session_id:
            return (*spans[:index], span.stretched(first, last), *spans[index + 1 :])
    return (*spans[-(OWN_SPANS - 1) :], Span(session_id, hour, first, last))
