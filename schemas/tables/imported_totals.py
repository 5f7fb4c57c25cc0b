"""Imported totals: what another product counted for a website on one day, by one dimension.

They come from its reports, and are never turned into visits or events. The rows of a day whose
`dimension` is empty are of the whole website; the others are split by one fact each, so that a day
has the same visits in the rows of several dimensions. The same value may have several rows, of one
import or of several: they add up. Counts that the report does not have are NULL.
"""

from schemas.tables.column import DAY_COLUMN, WEBSITE_COLUMN, Column, ColumnType, Table

COUNT_COLUMNS = (
    Column("visitors", ColumnType.LONG, "visitors on that day, as the product counts them"),
    Column("visits", ColumnType.LONG, "visits; of a page those that saw it, began or ended there"),
    Column("page_views", ColumnType.LONG, "page views"),
    Column("bounces", ColumnType.LONG, "visits with one page view"),
    Column("visit_seconds", ColumnType.LONG, "sum of the durations of the visits"),
    Column("events", ColumnType.LONG, "custom events"),
)

TOTALS_DIMENSIONS = (
    "host",
    "path",
    "entry_page",
    "exit_page",
    "referrer",
    "referrer_name",
    "channel",
    "utm_source",
    "utm_medium",
    "utm_campaign",
    "utm_term",
    "utm_content",
    "country",
    "region",
    "city",
    "device_type",
    "browser_name",
    "browser_version",
    "os_name",
    "os_version",
    "language",
    "name",
)
"""Columns of `events`, or facts of the visit (`sessions.py`); values are as they have them."""

IMPORTED_TOTALS = Table(
    name="imported_totals",
    columns=(
        WEBSITE_COLUMN,
        Column("ts", ColumnType.TIMESTAMP, "the day that was counted, as its midnight in UTC"),
        Column("received_at", ColumnType.TIMESTAMP, "when they were imported"),
        Column(
            "dimension",
            ColumnType.STRING,
            "what they are split by, e.g. `path`; empty: the whole website",
        ),
        Column("value", ColumnType.STRING, "its value, e.g. `/pricing`; NULL: not known"),
        *COUNT_COLUMNS,
        Column("product", ColumnType.STRING, "product that counted them, e.g. Plausible"),
        Column("import_id", ColumnType.STRING, "the import that they belong to"),
        DAY_COLUMN,
    ),
    sort_order=("website_id", "ts", "dimension", "value", "import_id"),
)
