"""The client's time in whole milliseconds, kept near the time of receipt.

Columns have microseconds, as Arrow does. An invalid timestamp (a string that is not ISO 8601)
counts as absent, so the row gets the time of receipt instead of being quarantined.
"""

from operator import attrgetter

from schemas.event_times import MAX_AGE_MS, MAX_FUTURE_MS, event_time_ms
from stream.enrich.rules.lookups import Lookups
from stream.enrich.steps.enrichment_step import enrichment_step
from stream.rows.row_batch import RowBatch


@enrichment_step()
def put_event_time(rows: RowBatch, lookups: Lookups) -> None:  # noqa: ARG001
    """Client time in whole milliseconds, within 7 days before and 5 minutes after receipt; without
    a valid one the time of receipt (`schemas/event_times.py`).
    """
    received = rows.per_envelope(attrgetter("received_ms"))
    rows.columns["received_at"] = [1000 * ms for ms in received]
    rows.columns["ts"] = [
        1000
        * (
            timestamp  # the usual case; the other takes ten times as long
            if timestamp.__class__ is int and ms - MAX_AGE_MS <= timestamp <= ms + MAX_FUTURE_MS
            else event_time_ms(timestamp, ms)
        )
        for timestamp, ms in zip(rows.item_field("timestamp"), received, strict=True)
    ]
