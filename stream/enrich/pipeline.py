"""The enrichment steps in their order; each fills the columns of one fact.

PIPELINE is for collected items. BACKFILL_PIPELINE is for imported events: values of the file win
over our rules.
"""

from collections.abc import Collection

from schemas.event_times import MAX_FUTURE_MS, instant_ms
from schemas.items import MIN_EVENT_TIME_MS
from schemas.tables.column import LOCATION_COLUMNS, USER_AGENT_COLUMNS
from stream.enrich.rules.lookups import Lookups
from stream.enrich.steps.bot import put_bot
from stream.enrich.steps.campaign import put_campaign
from stream.enrich.steps.channel import put_channel
from stream.enrich.steps.display import put_display
from stream.enrich.steps.enrichment_step import (
    COLUMN_PREFIX,
    EnrichmentStep,
    columns,
    enrichment_step,
)
from stream.enrich.steps.event_time import put_event_time
from stream.enrich.steps.form import put_form
from stream.enrich.steps.identity_hashes import put_identity_hashes
from stream.enrich.steps.language import put_language
from stream.enrich.steps.location import put_location
from stream.enrich.steps.masked_texts import put_masked_texts
from stream.enrich.steps.outbound_link import put_outbound_link
from stream.enrich.steps.page import put_page
from stream.enrich.steps.referrer import put_referrer
from stream.enrich.steps.rules_version import put_rules_version
from stream.enrich.steps.script_urls import put_script_urls
from stream.enrich.steps.sender import put_sender
from stream.enrich.steps.subject import put_subject
from stream.enrich.steps.tracker_fields import put_tracker_fields
from stream.enrich.steps.user_agent import put_user_agent
from stream.rows.facts import Facts
from stream.rows.quarantine import QuarantineEntry, QuarantineStage, quarantine_entry
from stream.rows.row_batch import RowBatch

Pipeline = tuple[EnrichmentStep, ...]


class StepOrderError(ValueError):
    """A pipeline cannot work: a step stands before the step whose facts it reads."""


def build_pipeline(*steps: EnrichmentStep, given: Collection[str] = ()) -> Pipeline:
    """The steps as a pipeline; StepOrderError when a step reads what no step before it writes.

    `given` names facts and columns that the rows bring along.
    """
    written = set(given)
    for step in steps:
        for name in (*step.reads, *step.writes):
            if not name.startswith(COLUMN_PREFIX) and name not in Facts.__struct_fields__:
                raise StepOrderError(f"{step.name}: Facts has no field '{name}'")
        if missing := set(step.reads) - written:
            raise StepOrderError(
                f"{step.name} reads {', '.join(sorted(missing))}: move it behind the step that "
                "writes it"
            )
        written.update(step.writes)
    return steps


PIPELINE = build_pipeline(
    put_subject,
    put_event_time,
    put_tracker_fields,
    put_script_urls,
    put_form,
    put_identity_hashes,
    put_page,
    put_campaign,
    put_referrer,
    put_channel,
    put_user_agent,
    put_display,
    put_location,
    put_bot,
    put_language,
    put_outbound_link,
    put_sender,
    put_masked_texts,
    put_rules_version,
)
"""The steps of all items. A new step is one line here, behind the steps that it reads from."""

ROW_ERRORS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Errors that a hostile value can raise in a step. Others (memory, disk) end the worker."""


def run_pipeline(rows: RowBatch, lookups: Lookups, pipeline: Pipeline = PIPELINE) -> None:
    """Run all steps on `rows`."""
    for step in pipeline:
        step.run(rows, lookups)


def enrich_rows(
    rows: RowBatch, lookups: Lookups, pipeline: Pipeline = PIPELINE
) -> tuple[RowBatch, list[QuarantineEntry]]:
    """The enriched rows, and a quarantine entry for each row on which a step failed.

    When a step fails, the batch is enriched again row by row to find the rows that fail.
    """
    try:
        run_pipeline(rows, lookups, pipeline)
    except ROW_ERRORS:
        return _enrich_one_by_one(rows, lookups, pipeline)
    return rows, []


def _enrich_one_by_one(
    rows: RowBatch, lookups: Lookups, pipeline: Pipeline
) -> tuple[RowBatch, list[QuarantineEntry]]:
    succeeded: list[int] = []
    entries: list[QuarantineEntry] = []
    for index in range(len(rows)):
        try:
            run_pipeline(rows.subset([index]), lookups, pipeline)
        except ROW_ERRORS as error:
            entries.append(quarantine_entry(rows, index, QuarantineStage.ENRICH, error))
        else:
            succeeded.append(index)
    enriched = rows.subset(succeeded)
    run_pipeline(enriched, lookups, pipeline)
    return enriched, entries


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
    """The instant in whole milliseconds, not before 2000, at most 5 minutes after receipt."""
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
