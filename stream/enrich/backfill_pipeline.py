"""BACKFILL_PIPELINE: enrichment of imported events; values of the file win over our rules."""

from schemas.event_times import MAX_FUTURE_MS, instant_ms
from schemas.items import MIN_EVENT_TIME_MS
from schemas.tables.column import LOCATION_COLUMNS, USER_AGENT_COLUMNS
from stream.enrich.pipeline import PIPELINE, build_pipeline
from stream.enrich.rules.lookups import Lookups
from stream.enrich.steps.enrichment_step import columns, enrichment_step
from stream.enrich.steps.event_time import put_event_time
from stream.rows.row_batch import RowBatch

FILE_COLUMNS = tuple(column.name for column in (*USER_AGENT_COLUMNS, *LOCATION_COLUMNS))
"""Columns whose value in the file wins over ours."""

REASON_FROM_FILE = "told"
"""Stored as `bot_reason` when the file says that an event is a bot's."""


@enrichment_step()
def put_imported_time(rows: RowBatch, lookups: Lookups) -> None:  # noqa: ARG001
    """When the event happened, however long ago."""
    received = rows.per_envelope(lambda envelope: envelope.received_ms)
    rows.columns["received_at"] = received.mapped(lambda ms: 1000 * ms)
    rows.columns["ts"] = [
        1000 * imported_time(timestamp, ms)
        for timestamp, ms in zip(rows.item_field("timestamp"), received, strict=True)
    ]


def imported_time(timestamp: int | float | str | None, received_ms: int) -> int:
    """The instant in whole milliseconds, not before 2000 and not after receipt."""
    instant = instant_ms(timestamp)
    if instant is None:
        return received_ms
    return int(max(MIN_EVENT_TIME_MS, min(received_ms + MAX_FUTURE_MS, instant)))


@enrichment_step(reads=columns(*FILE_COLUMNS, "is_bot", "bot_reason"))
def put_imported_facts(rows: RowBatch, lookups: Lookups) -> None:  # noqa: ARG001
    """Browser, system, device, location and bot flag as the file has them."""
    for name in FILE_COLUMNS:
        rows.columns[name] = [
            imported or derived
            for imported, derived in zip(rows.item_field(name), rows.columns[name], strict=True)
        ]
    verdicts = list(zip(rows.columns["is_bot"], rows.columns["bot_reason"], strict=True))
    for index, is_bot in enumerate(rows.item_field("is_bot")):
        if is_bot is not None and is_bot is not verdicts[index][0]:
            verdicts[index] = (is_bot, REASON_FROM_FILE if is_bot else None)
    rows.columns["is_bot"] = [is_bot for is_bot, _ in verdicts]
    rows.columns["bot_reason"] = [reason for _, reason in verdicts]
    rows.columns["trusted"] = [True] * len(rows)  # an import always needs an API key


BACKFILL_PIPELINE = build_pipeline(
    *(put_imported_time if step is put_event_time else step for step in PIPELINE),
    put_imported_facts,
)
