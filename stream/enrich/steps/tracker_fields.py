"""Item fields that are stored as sent: those with a column of the same name."""

from schemas.items import object_fields
from stream.enrich.rules.lookups import Lookups
from stream.enrich.steps.enrichment_step import columns, enrichment_step
from stream.rows.canonical_json import canonical_json
from stream.rows.row_batch import RowBatch

ABSENT = "null"
REPEATED = frozenset({"name", "namespace", "source", "profile_id", "anonymous_id", "session_id"})
"""Strings that many rows of a batch have in common, besides those of other steps."""


@enrichment_step(writes=columns("anonymous_id", "session_id", "filename", "message", "stack"))
def put_tracker_fields(rows: RowBatch, lookups: Lookups) -> None:  # noqa: ARG001
    """Fields stored as sent; `properties` and `traits` as canonical JSON, NULL when absent."""
    for name in (rows.item_fields & rows.table_columns) - {rows.kind.table.subject_column}:
        rows.columns[name] = (
            rows.distinct_field(name) if name in REPEATED else rows.item_field(name)
        )
    for name in object_fields(rows.kind.item):
        if rows.has_column(name):
            texts = [canonical_json(raw) if raw else ABSENT for raw in rows.columns[name]]
            rows.columns[name] = [None if text == ABSENT else text for text in texts]
    if rows.has_column("level"):
        rows.columns["level"] = [level or "error" for level in rows.columns["level"]]
