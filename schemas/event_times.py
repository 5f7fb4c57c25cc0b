"""Event times: which instant a `timestamp` means, and how far from its receipt it may lie.

The collector tells senders which timestamps are adjusted; the stream adjusts them by the same rule.
"""

from collections.abc import Iterable

from schemas.items import MIN_EVENT_TIME_MS, Item
from schemas.runtime.clock import parse_instant_ms

MAX_AGE_MS = 7 * 24 * 3_600_000
MAX_FUTURE_MS = 5 * 60_000

MIN_SECONDS = MIN_EVENT_TIME_MS // 1000
MAX_SECONDS = 100_000_000_000
"""Numbers from MIN_SECONDS up to here are Unix seconds: as milliseconds they lie before 1973."""


def instant_ms(timestamp: float | str | None) -> int | float | None:
    """The Unix milliseconds that a timestamp means; None without one, or for an invalid text."""
    if timestamp is None:
        return None
    if isinstance(timestamp, str):
        try:
            return parse_instant_ms(timestamp)
        except ValueError:
            return None
    return 1000 * timestamp if MIN_SECONDS <= timestamp < MAX_SECONDS else timestamp


def event_time_ms(timestamp: float | str | None, received_ms: int) -> int:
    """The time in whole milliseconds, 7 days before to 5 minutes after receipt.

    The time of receipt without a valid timestamp.
    """
    instant = instant_ms(timestamp)
    if instant is None:
        return received_ms
    return int(max(received_ms - MAX_AGE_MS, min(received_ms + MAX_FUTURE_MS, instant)))


def is_adjusted(timestamp: float | str | None, received_ms: int) -> bool:
    """Whether an item is stored under another time than its timestamp means."""
    instant = instant_ms(timestamp)
    return instant is not None and not (
        received_ms - MAX_AGE_MS <= instant <= received_ms + MAX_FUTURE_MS
    )


def keeps_time(timestamp: float | str, received_ms: int) -> bool:
    """Whether it is a valid timestamp, and an item is stored under the time that it means."""
    instant = instant_ms(timestamp)
    return instant is not None and (
        received_ms - MAX_AGE_MS <= instant <= received_ms + MAX_FUTURE_MS
    )


def adjusted_count(items: Iterable[Item], received_ms: int) -> int:
    """The number of items whose timestamp is adjusted."""
    oldest, newest = received_ms - MAX_AGE_MS, received_ms + MAX_FUTURE_MS
    unusual = [
        timestamp
        for item in items
        if (timestamp := item.timestamp) is not None
        and (timestamp.__class__ is not int or not oldest <= timestamp <= newest)
    ]
    return sum(is_adjusted(timestamp, received_ms) for timestamp in unusual) if unusual else 0
