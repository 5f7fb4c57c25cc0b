"""When it happened: the client's time, made whole milliseconds and kept near the time of receipt.

Microseconds in the columns, as Arrow has them. A timestamp that is no instant (a string that is not
ISO 8601) counts as absent: the row is worth more than its time, and the time of receipt is near.
"""

from datetime import UTC, datetime
from operator import attrgetter

from stream.enrich.rules.lookups import Lookups
from stream.rows.row_batch import Rows

EARLIEST_MS = 7 * 24 * 3_600_000
LATEST_MS = 5 * 60_000


def put_when(rows: Rows, lookups: Lookups) -> None:  # noqa: ARG001
    received = rows.per_envelope(attrgetter("received_ms"))
    rows.columns["received_at"] = rows.per_envelope(lambda envelope: 1000 * envelope.received_ms)
    rows.columns["ts"] = [
        1000
        * (
            when  # as nearly all are; the rest takes ten times as long
            if when.__class__ is int and ms - EARLIEST_MS <= when <= ms + LATEST_MS
            else instant(when, ms)
        )
        for when, ms in zip(rows.given("timestamp"), received, strict=True)
    ]


def instant(when: int | float | str | None, received_ms: int) -> int:
    """The client's time near the receipt; that of the receipt when there is none."""
    return received_ms if when is None else clamp(when, received_ms)


def clamp(when: int | float | str, received_ms: int) -> int:
    """The instant in whole milliseconds, at most 7 days before and 5 minutes after receipt."""
    instant = parse(when) if isinstance(when, str) else when
    if instant is None:
        return received_ms
    return int(max(received_ms - EARLIEST_MS, min(received_ms + LATEST_MS, instant)))


def parse(text: str) -> int | None:
    """Unix milliseconds of an ISO 8601 instant, UTC unless it names a zone; None if it is none."""
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        return None
    aware = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
    return int((aware - _EPOCH).total_seconds() * 1000)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
