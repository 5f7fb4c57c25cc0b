"""Simple Analytics: the export of data points as CSV or JSON lines."""

from deploy.importer.formats.cell_values import InvalidLine, parse_text
from deploy.importer.formats.export_format import UTM_NAMES, Columns, ExportFormat, screen_size

PAGE_VIEW_FIELDS = frozenset(("is_unique", "duration_seconds", "scrolled_percentage"))
METADATA = "metadata."


def simple_analytics_columns(line: Columns) -> Columns:
    """`datapoint` is the name of an event; only page views have durations and scroll depths.

    The session is the visitor, who has no id beyond it.
    """
    name = parse_text(line.get("datapoint"))
    if name is None and "datapoint" not in line and line.keys().isdisjoint(PAGE_VIEW_FIELDS):
        raise InvalidLine(
            "page views and events look the same; export the field 'datapoint' for events, "
            "or 'duration_seconds' for page views"
        )
    language, region = parse_text(line.get("lang_language")), parse_text(line.get("lang_region"))
    return {
        "timestamp": line.get("added_iso") or line.get("added_unix"),
        "event_name": name or "pageview",
        "event_id": line.get("uuid"),
        "anonymous_id": line.get("session_id"),
        "session_id": line.get("session_id"),
        "hostname": line.get("hostname"),
        "path": line.get("path"),
        "query_string": line.get("query"),
        "referrer": line.get("document_referrer"),
        "user_agent": line.get("user_agent"),
        "browser": line.get("browser_name"),
        "browser_version": line.get("browser_version"),
        "os": line.get("os_name"),
        "os_version": line.get("os_version"),
        "device_type": line.get("device_type"),
        "country": line.get("country_code"),
        "language": f"{language}-{region}" if language and region else language,
        "screen_resolution": screen_size(line.get("screen_width"), line.get("screen_height")),
        "viewport_size": screen_size(line.get("viewport_width"), line.get("viewport_height")),
        "is_bot": line.get("is_robot"),
        "time_on_page": line.get("duration_seconds"),
        "scroll_depth": line.get("scrolled_percentage"),
        **{utm_name: line.get(utm_name) for utm_name in UTM_NAMES},
        "properties": {
            column.removeprefix(METADATA).rpartition("_")[0]: cell
            for column, cell in line.items()
            if column.startswith(METADATA) and cell not in (None, "")
        },
    }


FORMATS = (
    ExportFormat("Simple Analytics", frozenset(("added_iso", "path")), simple_analytics_columns),
    ExportFormat(
        "Simple Analytics", frozenset(("added_iso", "datapoint")), simple_analytics_columns
    ),
)
