"""The client time is kept near the time of receipt."""

from datetime import UTC, datetime
from typing import Any

import pytest

from schemas.kinds import CUSTOM_EVENT
from stream.enrich.rules.lookups import Lookups
from stream.enrich.steps.event_time import put_event_time
from stream.rows.decoder import decode_batch
from stream.rows.ledger import LedgerCounts
from tests.stream.builders import NOON_MS, a_message, an_envelope
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


WEEK_MS = 7 * 86_400_000
OFFSETS = [0, -1, -WEEK_MS, 300_000]
"""Of timestamps that are stored as sent."""


@pytest.mark.parametrize(
    ("unusual", "ms"),
    [
        (None, 0),
        (NOON_MS - WEEK_MS - 1, -WEEK_MS),
        (NOON_MS + 300_001, 300_000),
        (NOON_MS + 0.5, 0),
        (2**63 - 1, 300_000),
        (-(2**63), -WEEK_MS),
        (2**63, 300_000),
    ],
)
def test_an_unusual_time_changes_no_other_of_its_batch(unusual: Any, ms: int) -> None:
    usual = [{"name": "x", "timestamp": NOON_MS + offset} for offset in OFFSETS]

    assert times(usual) == OFFSETS
    assert times([*usual, {"name": "x", "timestamp": unusual}]) == [*OFFSETS, ms]


def test_times_of_a_wrong_clock_keep_their_order_and_intervals() -> None:
    ahead = [{"name": "x", "timestamp": NOON_MS + 7_200_000 + ms} for ms in (-600_000, -0.5, 0)]

    assert times([*ahead, {"name": "x"}], -7_200_000) == [-600_000, -1, 0, 0]
    assert times(ahead, 0) == [300_000, 300_000, 300_000]


def times(items: list[dict[str, Any]], clock_offset_ms: int = 0) -> list[int]:
    """Milliseconds from receipt of the items of one batch."""
    counts = LedgerCounts({})
    usual, envelope = an_envelope(), an_envelope(items, clock_offset_ms=clock_offset_ms)
    rows = decode_batch(CUSTOM_EVENT, [a_message(0, usual, envelope)], counts).rows
    put_event_time.run(rows, Lookups())
    assert set(rows.columns["received_at"]) == {1000 * NOON_MS}
    return [ts // 1000 - NOON_MS for ts in rows.columns["ts"]]
