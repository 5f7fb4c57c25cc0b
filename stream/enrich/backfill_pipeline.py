"""HISTORY_LINE: the line for events of the past, whose file may know more than any rule."""

from collections.abc import Mapping

from schemas.items import EARLIEST_MS
from stream.enrich.pipeline import LINE, Step
from stream.enrich.rules.lookups import Lookups
from stream.enrich.steps.event_time import parse
from stream.rows.row_batch import Rows

LATEST_MS = 5 * 60_000

TOLD = (
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


def put_then(rows: Rows, lookups: Lookups) -> None:  # noqa: ARG001
    """When it happened, however long ago."""
    received = rows.per_envelope(lambda envelope: envelope.received_ms)
    rows.columns["received_at"] = [1000 * ms for ms in received]
    rows.columns["ts"] = [
        1000 * past(when, ms) for when, ms in zip(rows.given("timestamp"), received, strict=True)
    ]


def past(when: int | float | str | None, received_ms: int) -> int:
    """The instant in whole milliseconds, not before 2000 and not after receipt."""
    instant = parse(when) if isinstance(when, str) else when
    if instant is None:
        return received_ms
    return int(max(EARLIEST_MS, min(received_ms + LATEST_MS, instant)))


def put_told(rows: Rows, lookups: Lookups) -> None:  # noqa: ARG001
    """What the file says of agent, place and bot."""
    for name in TOLD:
        rows.columns[name] = [
            told or found for told, found in zip(rows.given(name), rows.columns[name], strict=True)
        ]
    judged = list(zip(rows.columns["is_bot"], rows.columns["bot_reason"], strict=True))
    for index, told in enumerate(rows.given("is_bot")):
        if told is not None and told is not judged[index][0]:
            judged[index] = (told, "told" if told else None)
    rows.columns["is_bot"] = [is_bot for is_bot, _ in judged]
    rows.columns["bot_reason"] = [reason for _, reason in judged]
    rows.columns["trusted"] = [True] * len(rows)  # nothing is imported without a key


HISTORY_LINE: Mapping[str, Step] = {
    **{name: put_then if name == "put_when" else step for name, step in LINE.items()},
    "put_told": put_told,
}
