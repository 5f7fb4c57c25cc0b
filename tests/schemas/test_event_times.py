"""Which instant a timestamp means, and which are adjusted."""

import pytest

from schemas.event_times import (
    MAX_AGE_MS,
    MAX_FUTURE_MS,
    adjusted_count,
    event_time_ms,
    is_adjusted,
    keeps_time,
)
from schemas.items import Item, Timestamp

NOW = 1_795_000_000_000


@pytest.mark.parametrize(
    ("timestamp", "time_ms", "adjusted"),
    [
        (None, NOW, False),
        ("no time", NOW, False),
        (NOW - 1, NOW - 1, False),
        (NOW - 1.5, NOW - 2, False),
        (NOW // 1000, NOW, False),
        (NOW / 1000 - 0.25, NOW - 250, False),
        ("2026-11-18T11:06:40.001Z", NOW + 1, False),
        (NOW - MAX_AGE_MS - 1, NOW - MAX_AGE_MS, True),
        (NOW + MAX_FUTURE_MS + 1, NOW + MAX_FUTURE_MS, True),
        (946_684_800, NOW - MAX_AGE_MS, True),
        (946_684_799, NOW - MAX_AGE_MS, True),
        (100_000_000_000, NOW - MAX_AGE_MS, True),
        (1000 * NOW + 1999, NOW + 1, False),
        (1e6 * NOW, NOW, False),
        (1_000_000 * NOW - 1, NOW - 1, False),
        (99_999_999_999_999, NOW + MAX_FUTURE_MS, True),
        (100_000_000_000_000, NOW - MAX_AGE_MS, True),
        (9_223_372_036_854_775_807, NOW + MAX_FUTURE_MS, True),
        (-5, NOW - MAX_AGE_MS, True),
        (0, NOW - MAX_AGE_MS, True),
        ("2020-01-01", NOW - MAX_AGE_MS, True),
    ],
)
def test_the_time_of_an_item(timestamp: float | str | None, time_ms: int, adjusted: bool) -> None:
    assert event_time_ms(timestamp, NOW) == time_ms
    assert is_adjusted(timestamp, NOW) is adjusted
    if timestamp is not None:
        assert keeps_time(timestamp, NOW) is (not adjusted and timestamp != "no time")


@pytest.mark.parametrize("others", [[], [None], ["2026-11-18T11:06:40Z"], [NOW // 1000]])
def test_adjusted_timestamps_are_counted_among_all_forms(others: list[Timestamp]) -> None:
    def count(*timestamps: Timestamp) -> int:
        return adjusted_count([Item(timestamp=timestamp) for timestamp in timestamps], NOW)

    assert count(*others) == 0
    assert count(NOW, *others, NOW) == 0
    assert count(NOW, 1, *others, 2 * NOW) == 2


def test_with_a_clock_offset_every_item_with_a_time_is_adjusted() -> None:
    items = [Item(timestamp=timestamp) for timestamp in (NOW, None, "no time", NOW // 1000)]

    assert event_time_ms(NOW, NOW, -1000) == NOW - 1000
    assert event_time_ms(NOW, NOW, -8 * 86_400_000) == NOW - MAX_AGE_MS
    assert adjusted_count(items, NOW, -1000) == 2
