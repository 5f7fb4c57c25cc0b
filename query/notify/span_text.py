"""A span of time in words, in the time zone of the website."""

from datetime import time, timedelta

from query.notify.spans import Span
from query.request import time_zones


def span_text(span: Span, zone: str) -> str:
    """As `on 30 November`, `from 23 to 29 November`, or `from 09:00 to 10:00 on 30 November`."""
    start, end = (time_zones.to_local(ms, zone) for ms in span)
    if start.time() == end.time() == time():
        last = end - timedelta(days=1)
        if last.date() <= start.date():
            return f"on {start.day} {start:%B}"
        first = f"{start.day}" if start.month == last.month else f"{start.day} {start:%B}"
        return f"from {first} to {last.day} {last:%B}"
    return f"from {start:%H:%M} to {end:%H:%M} on {start.day} {start:%B}"
