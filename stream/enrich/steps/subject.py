"""Whose row it is."""

from operator import attrgetter

from stream.enrich.rules.lookups import Lookups
from stream.rows.row_batch import Rows


def put_subject(rows: Rows, lookups: Lookups) -> None:  # noqa: ARG001
    rows.columns[rows.kind.table.subject] = rows.per_envelope(attrgetter("subject_id"))
    if rows.wants("organization_id"):
        rows.columns["organization_id"] = rows.per_envelope(attrgetter("organization_id"))
    if rows.wants("import_id"):
        rows.columns["import_id"] = rows.per_envelope(lambda e: e.import_id or None)
