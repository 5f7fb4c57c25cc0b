"""Whose row it is."""

from stream.enrich.lookups import Lookups
from stream.rows import Rows


def put_subject(rows: Rows, lookups: Lookups) -> None:  # noqa: ARG001
    rows.columns[rows.kind.table.subject] = [e.subject_id for e in rows.envelopes]
    if rows.wants("organization_id"):
        rows.columns["organization_id"] = [e.organization_id for e in rows.envelopes]
