"""Event times: which instant a `timestamp` means, and how far from its receipt it may lie.

The collector tells senders which timestamps are adjusted; the stream adjusts them by the same rule.
"""

from collections.abc import Sequence

from schemas.items import MIN_EVENT_TIME_MS, Item
from schemas.runtime.clock import parse_instant_ms

MAX_AGE_MS = 7 * 24 * 3_600_000
MAX_FUTURE_MS = 5 * 60_000

MIN_SECONDS = MIN_EVENT_TIME_MS // 1000
MAX_SECONDS = 100_000_000_000
"""Numbers from MIN_SECONDS up to here are Unix seconds: as milliseconds they lie before 1973."""
MIN_MICROSECONDS = 100_000_000_000_000
"""Numbers from here on are microseconds: as milliseconds they lie after the year 5138."""
MIN_NANOSECONDS = 100_000_000_000_000_000
"""Numbers from here on are nanoseconds."""


def instant_ms(timestamp: float | str | None) -> int | float | None:
    """The Unix milliseconds that a timestamp means; None without one, or for an invalid text."""
    if timestamp is None:
        return None
    if isinstance(timestamp, str):
        try:
            return parse_instant_ms(timestamp)
        except ValueError:
            return None
    if timestamp < MAX_SECONDS:
        return 1000 * timestamp if timestamp >= MIN_SECONDS else timestamp
    if timestamp < MIN_MICROSECONDS:
        return timestamp
    return timestamp // (1_000 if timestamp < MIN_NANOSECONDS else 1_000_000)


def event_time_ms(timestamp: float | str | None, received_ms: int, clock_offset_ms: int = 0) -> int:
    """The time in whole milliseconds, 7 days before to 5 minutes after receipt.

    The time of receipt without a valid timestamp.
    """
    instant = instant_ms(timestamp)
    if instant is None:
        return received_ms
    oldest, newest = received_ms - MAX_AGE_MS, received_ms + MAX_FUTURE_MS
    return int(max(oldest, min(newest, instant + clock_offset_ms)))


def is_adjusted(timestamp: float | str | None, received_ms: int, clock_offset_ms: int = 0) -> bool:
    """Whether an item is stored under another time than its timestamp means."""
    instant = instant_ms(timestamp)
    return instant is not None and (
        clock_offset_ms != 0
        or not received_ms - MAX_AGE_MS <= instant <= received_ms + MAX_FUTURE_MS
    )


def keeps_time(timestamp: float | str, received_ms: int) -> bool:
    """Whether it is a valid timestamp, and an item is stored under the time that it means."""
    instant = instant_ms(timestamp)
    return instant is not None and (
        received_ms - MAX_AGE_MS <= instant <= received_ms + MAX_FUTURE_MS
    )


def is_near(sent_at: float | str, received_ms: int) -> bool:
    """Whether a `sentAt` is within 5 minutes of receipt, so that the clock is not corrected."""
    instant = instant_ms(sent_at)
    return instant is not None and abs(received_ms - instant) <= MAX_FUTURE_MS


def has_unusual_time(items: Sequence[Item], received_ms: int) -> bool:
    """Whether a time of an item is more than whole milliseconds that are stored as sent."""
    oldest, newest = received_ms - MAX_AGE_MS, received_ms + MAX_FUTURE_MS
    return bool(
        [
            item
            for item in items
            if item.sent_at is not None
            or (
                (timestamp := item.timestamp) is not None
                and (timestamp.__class__ is not int or not oldest <= timestamp <= newest)
            )
        ]
    )


def adjusted_count(items: Sequence[Item], received_ms: int, clock_offset_ms: int = 0) -> int:
    """The number of items whose timestamp is adjusted."""
    if not clock_offset_ms and not has_unusual_time(items, received_ms):
        return 0
    return sum(is_adjusted(item.timestamp, received_ms, clock_offset_ms) for item in items)
