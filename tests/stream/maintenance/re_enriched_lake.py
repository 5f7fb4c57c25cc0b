"""A small lake whose rows can be made stale and enriched again."""

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from schemas.kinds import CUSTOM_EVENT
from schemas.tables import EVENTS
from stream.enrich.rules.lookups import Lookups
from stream.maintenance.re_enrichment import ReEnrichedDay, ReEnrichmentOptions, re_enrich
from stream.storage.delta_commit import LakeTable
from stream.writing.batch_writer import BatchWriter
from tests.stream.builders import (
    NOON_MS,
    a_message,
    an_envelope,
    replace_data_file,
    rows,
    settings,
    version,
)

TODAY = date(2026, 11, 21)
DAY_MS = 86_400_000
EVERYTHING = [column.name for column in EVENTS.columns if column.name != "day"]
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:141.0) Gecko/20100101 Firefox/141.0"
PAGES = [
    {"name": "screen_view", "path": "https://a.example/x%20y?utm_source=n", "anonymousId": "v"},
    {"name": "screen_view", "path": "/b", "referrer": "https://www.google.com/search?q=1"},
    {"name": "screen_view", "properties": {"path": "https://a.example/100%25", "title": "T"}},
    {"name": "outbound_click", "href": "https://b.example/y", "text": "more", "path": "/b"},
    {"name": "signup", "properties": {"plan": "pro"}, "timestamp": NOON_MS - 2 * DAY_MS},
]


def fill(folder: Path, **envelope: Any) -> None:
    """The same events of two websites on two days of receipt."""
    drain = BatchWriter(settings(folder), CUSTOM_EVENT, Lookups())
    for offset, (website, day) in enumerate(
        (website, day) for day in (0, 1) for website in ("w1", "w2")
    ):
        received = NOON_MS - day * DAY_MS
        sent = an_envelope(
            PAGES, subject_id=website, received_ms=received, user_agent=FIREFOX, **envelope
        )
        drain.write([a_message(offset, sent)])


def stale(folder: Path, **columns: Any) -> None:
    """Make the stored rows look as if other rules had enriched them."""
    table = LakeTable(settings(folder), EVENTS)
    for part in version(settings(folder), EVENTS).data_files:
        stored = pq.read_table(part.path, partitioning=None)
        for name, value in {"rules_version": 1, **columns}.items():
            at = stored.schema.get_field_index(name)
            field = stored.schema.field(name)
            column = pa.array([value] * stored.num_rows, field.type)
            stored = stored.set_column(at, field, column)
        replace_data_file(table, part, stored)


def options(**others: Any) -> ReEnrichmentOptions:
    return ReEnrichmentOptions(TODAY - timedelta(days=1), TODAY, **others)


def run(folder: Path, **others: Any) -> list[ReEnrichedDay]:
    return list(re_enrich(settings(folder), Lookups(), options(**others)))


def everything(folder: Path) -> list[tuple[Any, ...]]:
    return rows(settings(folder), EVENTS, *EVERYTHING)
