"""Clock: the current time as a dependency, and conversions of instants."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Clock = Callable[[], int]
"""Returns the current time in Unix milliseconds."""


def now_ms() -> int:
    """The current time of this machine."""
    return time.time_ns() // 1_000_000


UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_instant_ms(text: str) -> int:
    """Unix milliseconds of an ISO 8601 instant; UTC if it has no offset; ValueError."""
    moment = datetime.fromisoformat(text)
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - UNIX_EPOCH) // timedelta(milliseconds=1)


def format_instant(ms: int | None) -> str | None:
    """Unix milliseconds as ISO 8601 in UTC with milliseconds."""
    if ms is None:
        return None
    moment = datetime.fromtimestamp(ms / 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{ms % 1000:03d}Z"
