"""LINE: the steps that every row walks, in order; each fills the columns of one fact.

A step takes all rows of a batch at once, looks at the fields it needs and leaves alone what the
kind's table does not have. It is a pure function of the rows and the look-ups: a row that is read
again from Kafka becomes the same row again.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from stream.enrich.rules.lookups import Lookups
from stream.enrich.steps.bot import put_bot
from stream.enrich.steps.campaign import put_campaign
from stream.enrich.steps.channel import put_channel
from stream.enrich.steps.display import put_device
from stream.enrich.steps.event_time import put_when
from stream.enrich.steps.form import put_form
from stream.enrich.steps.identity import put_identity
from stream.enrich.steps.language import put_language
from stream.enrich.steps.location import put_place
from stream.enrich.steps.outbound_link import put_outbound
from stream.enrich.steps.page import put_page
from stream.enrich.steps.referrer import put_referrer
from stream.enrich.steps.rule_version import put_rules
from stream.enrich.steps.sender import put_sender
from stream.enrich.steps.subject import put_subject
from stream.enrich.steps.tracker_fields import put_given
from stream.enrich.steps.user_agent import put_agent
from stream.rows.quarantine import Quarantined, Stage
from stream.rows.row_batch import Rows

Step = Callable[[Rows, Lookups], None]

LINE: Mapping[str, Step] = {
    "put_subject": put_subject,
    "put_when": put_when,
    "put_given": put_given,
    "put_form": put_form,
    "put_identity": put_identity,
    "put_page": put_page,
    "put_campaign": put_campaign,
    "put_referrer": put_referrer,
    "put_channel": put_channel,
    "put_agent": put_agent,
    "put_device": put_device,
    "put_place": put_place,
    "put_bot": put_bot,
    "put_language": put_language,
    "put_outbound": put_outbound,
    "put_sender": put_sender,
    "put_rules": put_rules,
}

BAD_ROW = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What a hostile value can make a pure function raise. Not among them: no memory, no disk."""


def enrich(rows: Rows, lookups: Lookups, line: Mapping[str, Step] = LINE) -> None:
    """Send `rows` down the line."""
    for step in line.values():
        step(rows, lookups)


def enriched(
    rows: Rows, lookups: Lookups, line: Mapping[str, Step] = LINE
) -> tuple[Rows, list[Quarantined]]:
    """The rows after the line, and those that a step failed on.

    A batch with a bad row is walked again row by row, so that only the bad one is left out.
    """
    try:
        enrich(rows, lookups, line)
    except BAD_ROW:
        return _one_by_one(rows, lookups, line)
    return rows, []


def _one_by_one(
    rows: Rows, lookups: Lookups, line: Mapping[str, Step]
) -> tuple[Rows, list[Quarantined]]:
    good: list[int] = []
    refused: list[Quarantined] = []
    for index in range(len(rows)):
        try:
            enrich(rows.only([index]), lookups, line)
        except BAD_ROW as bad:
            refused.append(refuse(rows, index, Stage.ENRICH, bad))
        else:
            good.append(index)
    rest = rows.only(good)
    enrich(rest, lookups, line)
    return rest, refused


def refuse(rows: Rows, index: int, stage: Stage, bad: Exception) -> Quarantined:
    """One row as quarantined, with its item as bytes again."""
    envelope = rows.envelopes[index]
    return Quarantined(
        stage,
        f"{type(bad).__name__}: {bad}",
        item_bytes(rows.items[index]),
        envelope.received_ms,
        rows.columns["kafka_partition"][index],
        rows.columns["kafka_offset"][index],
        rows.columns["seq"][index],
        envelope.subject_id,
    )


def item_bytes(item: Any) -> bytes:
    """What the tracker sent, as JSON."""
    return msgspec.json.encode(item)
