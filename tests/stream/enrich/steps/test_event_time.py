"""The client time is kept near the time of receipt."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.stream.builders import NOON_MS
from tests.stream.enrich.enriched_rows import facts

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("timestamp", "ms"),
    [
        (None, 0),
        (NOON_MS - 1234, -1234),
        (NOON_MS - 0.75, -1),
        (NOON_MS + 299_999, 299_999),
        (NOON_MS + 300_001, 300_000),
        (NOON_MS - 8 * 86_400_000, -7 * 86_400_000),
        (1, -7 * 86_400_000),
        (1e300, 300_000),
        (-(10**400), -7 * 86_400_000),
        ("2026-11-21T11:59:59.5Z", -500),
        ("2026-11-21T12:59:59+01:00", -1000),
        ("2026-11-21T12:00:00.0019", 1),
        ("yesterday", 0),
        ("0001-01-01T00:00:00+23:59", -7 * 86_400_000),
        ("9999-12-31T23:59:59Z", 300_000),
    ],
)
def test_client_time_is_whole_milliseconds_near_the_receipt(timestamp: Any, ms: int) -> None:
    ts, received = facts({"name": "x", "timestamp": timestamp}, "ts", "received_at")

    assert received == NOON
    assert round((ts - NOON).total_seconds() * 1_000_000) == ms * 1000
