"""Jitsu Classic: its flat events; newer versions have Segment's messages (`segment.py`)."""

from deploy.importer.formats.cell_values import parse_text
from deploy.importer.formats.export_format import (
    UTM_NAMES,
    Columns,
    ExportFormat,
    as_object,
    refuse_own_event,
    refuse_unknown_kind,
)

OWN_EVENTS = frozenset(("identify", "user_identify", "app", "site_page_leave"))


def jitsu_columns(line: Columns) -> Columns:
    """`event_type` is the name of the event; tables have `user_id` in place of `user.id`."""
    name = parse_text(line.get("event_type"))
    refuse_own_event("Jitsu", name, OWN_EVENTS)
    if name is None:
        raise refuse_unknown_kind("Jitsu", name)
    user, utm = as_object(line.get("user")), as_object(line.get("utm"))
    return {
        "timestamp": line.get("utc_time") or line.get("_timestamp"),
        "event_name": name,
        "event_id": line["eventn_ctx_event_id"],
        "anonymous_id": user.get("anonymous_id") or line.get("user_anonymous_id"),
        "profile_id": user.get("id") or line.get("user_id"),
        "session_id": line.get("session_id"),
        "url": line.get("url"),
        "title": line.get("page_title"),
        "referrer": line.get("referer"),
        "user_agent": line.get("user_agent"),
        "language": line.get("user_language"),
        "screen_resolution": line.get("screen_resolution"),
        "viewport_size": line.get("vp_size"),
        **{name: utm.get(name.removeprefix("utm_")) or line.get(name) for name in UTM_NAMES},
    }


FORMATS = (
    ExportFormat("Jitsu Classic", frozenset(("event_type", "eventn_ctx_event_id")), jitsu_columns),
)
