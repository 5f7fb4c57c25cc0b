"""What the tracker said, carried over as it is: the item fields that the table has columns for."""

from msgspec import Raw

from stream.enrich.rules.lookups import Lookups
from stream.rows.row_batch import Rows

ABSENT = (b"", b"null")
FREE = ("properties", "traits")
"""Fields that are any JSON object."""


def put_given(rows: Rows, lookups: Lookups) -> None:  # noqa: ARG001
    for name in (rows.fields & rows.wanted) - {rows.kind.table.subject}:
        rows.columns[name] = rows.given(name)
    for name in FREE:
        if rows.wants(name):
            rows.columns[name] = [text(raw) for raw in rows.columns[name]]
    if rows.wants("level"):
        rows.columns["level"] = [level or "error" for level in rows.columns["level"]]


def text(raw: Raw) -> str | None:
    """An object as JSON text; None when there are none."""
    body = bytes(raw)
    return None if body in ABSENT else body.decode()
