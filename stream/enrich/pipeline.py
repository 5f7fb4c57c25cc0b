"""LINE: the steps that every row walks, in order; each fills the columns of one fact.

A step takes all rows of a batch at once, looks at the fields it needs and leaves alone what the
kind's table does not have. It is a pure function of the rows and the look-ups: a row that is read
again from Kafka becomes the same row again.
"""

from collections.abc import Callable, Mapping

from stream.enrich.rules.lookups import Lookups
from stream.enrich.steps.bot import put_bot
from stream.enrich.steps.campaign import put_campaign
from stream.enrich.steps.channel import put_channel
from stream.enrich.steps.display import put_display
from stream.enrich.steps.event_time import put_event_time
from stream.enrich.steps.form import put_form
from stream.enrich.steps.identity import put_identity
from stream.enrich.steps.language import put_language
from stream.enrich.steps.location import put_location
from stream.enrich.steps.outbound_link import put_outbound_link
from stream.enrich.steps.page import put_page
from stream.enrich.steps.referrer import put_referrer
from stream.enrich.steps.rules_version import put_rules_version
from stream.enrich.steps.sender import put_sender
from stream.enrich.steps.subject import put_subject
from stream.enrich.steps.tracker_fields import put_tracker_fields
from stream.enrich.steps.user_agent import put_user_agent
from stream.rows.quarantine import QuarantineEntry, QuarantineStage, quarantine_entry
from stream.rows.row_batch import RowBatch

Step = Callable[[RowBatch, Lookups], None]

PIPELINE: Mapping[str, Step] = {
    "put_subject": put_subject,
    "put_when": put_event_time,
    "put_given": put_tracker_fields,
    "put_form": put_form,
    "put_identity": put_identity,
    "put_page": put_page,
    "put_campaign": put_campaign,
    "put_referrer": put_referrer,
    "put_channel": put_channel,
    "put_agent": put_user_agent,
    "put_device": put_display,
    "put_place": put_location,
    "put_bot": put_bot,
    "put_language": put_language,
    "put_outbound": put_outbound_link,
    "put_sender": put_sender,
    "put_rules": put_rules_version,
}

ROW_ERRORS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What a hostile value can make a pure function raise. Not among them: no memory, no disk."""


def run_pipeline(rows: RowBatch, lookups: Lookups, line: Mapping[str, Step] = PIPELINE) -> None:
    """Send `rows` down the line."""
    for step in line.values():
        step(rows, lookups)


def enrich_rows(
    rows: RowBatch, lookups: Lookups, line: Mapping[str, Step] = PIPELINE
) -> tuple[RowBatch, list[QuarantineEntry]]:
    """The rows after the line, and those that a step failed on.

    A batch with a bad row is walked again row by row, so that only the bad one is left out.
    """
    try:
        run_pipeline(rows, lookups, line)
    except ROW_ERRORS:
        return _enrich_one_by_one(rows, lookups, line)
    return rows, []


def _enrich_one_by_one(
    rows: RowBatch, lookups: Lookups, line: Mapping[str, Step]
) -> tuple[RowBatch, list[QuarantineEntry]]:
    good: list[int] = []
    refused: list[QuarantineEntry] = []
    for index in range(len(rows)):
        try:
            run_pipeline(rows.subset([index]), lookups, line)
        except ROW_ERRORS as bad:
            refused.append(quarantine_entry(rows, index, QuarantineStage.ENRICH, bad))
        else:
            good.append(index)
    rest = rows.subset(good)
    run_pipeline(rest, lookups, line)
    return rest, refused
