"""Website, organization and import that the row belongs to."""

from operator import attrgetter

from stream.enrich.rules.lookups import Lookups
from stream.enrich.steps.enrichment_step import enrichment_step
from stream.rows.row_batch import RowBatch


@enrichment_step()
def put_subject(rows: RowBatch, lookups: Lookups) -> None:  # noqa: ARG001
    """Website or link, organization, import."""
    rows.columns[rows.kind.table.subject_column] = rows.per_envelope(attrgetter("subject_id"))
    if rows.has_column("organization_id"):
        rows.columns["organization_id"] = rows.per_envelope(attrgetter("organization_id"))
    if rows.has_column("import_id"):
        rows.columns["import_id"] = rows.per_envelope(lambda envelope: envelope.import_id or None)
