"""Whether a form was left behind: fields were filled in and none was sent."""

from stream.enrich.rules.lookups import Lookups
from stream.rows.row_batch import RowBatch


def put_form(rows: RowBatch, lookups: Lookups) -> None:  # noqa: ARG001
    if not rows.has_column("form_abandoned"):
        return
    filled, sent = rows.item_field("form_field_count"), rows.item_field("form_submit_count")
    rows.columns["form_abandoned"] = [
        bool(fields) and not forms for fields, forms in zip(filled, sent, strict=True)
    ]
