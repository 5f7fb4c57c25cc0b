"""The client's time in whole milliseconds, kept near the time of receipt.

Columns have microseconds, as Arrow does. An invalid timestamp (a string that is not ISO 8601)
counts as absent, so the row gets the time of receipt instead of being quarantined.
"""

from array import array
from operator import attrgetter

import numpy as np

from schemas.event_times import MAX_AGE_MS, MAX_FUTURE_MS, event_time_ms
from stream.enrich.rules.lookups import Lookups
from stream.enrich.steps.enrichment_step import enrichment_step
from stream.rows.row_batch import Column, RowBatch


@enrichment_step()
def put_event_time(rows: RowBatch, lookups: Lookups) -> None:  # noqa: ARG001
    """Client time in whole milliseconds, within 7 days before and 5 minutes after receipt; without
    a valid one the time of receipt (`schemas/event_times.py`).
    """
    received = rows.per_envelope(attrgetter("received_ms"))
    sent = rows.item_field("timestamp")
    rows.columns["received_at"] = [1000 * ms for ms in received]
    rows.columns["ts"] = _usual_times(sent, received) or [
        1000
        * (
            timestamp
            if timestamp.__class__ is int and -MAX_AGE_MS <= timestamp - ms <= MAX_FUTURE_MS
            else event_time_ms(timestamp, ms)
        )
        for timestamp, ms in zip(sent, received, strict=True)
    ]


def _usual_times(sent: Column, received: list[int]) -> list[int] | None:
    """The times of a batch in which all are whole milliseconds that are stored as sent."""
    try:
        times, base = np.asarray(array("q", sent)), np.asarray(array("q", received))
    except (TypeError, OverflowError):
        return None
    after = times - base  # an overflow is beyond the bounds, too
    if not ((after >= -MAX_AGE_MS) & (after <= MAX_FUTURE_MS)).all():
        return None
    usual: list[int] = (1000 * times).tolist()
    return usual
