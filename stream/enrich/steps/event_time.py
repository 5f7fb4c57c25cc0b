"""The client's time in whole milliseconds, kept near the time of receipt.

Where the collector found the sender's clock ahead or behind, all times of the request are moved.

Columns have microseconds, as Arrow does. An invalid timestamp (a string that is not ISO 8601)
counts as absent, so the row gets the time of receipt instead of being quarantined.
"""

from array import array
from operator import attrgetter

import numpy as np

from schemas.event_times import MAX_AGE_MS, MAX_FUTURE_MS, event_time_ms
from stream.enrich.rules.lookups import Lookups
from stream.enrich.steps.enrichment_step import enrichment_step
from stream.rows.repeated_column import RepeatedColumn
from stream.rows.row_batch import Column, RowBatch


@enrichment_step()
def put_event_time(rows: RowBatch, lookups: Lookups) -> None:  # noqa: ARG001
    """Client time in whole milliseconds, within 7 days before and 5 minutes after receipt; without
    a valid one the time of receipt (`schemas/event_times.py`).
    """
    received = rows.per_envelope(attrgetter("received_ms"))
    offsets = rows.per_envelope(attrgetter("clock_offset_ms"))
    sent = rows.item_field("timestamp")
    rows.columns["received_at"] = received.mapped(lambda ms: 1000 * ms)
    usual = None if any(offsets.values) else _usual_times(sent, received)
    if usual is not None:
        rows.columns["ts"] = usual
        return
    rows.columns["ts"] = [
        1000
        * (
            timestamp
            if timestamp.__class__ is int
            and not offset
            and -MAX_AGE_MS <= timestamp - ms <= MAX_FUTURE_MS
            else event_time_ms(timestamp, ms, offset)
        )
        for timestamp, ms, offset in zip(sent, received, offsets, strict=True)
    ]


def _usual_times(sent: Column, received: RepeatedColumn) -> "array[int] | None":
    """The times of a batch in which all are whole milliseconds that are stored as sent."""
    try:
        times = np.asarray(array("q", sent))
        arrived = np.array(received.values, np.int64)
    except (TypeError, OverflowError):
        return None
    after = times - arrived[received.numbers]
    # An overflow is beyond the bounds, too.
    if not ((after >= -MAX_AGE_MS) & (after <= MAX_FUTURE_MS)).all():
        return None
    return array("q", (1000 * times).tobytes())
