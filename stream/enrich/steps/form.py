"""Whether a form was left behind: fields were filled in and none was sent."""

from stream.enrich.rules.lookups import Lookups
from stream.rows.row_batch import Rows


def put_form(rows: Rows, lookups: Lookups) -> None:  # noqa: ARG001
    if not rows.wants("form_abandoned"):
        return
    filled, sent = rows.given("form_field_count"), rows.given("form_submit_count")
    rows.columns["form_abandoned"] = [
        bool(fields) and not forms for fields, forms in zip(filled, sent, strict=True)
    ]
