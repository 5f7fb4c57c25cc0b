"""The client's time in whole milliseconds, kept near the time of receipt.

Columns have microseconds, as Arrow does. An invalid timestamp (a string that is not ISO 8601)
counts as absent, so the row gets the time of receipt instead of being quarantined.
"""

from datetime import UTC, datetime
from operator import attrgetter

from stream.enrich.rules.lookups import Lookups
from stream.rows.row_batch import RowBatch

MAX_AGE_MS = 7 * 24 * 3_600_000
MAX_FUTURE_MS = 5 * 60_000


def put_event_time(rows: RowBatch, lookups: Lookups) -> None:  # noqa: ARG001
    received = rows.per_envelope(attrgetter("received_ms"))
    rows.columns["received_at"] = rows.per_envelope(lambda envelope: 1000 * envelope.received_ms)
    rows.columns["ts"] = [
        1000
        * (
            timestamp  # the usual case; the other takes ten times as long
            if timestamp.__class__ is int and ms - MAX_AGE_MS <= timestamp <= ms + MAX_FUTURE_MS
            else event_time(timestamp, ms)
        )
        for timestamp, ms in zip(rows.item_field("timestamp"), received, strict=True)
    ]


def event_time(timestamp: int | float | str | None, received_ms: int) -> int:
    """The client's time near the receipt; the time of receipt when there is none."""
    return received_ms if timestamp is None else clamp(timestamp, received_ms)


def clamp(timestamp: int | float | str, received_ms: int) -> int:
    """The instant in whole milliseconds, at most 7 days before and 5 minutes after receipt."""
    instant = parse_instant(timestamp) if isinstance(timestamp, str) else timestamp
    if instant is None:
        return received_ms
    return int(max(received_ms - MAX_AGE_MS, min(received_ms + MAX_FUTURE_MS, instant)))


def parse_instant(text: str) -> int | None:
    """Unix milliseconds of an ISO 8601 instant, UTC unless it names a zone; None if invalid."""
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        return None
    aware = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
    return int((aware - _EPOCH).total_seconds() * 1000)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
