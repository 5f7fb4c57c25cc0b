"""Vercel Web Analytics: lines of its drains (schema `vercel.analytics.v1`)."""

from deploy.importer.formats.cell_values import parse_text
from deploy.importer.formats.export_format import (
    Columns,
    ExportFormat,
    as_object,
    refuse_unknown_kind,
)


def vercel_columns(line: Columns) -> Columns:
    """Kinds are `pageview`, and `event` with a name."""
    kind, name = line["eventType"], parse_text(line.get("eventName"))
    if kind != "pageview" and not (kind == "event" and name):
        raise refuse_unknown_kind("Vercel", kind)
    origin = parse_text(line.get("origin")) or ""
    return {
        "timestamp": line["timestamp"],
        "event_name": "pageview" if kind == "pageview" else name,
        "anonymous_id": line.get("deviceId"),
        "session_id": line.get("sessionId"),
        "host": origin.partition("://")[2] or origin,
        "path": line.get("path"),
        "url_query": line.get("queryParams"),
        "referrer": line.get("referrer"),
        "country": line.get("country"),
        "region": line.get("region"),
        "city": line.get("city"),
        "os": line.get("osName"),
        "os_version": line.get("osVersion"),
        "browser": line.get("clientName"),
        "browser_version": line.get("clientVersion"),
        "device_type": line.get("deviceType"),
        "properties": as_object(line.get("eventData")),
    }


FORMATS = (
    ExportFormat(
        "Vercel Web Analytics (drain)",
        frozenset(("eventType", "timestamp", "sessionId", "deviceId", "origin")),
        vercel_columns,
    ),
)
