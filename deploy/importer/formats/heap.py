"""Heap: tables of Heap Connect, and the events of connectors that read it."""

from deploy.importer.formats.cell_values import InvalidLine, parse_text
from deploy.importer.formats.export_format import UTM_NAMES, Columns, ExportFormat

PAGE_VIEWS = frozenset(("pageview", "pageviews", "view page", "view_page"))
OTHER_TABLES = frozenset(("session", "sessions", "users", "user_migrations"))


def heap_columns(line: Columns) -> Columns:
    """Rows of the table `pageviews` and of labeled events have the same columns.

    So a column must name the table or the kind: without it clicks would be page views.
    """
    names = (line.get(key) for key in ("event_table_name", "event_name", "type"))
    name = next((text for name in names if (text := parse_text(name))), None)
    if name is None:
        raise InvalidLine(
            "rows of page views and of labeled events look the same; add a column "
            "'event_table_name' with the name of the table ('pageviews' for page views)"
        )
    if name.lower() in OTHER_TABLES:
        raise InvalidLine(f"this is no event: Heap's table '{name}'")
    return {
        "timestamp": line["time"],
        "event_name": "pageview" if name.lower() in PAGE_VIEWS else name,
        "event_id": line["event_id"],
        "anonymous_id": line["user_id"],
        "session_id": line.get("session_id"),
        "host": line.get("domain"),
        "path": line.get("path"),
        "url_query": line.get("query"),
        "title": line.get("title"),
        "referrer": line.get("referrer"),
        "browser": line.get("browser"),
        "os": line.get("platform"),
        "device_type": line.get("device_type"),
        "country": line.get("country"),
        "region": line.get("region"),
        "city": line.get("city"),
        "href": line.get("href"),
        "text": line.get("target_text"),
        **{name: line.get(name) for name in UTM_NAMES},
    }


FORMATS = (
    ExportFormat(
        "Heap", frozenset(("event_id", "user_id", "time", "event_table_name")), heap_columns
    ),
    ExportFormat(
        "Heap", frozenset(("event_id", "user_id", "session_id", "time", "library")), heap_columns
    ),
    ExportFormat(
        "Heap",
        frozenset(("event_id", "user_id", "session_id", "time", "landing_page")),
        heap_columns,
    ),
    ExportFormat(
        "Heap (sessions)",
        frozenset(("session_id", "user_id", "time", "landing_page")),
        refusal="each line is a session. Export the table `pageviews` and those of events",
    ),
)
