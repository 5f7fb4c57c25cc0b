"""Plausible: the table `events_v2` of a server of one's own."""

from typing import Any

from deploy.importer.formats.cell_values import InvalidLine, parse_text
from deploy.importer.formats.export_format import Columns, ExportFormat, as_list


def plausible_columns(line: Columns) -> Columns:
    """A row of `events_v2`; rows named `engagement` say how long a page was read.

    `referrer_source` is what the page's URL has as its source where there is no referrer.
    """
    if line.get("name") == "engagement":
        raise InvalidLine("this is no event: Plausible's 'engagement' belongs to the page view")
    columns = {name: cell for name, cell in line.items() if name not in PLAUSIBLE_UNUSED}
    keys, values = as_list(line.get("meta.key")), as_list(line.get("meta.value"))
    columns["properties"] = dict(zip(keys, values, strict=False)) | _revenue(line)
    if parse_text(line.get("referrer")) is None and parse_text(line.get("utm_source")) is None:
        columns["utm_source"] = line.get("referrer_source")
    return columns


PLAUSIBLE_UNUSED = frozenset(
    (
        *("meta.key", "meta.value", "referrer_source", "scroll_depth", "subdivision2_code"),
        *("revenue_source_amount", "revenue_source_currency"),
        *("revenue_reporting_amount", "revenue_reporting_currency"),
    )
)
"""`scroll_depth` is 255 on page views: it is known in rows named `engagement` only."""


def _revenue(line: Columns) -> dict[str, Any]:
    """Money of a goal, in the currency that was sent."""
    amount = parse_text(line.get("revenue_source_amount"))
    if amount is None:
        return {}
    return {"revenue": float(amount), "currency": line.get("revenue_source_currency")}


FORMATS = (
    ExportFormat(
        "Plausible (events_v2)",
        frozenset(("site_id", "user_id", "session_id", "pathname", "hostname")),
        plausible_columns,
    ),
)
