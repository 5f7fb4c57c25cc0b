"""IMPORT_FIELDS: event fields and the column names they are known by.

Names are compared in lower case, with `_` for everything that is not a letter or digit. Of several
matching columns the first name in the list wins.
"""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from deploy.importer.formats import cell_values, software_names


class ImportField(Struct, frozen=True):
    """One field of an event."""

    name: str
    """Field name in the collector's API."""
    columns: tuple[str, ...]
    """Known column names."""
    parse: Callable[[Any], Any] = cell_values.parse_text
    """Parses a cell; ValueError when the value is not recognized."""


def _same_name_fields(
    *names: str, read: Callable[[Any], Any] = cell_values.parse_text
) -> tuple[ImportField, ...]:
    return tuple(ImportField(name, (name,), read) for name in names)


IMPORT_FIELDS: tuple[ImportField, ...] = (
    ImportField(
        "timestamp",
        (
            *("timestamp", "ts", "time", "datetime", "event_timestamp", "event_time"),
            *("created_at", "occurred_at", "date"),
        ),
        cell_values.parse_instant,
    ),
    ImportField("name", ("name", "event_name", "eventname", "event"), cell_values.parse_event_name),
    ImportField("eventId", ("event_id", "eventid", "insert_id", "uuid")),
    ImportField(
        "anonymousId",
        (
            *("anonymous_id", "anonymousid", "visitor_id", "user_pseudo_id", "distinct_id"),
            *("visitor", "user_id", "client_id", "device_id"),
        ),
    ),
    ImportField(
        "sessionId",
        ("session_id", "sessionid", "visit_id", "ga_session_id", "session"),
        cell_values.parse_session,
    ),
    ImportField("profileId", ("profile_id", "profileid")),
    ImportField(
        "properties",
        ("properties", "props", "event_properties", "event_data", "metadata"),
        cell_values.parse_properties,
    ),
    ImportField("namespace", ("namespace",)),
    ImportField("source", ("source",)),
    ImportField("host", ("host", "hostname")),
    ImportField(
        "path",
        ("path", "url", "page_location", "page_url", "url_path", "pathname", "page_path", "page"),
    ),
    ImportField("query", ("url_query", "query_string")),
    ImportField("title", ("title", "page_title")),
    ImportField(
        "referrer",
        ("referrer", "referer", "page_referrer", "referrer_url"),
        cell_values.parse_referrer,
    ),
    ImportField("referrerHost", ("referrer_domain", "referrer_host")),
    ImportField("referrerPath", ("referrer_path",)),
    *_same_name_fields("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content"),
    ImportField("clickId", ("click_id", "clickid")),
    ImportField("href", ("href", "link_url", "outbound_url")),
    ImportField("text", ("text", "link_text")),
    ImportField("user_agent", ("user_agent", "useragent", "ua", "http_user_agent")),
    ImportField("browser_name", ("browser_name", "browser"), software_names.parse_browser),
    ImportField("browser_version", ("browser_version",)),
    ImportField("os_name", ("os_name", "os", "operating_system"), software_names.parse_os),
    ImportField("os_version", ("os_version", "operating_system_version")),
    ImportField(
        "device_type",
        ("device_type", "device", "device_category", "screen_size"),
        cell_values.parse_device,
    ),
    ImportField("country", ("country", "country_code", "geo_country"), cell_values.parse_country),
    ImportField("region", ("region", "geo_region", "subdivision1", "subdivision1_code")),
    ImportField("city", ("city", "geo_city", "city_name")),
    ImportField("language", ("language", "locale", "device_language")),
    ImportField("timezone", ("timezone", "time_zone")),
    ImportField("screen_resolution", ("screen_resolution", "screen")),
    ImportField("viewport_size", ("viewport_size", "viewport")),
    ImportField("interactive", ("interactive",), cell_values.parse_boolean),
    ImportField("is_bot", ("is_bot", "bot"), cell_values.parse_boolean),
    *_same_name_fields("time_on_page", "scroll_depth", read=cell_values.parse_number),
    *_same_name_fields(
        *("interaction_count", "page_count", "load_time", "dom_ready_time", "dom_interactive"),
        *("ttfb", "request_time", "render_time"),
        read=cell_values.parse_integer,
    ),
    ImportField("connection_type", ("connection_type",)),
)

FIELD_BY_NAME: Mapping[str, ImportField] = {field.name: field for field in IMPORT_FIELDS}
