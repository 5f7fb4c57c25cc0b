"""EXPORT_FORMATS: exports of other products that need more than a name per column.

One declaration per format: the columns that identify it, and how a line becomes columns that
`fields.py` knows, or why its lines cannot be imported.
"""

from collections.abc import Callable
from functools import lru_cache

from msgspec import Struct

from deploy.importer.cell_values import InvalidLine
from deploy.importer.product_columns import (
    Columns,
    goatcounter_columns,
    google_analytics_columns,
    plausible_columns,
    posthog_columns,
    posthog_table_columns,
    umami_columns,
)


class ExportFormat(Struct, frozen=True):
    """The export of a product."""

    product: str
    columns: frozenset[str]
    """All of them are in each line."""
    to_columns: Callable[[Columns], Columns] = dict
    """The line with columns that `fields.py` knows; InvalidLine if it is no event."""
    refusal: str = ""
    """Why no line can be imported, and what to do instead; empty if they can."""

    def convert(self, line: Columns) -> Columns:
        """The line with known columns; InvalidLine if it is no event or is damaged."""
        try:
            return self.to_columns(line)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            reason = f"the line is not as {self.product} exports it"
            raise InvalidLine(f"{reason}: {type(error).__name__}: {error}") from None


@lru_cache(maxsize=1024)
def format_of(columns: tuple[str, ...]) -> ExportFormat | None:
    """The format with these columns."""
    names = frozenset(columns)
    return next((format_ for format_ in EXPORT_FORMATS if format_.columns <= names), None)


EXPORT_FORMATS = (
    ExportFormat("PostHog", frozenset(("distinct_id", "event", "timestamp")), posthog_columns),
    ExportFormat(
        "PostHog (table of events)",
        frozenset(("*.distinct_id", "*.event", "*.timestamp")),
        posthog_table_columns,
    ),
    ExportFormat(
        "Google Analytics 4 (BigQuery)",
        frozenset(("event_timestamp", "event_name", "event_params")),
        google_analytics_columns,
    ),
    ExportFormat(
        "Umami (website_event)",
        frozenset(("session_id", "visit_id", "url_path", "created_at")),
        umami_columns,
    ),
    ExportFormat(
        "Plausible (events_v2)",
        frozenset(("site_id", "user_id", "session_id", "pathname", "hostname")),
        plausible_columns,
    ),
    ExportFormat(
        "GoatCounter",
        frozenset(("Event", "Session", "Referrer scheme", "FirstVisit", "Date")),
        goatcounter_columns,
    ),
    ExportFormat(
        "Matomo (visits log as a table)",
        frozenset(("idVisit", "visitorId")),
        refusal="each line is a visit with several actions. Export it as JSON instead "
        "(method=Live.getLastVisitsDetails&format=JSON), and write one visit per line: "
        "jq -c '.[]' visits.json > visits.ndjson",
    ),
)
