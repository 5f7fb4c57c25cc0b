"""Item fields that are stored as sent: those with a column of the same name."""

import msgspec
from msgspec import Raw

from schemas.items import object_fields
from stream.enrich.rules.lookups import Lookups
from stream.enrich.steps.enrichment_step import columns, enrichment_step
from stream.rows.row_batch import RowBatch

ABSENT = "null"
REPEATED = frozenset({"name", "namespace", "source", "profile_id", "anonymous_id", "session_id"})
"""Strings that many rows of a batch share and that no other step fills."""


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
    if rows.has_column("release"):
        rows.columns["release"] = [release or None for release in rows.columns["release"]]


def canonical_json(raw: Raw) -> str:
    """The JSON text without blanks; whole numbers as integers, the last of members with one name.

    12, 12.0 and 1.2e1 become `12`. Integers are exact; numbers with a fraction are doubles.
    """
    return str(_encode(_decode(raw)), "utf-8")


def _number(text: str) -> int | float:
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < INT64 else number


INT64 = 2**63
_decode = msgspec.json.Decoder(float_hook=_number).decode
_encode = msgspec.json.Encoder().encode
