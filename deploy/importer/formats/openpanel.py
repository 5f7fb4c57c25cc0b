"""OpenPanel: its events with names in either spelling (`deviceId`, `device_id`), and its exports
to an object store, which have names of their own (`event_time`, `user_id`)."""

import re

from deploy.importer.formats.export_format import Columns, ExportFormat, as_object, refuse_own_event

OWN_EVENTS = frozenset(("session_start", "session_end"))
CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def object_store_columns(line: Columns) -> Columns:
    """A line of an export to an object store; `user_id` is missing where it is the device's."""
    return openpanel_columns(
        {
            **line,
            "name": line["event_name"],
            "id": line["event_id"],
            "created_at": line["event_time"],
            "profile_id": line.get("user_id"),
        }
    )


def openpanel_columns(line: Columns) -> Columns:
    """Properties that begin with `__` are facts of the page; the profile of a device is its id."""
    refuse_own_event("OpenPanel", line["name"], OWN_EVENTS)
    row = {CAPITAL.sub("_", name).lower(): cell for name, cell in line.items()}
    sent = as_object(row.get("properties"))
    profile = row.get("profile_id")
    origin, path = str(row.get("origin") or ""), str(row.get("path") or "")
    return {
        "timestamp": row["created_at"],
        "event_name": row["name"],
        "event_id": row.get("id"),
        "anonymous_id": row["device_id"],
        "profile_id": profile if profile != row["device_id"] else None,
        "session_id": row["session_id"],
        "url": (path if "://" in path else f"{origin}{path}") or None,
        "title": sent.get("__title"),
        "referrer": row.get("referrer"),
        "browser": row.get("browser"),
        "browser_version": row.get("browser_version"),
        "os": row.get("os"),
        "os_version": row.get("os_version"),
        "device_type": row.get("device"),
        "country": row.get("country"),
        "region": row.get("region"),
        "city": row.get("city"),
        "properties": {key: value for key, value in sent.items() if not key.startswith("__")},
    }


FORMATS = (
    ExportFormat(
        "OpenPanel (object store)",
        frozenset(("event_name", "event_time", "device_id", "project_id", "schema_version")),
        object_store_columns,
    ),
    ExportFormat(
        "OpenPanel",
        frozenset(("name", "deviceId", "sessionId", "projectId", "createdAt")),
        openpanel_columns,
    ),
    ExportFormat(
        "OpenPanel",
        frozenset(("name", "device_id", "session_id", "project_id", "created_at")),
        openpanel_columns,
    ),
)
