"""Databuddy: its table of events."""

from deploy.importer.formats.export_format import Columns, ExportFormat, refuse_own_event

OWN_EVENTS = frozenset(("error", "web_vitals", "performance", "engagement", "session_start"))
UNUSED = frozenset(
    (
        *("client_id", "event_type", "id", "ip", "session_start_time"),
        *("created_at", "ingested_at", "time", "timestamp"),
    )
)
COLUMNS = frozenset(("client_id", "anonymous_id", "session_id", "event_name"))


def databuddy_columns(line: Columns) -> Columns:
    """Nearly Tidemark's columns; `client_id` is the website, and `event_type` no kind.

    The time is `time`: newer versions fill `timestamp` with its day.
    """
    refuse_own_event("Databuddy", line["event_name"], OWN_EVENTS)
    columns = {name: cell for name, cell in line.items() if name not in UNUSED}
    return columns | {
        "timestamp": line.get("time") or line.get("timestamp"),
        "event_id": line.get("event_id") or line.get("id"),
    }


FORMATS = (
    ExportFormat("Databuddy", COLUMNS | {"event_type"}, databuddy_columns),
    ExportFormat("Databuddy", COLUMNS | {"time", "page_count"}, databuddy_columns),
)
