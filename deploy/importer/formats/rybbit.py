"""Rybbit: its table of events."""

from deploy.importer.formats.cell_values import InvalidLine, parse_text
from deploy.importer.formats.export_format import (
    Columns,
    ExportFormat,
    as_object,
    refuse_unknown_kind,
    screen_size,
)

NAMED = frozenset(("custom_event", "event"))
"""Kinds whose name stands in `event_name`."""
INTERACTIONS = {
    "outbound": "outbound_click",
    "button_click": "button_click",
    "copy": "copy",
    "form_submit": "form_submit",
    "input_change": "input_change",
}
"""Kind → name of the event."""
OTHER_KINDS = {"performance": "load times of a page view", "error": "an error of a page"}


def rybbit_columns(line: Columns) -> Columns:
    """Kinds are page views, named events and interactions; errors and load times are no events."""
    kind, name = line["type"], parse_text(line.get("event_name"))
    if kind in OTHER_KINDS:
        raise InvalidLine(f"this is no event: Rybbit's '{kind}' is {OTHER_KINDS[kind]}")
    if kind != "pageview" and kind not in INTERACTIONS and not (kind in NAMED and name):
        raise refuse_unknown_kind("Rybbit", kind)
    return {
        "timestamp": line["timestamp"],
        "event_name": INTERACTIONS.get(kind, name if kind in NAMED else "pageview"),
        "anonymous_id": line.get("user_id"),
        "profile_id": line.get("identified_user_id"),
        "session_id": line["session_id"],
        "hostname": line.get("hostname"),
        "pathname": line.get("pathname"),
        "query_string": line.get("querystring"),
        "page_title": line.get("page_title"),
        "referrer": line.get("referrer"),
        "browser": line.get("browser"),
        "browser_version": line.get("browser_version"),
        "os": line.get("operating_system"),
        "os_version": line.get("operating_system_version"),
        "device_type": line.get("device_type"),
        "language": line.get("language"),
        "timezone": line.get("timezone"),
        "country": line.get("country"),
        "region": line.get("region"),
        "city": line.get("city"),
        "screen_resolution": screen_size(line.get("screen_width"), line.get("screen_height")),
        "properties": as_object(line.get("props")),
    }


FORMATS = (
    ExportFormat(
        "Rybbit (bots)",
        frozenset(("type", "pathname", "detected_ua_pattern")),
        refusal="its lines are requests of bots; import the table `events` instead",
    ),
    ExportFormat(
        "Rybbit",
        frozenset(("timestamp", "session_id", "hostname", "pathname", "querystring", "type")),
        rybbit_columns,
    ),
)
