"""When it happened: the client's time, made whole milliseconds and kept near the time of receipt.

Microseconds in the columns, as Arrow has them. A timestamp that is no instant (a string that is not
ISO 8601) counts as absent: the row is worth more than its time, and the time of receipt is near.
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
            when  # as nearly all are; the rest takes ten times as long
            if when.__class__ is int and ms - MAX_AGE_MS <= when <= ms + MAX_FUTURE_MS
            else event_time(when, ms)
        )
        for when, ms in zip(rows.item_field("timestamp"), received, strict=True)
    ]


def event_time(when: int | float | str | None, received_ms: int) -> int:
    """The client's time near the receipt; that of the receipt when there is none."""
    return received_ms if when is None else clamp(when, received_ms)


def clamp(when: int | float | str, received_ms: int) -> int:
    """The instant in whole milliseconds, at most 7 days before and 5 minutes after receipt."""
    instant = parse_instant(when) if isinstance(when, str) else when
    if instant is None:
        return received_ms
    return int(max(received_ms - MAX_AGE_MS, min(received_ms + MAX_FUTURE_MS, instant)))


def parse_instant(text: str) -> int | None:
    """Unix milliseconds of an ISO 8601 instant, UTC unless it names a zone; None if it is none."""
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        return None
    aware = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
    return int((aware - _EPOCH).total_seconds() * 1000)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
