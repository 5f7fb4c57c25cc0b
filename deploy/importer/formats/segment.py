"""Segment, RudderStack and Jitsu: messages as JSON, and rows of their warehouse tables."""

from collections.abc import Mapping
from typing import Any

from deploy.importer.formats.cell_values import InvalidLine, parse_text
from deploy.importer.formats.export_format import Columns, ExportFormat, as_object, screen_size

PRODUCT = "Segment, RudderStack or Jitsu"
PAGE_NAMES = {"page": "pageview", "screen": "screen_view"}
"""Kind of message → name of the page view."""
CAMPAIGN: Mapping[str, str] = {
    "utm_source": "source",
    "utm_medium": "medium",
    "utm_campaign": "name",
    "utm_term": "term",
    "utm_content": "content",
}
PAGE_MEMBERS = frozenset(("url", "path", "title", "referrer", "search", "initial_referrer"))


def message_columns(message: Columns) -> Columns:
    """A message `track`, `page` or `screen`; the others change profiles and are no events."""
    kind, sent = message.get("type"), as_object(message.get("properties"))
    name = _event_name(kind, message.get("event"))
    context = as_object(message.get("context"))
    page = as_object(context.get("page"))
    screen, device = as_object(context.get("screen")), as_object(context.get("device"))
    system, place = as_object(context.get("os")), as_object(context.get("location"))
    campaign = as_object(context.get("campaign"))
    is_view = kind in PAGE_NAMES
    page_sent = sent if is_view else {}
    properties = {
        key: value for key, value in sent.items() if key not in page_sent.keys() & PAGE_MEMBERS
    }
    if is_view and (page_name := message.get("name")):
        properties.setdefault("name", page_name)
    return {
        "timestamp": message.get("timestamp")
        or message.get("originalTimestamp")
        or message.get("receivedAt"),
        "event_name": name,
        "event_id": message.get("messageId"),
        "anonymous_id": message.get("anonymousId") or message.get("userId"),
        "profile_id": message.get("userId"),
        "session_id": context.get("sessionId"),
        "url": page_sent.get("url") or page.get("url") or page_sent.get("path"),
        "title": page_sent.get("title") or page.get("title") or (page_name_of_screen(message)),
        "referrer": page_sent.get("referrer") or page.get("referrer"),
        "user_agent": context.get("userAgent"),
        "language": context.get("locale"),
        "timezone": context.get("timezone"),
        "screen_resolution": screen_size(screen.get("width"), screen.get("height")),
        "device_type": device.get("type"),
        "os": system.get("name"),
        "os_version": system.get("version"),
        "country": place.get("country"),
        "city": place.get("city"),
        **{column: campaign.get(member) for column, member in CAMPAIGN.items()},
        "properties": properties,
    }


def page_name_of_screen(message: Columns) -> Any:
    """The name of a screen, which has no title."""
    return message.get("name") if message.get("type") == "screen" else None


def row_columns(row: Columns) -> Columns:
    """A row of `tracks`, of the table of an event, or of `pages`.

    Rows of `identifies`, `groups`, `users` and `screens` cannot be told apart, and are no events.
    """
    kind = parse_text(row.get("type")) if "type" in row else None
    kind = kind or (
        "track" if "event" in row else "page" if row.keys() >= {"url", "path"} else None
    )
    if kind is None:
        raise InvalidLine(
            "this is no row of `tracks`, `pages` or the table of an event: it has neither 'event' "
            "nor 'url' and 'path'"
        )
    name = _event_name(kind, row.get("event_text") or row.get("event"))
    is_view = kind in PAGE_NAMES
    properties = {
        column: value
        for column, value in row.items()
        if value not in (None, "")
        and not column.startswith(("context_", "_"))
        and column not in ROW_COLUMNS
        and not (is_view and column in PAGE_MEMBERS)
    }
    return {
        "timestamp": row.get("timestamp") or row.get("original_timestamp"),
        "event_name": name,
        "event_id": row.get("message_id") or row.get("id"),
        "anonymous_id": row.get("anonymous_id") or row.get("user_id"),
        "profile_id": row.get("user_id"),
        "session_id": row.get("context_session_id"),
        "url": (row.get("url") if is_view else None) or row.get("context_page_url"),
        "title": (row.get("title") if is_view else None) or row.get("context_page_title"),
        "referrer": (row.get("referrer") if is_view else None) or row.get("context_page_referrer"),
        "user_agent": row.get("context_user_agent"),
        "language": row.get("context_locale"),
        "timezone": row.get("context_timezone"),
        "screen_resolution": screen_size(
            row.get("context_screen_width"), row.get("context_screen_height")
        ),
        "country": row.get("context_location_country"),
        "city": row.get("context_location_city"),
        **{column: row.get(f"context_campaign_{member}") for column, member in CAMPAIGN.items()},
        "properties": properties,
    }


ROW_COLUMNS = frozenset(
    (
        *("id", "message_id", "anonymous_id", "user_id", "received_at", "sent_at", "timestamp"),
        *("original_timestamp", "event", "event_text", "type", "channel", "uuid", "uuid_ts"),
        *("loaded_at", "rudder_id", "write_key", "version", "project_id"),
    )
)
"""Columns of every table; the others are properties of the event."""


def _event_name(kind: Any, event: Any) -> str:
    """The name of the event; InvalidLine for messages that are none."""
    if kind in PAGE_NAMES:
        return PAGE_NAMES[kind]
    if kind != "track":
        raise InvalidLine(f"this is no event: '{str(kind)[:60]}' of {PRODUCT} is about a profile")
    name = parse_text(event)
    if name is None:
        raise InvalidLine("a 'track' without the name of an event in 'event'")
    return name


FORMATS = (
    *(
        ExportFormat(f"{PRODUCT} (messages)", frozenset(("type", column)), message_columns)
        for column in ("messageId", "originalTimestamp")
    ),
    ExportFormat(
        f"{PRODUCT} (warehouse)",
        frozenset(("received_at", "original_timestamp")),
        row_columns,
    ),
)
