"""HISTORY_LINE: the line for events of the past, whose file may know more than any rule."""

from collections.abc import Mapping

from schemas.items import MIN_EVENT_TIME_MS
from stream.enrich.pipeline import PIPELINE, Step
from stream.enrich.rules.lookups import Lookups
from stream.enrich.steps.event_time import parse_instant
from stream.rows.row_batch import RowBatch

MAX_FUTURE_MS = 5 * 60_000

FILE_COLUMNS = (
    "browser_name",
    "browser_version",
    "os_name",
    "os_version",
    "device_type",
    "country",
    "region",
    "city",
)
"""Columns in which the file's word stands before ours."""


def put_historic_time(rows: RowBatch, lookups: Lookups) -> None:  # noqa: ARG001
    """When it happened, however long ago."""
    received = rows.per_envelope(lambda envelope: envelope.received_ms)
    rows.columns["received_at"] = [1000 * ms for ms in received]
    rows.columns["ts"] = [
        1000 * historic_time(when, ms)
        for when, ms in zip(rows.item_field("timestamp"), received, strict=True)
    ]


def historic_time(when: int | float | str | None, received_ms: int) -> int:
    """The instant in whole milliseconds, not before 2000 and not after receipt."""
    instant = parse_instant(when) if isinstance(when, str) else when
    if instant is None:
        return received_ms
    return int(max(MIN_EVENT_TIME_MS, min(received_ms + MAX_FUTURE_MS, instant)))


def put_imported_facts(rows: RowBatch, lookups: Lookups) -> None:  # noqa: ARG001
    """What the file says of agent, place and bot."""
    for name in FILE_COLUMNS:
        rows.columns[name] = [
            told or found
            for told, found in zip(rows.item_field(name), rows.columns[name], strict=True)
        ]
    judged = list(zip(rows.columns["is_bot"], rows.columns["bot_reason"], strict=True))
    for index, told in enumerate(rows.item_field("is_bot")):
        if told is not None and told is not judged[index][0]:
            judged[index] = (told, "told" if told else None)
    rows.columns["is_bot"] = [is_bot for is_bot, _ in judged]
    rows.columns["bot_reason"] = [reason for _, reason in judged]
    rows.columns["trusted"] = [True] * len(rows)  # nothing is imported without a key


BACKFILL_PIPELINE: Mapping[str, Step] = {
    **{name: put_historic_time if name == "put_when" else step for name, step in PIPELINE.items()},
    "put_told": put_imported_facts,
}
