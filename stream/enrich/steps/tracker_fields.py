"""Item fields that are stored as sent: those with a column of the same name."""

from msgspec import Raw

from schemas.items import object_fields
from stream.enrich.rules.lookups import Lookups
from stream.enrich.steps.enrichment_step import columns, enrichment_step
from stream.rows.row_batch import RowBatch

ABSENT = (b"", b"null")


@enrichment_step(writes=columns("anonymous_id", "session_id", "filename", "stack"))
def put_tracker_fields(rows: RowBatch, lookups: Lookups) -> None:  # noqa: ARG001
    """Fields stored as sent; `properties` and `traits` as JSON text, NULL when absent."""
    for name in (rows.item_fields & rows.table_columns) - {rows.kind.table.subject_column}:
        rows.columns[name] = rows.item_field(name)
    for name in object_fields(rows.kind.item):
        if rows.has_column(name):
            rows.columns[name] = [json_text(raw) for raw in rows.columns[name]]
    if rows.has_column("level"):
        rows.columns["level"] = [level or "error" for level in rows.columns["level"]]


def json_text(raw: Raw) -> str | None:
    """An object as JSON text; None when it is absent."""
    body = bytes(raw)
    return None if body in ABSENT else body.decode()
