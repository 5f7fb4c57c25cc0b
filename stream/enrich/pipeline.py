"""PIPELINE: the enrichment steps in their order; each fills the columns of one fact.

A step takes all rows of a batch at once and fills only columns that the table of the kind has. It
is a pure function of the rows and the lookups: a row that is read again from Kafka becomes the
same row again.
"""

from collections.abc import Callable, Collection
from types import FunctionType
from typing import cast

from msgspec import Struct

from stream.enrich.rules.campaign_parameters import UTM
from stream.enrich.rules.lookups import Lookups
from stream.enrich.steps.bot import put_bot
from stream.enrich.steps.campaign import put_campaign
from stream.enrich.steps.channel import put_channel
from stream.enrich.steps.display import put_display
from stream.enrich.steps.event_time import put_event_time
from stream.enrich.steps.form import put_form
from stream.enrich.steps.identity_hashes import put_identity_hashes
from stream.enrich.steps.language import put_language
from stream.enrich.steps.location import put_location
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

COLUMN_PREFIX = "columns."


class EnrichmentStep(Struct, frozen=True):
    """An enrichment step, with what it takes from steps before it and leaves for steps after it.

    Names are those of `Facts`, or `columns.NAME` for a column that another step fills.
    """

    run: Callable[[RowBatch, Lookups], None]
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return cast(FunctionType, self.run).__name__


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


def columns(*names: str) -> tuple[str, ...]:
    """The names of columns as `EnrichmentStep` takes them."""
    return tuple(COLUMN_PREFIX + name for name in names)


PIPELINE = build_pipeline(
    EnrichmentStep(put_subject),
    EnrichmentStep(put_event_time),
    EnrichmentStep(
        put_tracker_fields,
        writes=columns("anonymous_id", "session_id", "filename", "stack"),
    ),
    EnrichmentStep(put_script_urls, reads=columns("filename", "stack")),
    EnrichmentStep(put_form),
    EnrichmentStep(put_identity_hashes, reads=columns("anonymous_id", "session_id")),
    EnrichmentStep(put_page, writes=("page_properties", "page_address", "page")),
    EnrichmentStep(put_campaign, reads=("page_address",), writes=columns(*UTM, "click_id")),
    EnrichmentStep(
        put_referrer, reads=("page_properties", "page"), writes=columns("referrer_type")
    ),
    EnrichmentStep(
        put_channel,
        reads=columns("utm_source", "utm_medium", "utm_campaign", "click_id", "referrer_type"),
    ),
    EnrichmentStep(
        put_user_agent,
        writes=columns("browser_name", "browser_version", "os_name", "os_version", "device_type"),
    ),
    EnrichmentStep(put_display, writes=columns("timezone")),
    EnrichmentStep(
        put_location,
        reads=columns("timezone"),
        writes=("is_data_centre", *columns("country", "region", "city")),
    ),
    EnrichmentStep(put_bot, reads=("is_data_centre",), writes=columns("is_bot", "bot_reason")),
    EnrichmentStep(put_language),
    EnrichmentStep(put_outbound_link, reads=("page_properties",)),
    EnrichmentStep(put_sender),
    EnrichmentStep(put_rules_version),
)

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
