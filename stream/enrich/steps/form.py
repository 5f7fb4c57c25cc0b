"""Whether a form was abandoned: fields filled in and none submitted."""

from stream.enrich.rules.lookups import Lookups
from stream.enrich.steps.enrichment_step import enrichment_step
from stream.rows.row_batch import RowBatch


@enrichment_step()
def put_form(rows: RowBatch, lookups: Lookups) -> None:  # noqa: ARG001
    """Whether a form was abandoned."""
    if not rows.has_column("form_abandoned"):
        return
    field_counts, submit_counts = (
        rows.item_field("form_field_count"),
        rows.item_field("form_submit_count"),
    )
    rows.columns["form_abandoned"] = [
        bool(fields) and not submits
        for fields, submits in zip(field_counts, submit_counts, strict=True)
    ]
