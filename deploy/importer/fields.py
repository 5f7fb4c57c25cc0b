"""FIELDS: what an event of the past may tell, and by which names of columns it is known.

Names are compared in lower case with `_` for everything that is no letter or digit. The first that
a file has is taken.
"""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from deploy.importer import cell_values


class Field(Struct, frozen=True):
    """One field of an event."""

    name: str
    """As the collector takes it."""
    columns: tuple[str, ...]
    """What it is called in files."""
    read: Callable[[Any], Any] = cell_values.text
    """Its value from a cell; ValueError when that says nothing we know."""


def _same(*names: str, read: Callable[[Any], Any] = cell_values.text) -> tuple[Field, ...]:
    return tuple(Field(name, (name,), read) for name in names)


FIELDS: tuple[Field, ...] = (
    Field(
        "timestamp",
        (
            *("timestamp", "ts", "time", "datetime", "event_timestamp", "event_time"),
            *("created_at", "occurred_at", "date"),
        ),
        cell_values.instant,
    ),
    Field("name", ("name", "event_name", "event"), cell_values.event_name),
    Field("eventId", ("event_id", "eventid", "insert_id", "uuid")),
    Field(
        "anonymousId",
        (
            *("anonymous_id", "anonymousid", "visitor_id", "user_pseudo_id", "distinct_id"),
            *("visitor", "user_id", "client_id", "device_id"),
        ),
    ),
    Field("sessionId", ("session_id", "sessionid", "visit_id", "ga_session_id", "session")),
    Field("profileId", ("profile_id", "profileid")),
    Field("properties", ("properties", "props", "event_data", "metadata"), cell_values.properties),
    Field("namespace", ("namespace",)),
    Field("source", ("source",)),
    Field("host", ("host", "hostname")),
    Field(
        "path",
        ("path", "url", "page_location", "page_url", "url_path", "pathname", "page_path", "page"),
    ),
    Field("query", ("url_query", "query_string")),
    Field("title", ("title", "page_title")),
    Field(
        "referrer", ("referrer", "referer", "page_referrer", "referrer_url"), cell_values.referrer
    ),
    Field("referrerHost", ("referrer_domain", "referrer_host")),
    Field("referrerPath", ("referrer_path",)),
    *_same("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content"),
    Field("clickId", ("click_id", "clickid")),
    Field("href", ("href", "link_url", "outbound_url")),
    Field("text", ("text", "link_text")),
    Field("user_agent", ("user_agent", "useragent", "ua", "http_user_agent")),
    Field("browser_name", ("browser_name", "browser")),
    Field("browser_version", ("browser_version",)),
    Field("os_name", ("os_name", "os", "operating_system")),
    Field("os_version", ("os_version", "operating_system_version")),
    Field(
        "device_type",
        ("device_type", "device", "device_category", "screen_size"),
        cell_values.device,
    ),
    Field("country", ("country", "country_code", "geo_country"), cell_values.country),
    Field("region", ("region", "geo_region", "subdivision1", "subdivision1_code")),
    Field("city", ("city", "geo_city", "city_name")),
    Field("language", ("language", "locale", "device_language")),
    Field("timezone", ("timezone", "time_zone")),
    Field("screen_resolution", ("screen_resolution", "screen")),
    Field("viewport_size", ("viewport_size", "viewport")),
    Field("is_bot", ("is_bot", "bot"), cell_values.yes_or_no),
    *_same("time_on_page", "scroll_depth", read=cell_values.number),
    *_same(
        *("interaction_count", "page_count", "load_time", "dom_ready_time", "dom_interactive"),
        *("ttfb", "request_time", "render_time"),
        read=cell_values.whole,
    ),
    Field("connection_type", ("connection_type",)),
)

BY_NAME: Mapping[str, Field] = {field.name: field for field in FIELDS}
