"""What an import of a file would store: its product, kinds, days, rejected lines, first rows."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from deploy.importer.column_mapping import ColumnMapper
from deploy.importer.dry_run import dry_run_sender
from deploy.importer.import_run import PendingItem, request_batches
from deploy.importer.sender import CollectorReply
from deploy.importer.source_file import SourceFile
from schemas.event_times import instant_ms
from schemas.registry import Website

if TYPE_CHECKING:
    from deploy.importer.totals_file import Totals

SHOWN_ROWS = 10
MAX_REASONS = 1_000
"""Reasons that are told apart; they may contain values of the lines."""
WHOLE = "(whole website)"
NO_PRODUCT = "no known export; columns are recognized by their names"
CHECKED_WEBSITE = Website(
    id="check", organization_id="check", domain="check.example", created_at=0, updated_at=0
)


class Preview(Struct, frozen=True, rename="camel"):
    """What an import would store; nothing is sent."""

    kind: Literal["events", "totals"]
    product: str
    recognized_by: Sequence[str]
    """The columns that identify the product."""
    note: str
    files: int
    files_left_out: Sequence[str]
    accepted: int
    rejected: int
    names: Mapping[str, int]
    """Events by name, the most frequent first; rows of totals by dimension."""
    days: Mapping[str, int]
    """Events by day (UTC); rows of totals by the day that was counted."""
    reasons: Mapping[str, int]
    """Rejected lines by reason, the most frequent first."""
    columns: Mapping[str, str]
    ignored_columns: Sequence[str]
    facts_left_out: Mapping[str, int]
    rows: Sequence[Mapping[str, Any]]
    """The first events as they would be sent, or the first rows of totals."""


def preview(
    file: SourceFile, mapper: ColumnMapper, on_progress: Callable[[], None] = lambda: None
) -> Preview:
    """Reads the whole file, and validates each event as the collector would.

    `on_progress` is called after each batch of lines.
    """
    send = dry_run_sender(CHECKED_WEBSITE)
    names, days, reasons = Counter[str](), Counter[str](), Counter[str]()
    rows: list[Mapping[str, Any]] = []
    for batch in request_batches(file, mapper, 0):
        sent = [entry for entry in batch if isinstance(entry, PendingItem)]
        reply = send([entry.item for entry in sent]) if sent else CollectorReply()
        refused = {rejection.index: rejection.message for rejection in reply.rejected}
        for reason in (
            *(entry.reason for entry in batch if not isinstance(entry, PendingItem)),
            *refused.values(),
        ):
            known = reason in reasons or len(reasons) < MAX_REASONS
            reasons[reason if known else "other reasons"] += 1
        for index, entry in enumerate(sent):
            if index in refused:
                continue
            event = msgspec.json.decode(entry.item, type=dict[str, Any])
            names[event["name"]] += 1
            days[_day(event["timestamp"])] += 1
            if len(rows) < SHOWN_ROWS:
                rows.append({name: value for name, value in event.items() if name != "line"})
        on_progress()
    product = mapper.export_format
    return Preview(
        "events",
        product.product if product else NO_PRODUCT,
        sorted(product.columns) if product else (),
        product.note if product else "",
        len(file.members),
        file.left_out,
        names.total(),
        reasons.total(),
        dict(names.most_common()),
        dict(sorted(days.items())),
        dict(reasons.most_common()),
        {} if product else mapper.mapped,
        [] if product else sorted(mapper.ignored),
        dict(mapper.skipped_values),
        rows,
    )


def preview_totals(file: SourceFile, totals: "Totals") -> Preview:
    """What an import of daily totals would store."""
    rows = totals.rows.to_pylist()
    return Preview(
        "totals",
        totals.report.product,
        totals.columns,
        totals.report.note,
        len(file.members),
        file.left_out,
        totals.lines,
        len(totals.rejects),
        dict(sorted(Counter(row["dimension"] or WHOLE for row in rows).items())),
        dict(sorted(Counter(row["ts"].date().isoformat() for row in rows).items())),
        dict(Counter(reject.reason for reject in totals.rejects).most_common()),
        {},
        (),
        dict(totals.left_out),
        [
            {"day": row["ts"].date().isoformat()}
            | {name: value for name, value in row.items() if value is not None and name != "ts"}
            for row in rows[:SHOWN_ROWS]
        ],
    )


def _day(timestamp: Any) -> str:
    """The day of a time that the collector accepts."""
    return datetime.fromtimestamp((instant_ms(timestamp) or 0) / 1000, UTC).date().isoformat()
