"""EXPORT_FORMATS: exports of other products that need more than a name per column.

One declaration per format: the columns that identify it, and how a line becomes columns that
`fields.py` knows, or why its lines cannot be imported.
"""

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct

Columns = Mapping[str, Any]
"""The cells of one line by column."""

UTM_NAMES = ("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content")


class InvalidLine(Exception):
    """The line is no event; the message says why."""


class ExportFormat(Struct, frozen=True):
    """The export of a product."""

    product: str
    columns: frozenset[str]
    """All of them are in each line."""
    to_columns: Callable[[Columns], Columns] = dict
    """The line with columns that `fields.py` knows; InvalidLine if it is no event."""
    refusal: str = ""
    """Why no line can be imported, and what to do instead; empty if they can."""

    def convert(self, line: Columns) -> Columns:
        """The line with known columns; InvalidLine if it is no event or is damaged."""
        try:
            return self.to_columns(line)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            reason = f"the line is not as {self.product} exports it"
            raise InvalidLine(f"{reason}: {type(error).__name__}: {error}") from None


@lru_cache(maxsize=1024)
def format_of(columns: tuple[str, ...]) -> ExportFormat | None:
    """The format with these columns."""
    names = frozenset(columns)
    return next((format_ for format_ in EXPORT_FORMATS if format_.columns <= names), None)


def posthog_columns(line: Columns) -> Columns:
    """Properties with `$` are facts of browser, place and page; the others are the event's own.

    The visitor is the device, because `distinct_id` changes when a visitor logs in.
    """
    sent = _object(line.get("properties")) | {
        column.removeprefix("properties."): cell
        for column, cell in line.items()
        if column.startswith("properties.") and cell not in ("", None)
    }
    facts = {name: sent.get(member) for name, member in POSTHOG_FACTS.items()}
    return {
        "timestamp": line.get("timestamp"),
        "event": line.get("event"),
        "event_id": line.get("uuid"),
        **facts,
        "anonymous_id": sent.get("$device_id") or line.get("distinct_id"),
        "screen_resolution": _size(sent.get("$screen_width"), sent.get("$screen_height")),
        "viewport_size": _size(sent.get("$viewport_width"), sent.get("$viewport_height")),
        "properties": {
            name: value
            for name, value in sent.items()
            if not name.startswith(("$", *UTM_NAMES)) and name not in ("title", "token")
        },
    }


POSTHOG_FACTS: Mapping[str, str] = {
    "profile_id": "$user_id",
    "session_id": "$session_id",
    "url": "$current_url",
    "title": "title",
    "referrer": "$referrer",
    "browser": "$browser",
    "browser_version": "$browser_version",
    "os": "$os",
    "os_version": "$os_version",
    "device_type": "$device_type",
    "user_agent": "$raw_user_agent",
    "country": "$geoip_country_code",
    "region": "$geoip_subdivision_1_name",
    "city": "$geoip_city_name",
    "language": "$browser_language",
    "timezone": "$timezone",
    **{name: name for name in UTM_NAMES},
}
"""Our column → PostHog's property."""


def google_analytics_columns(line: Columns) -> Columns:
    """A row of the BigQuery export; a session is known by visitor and `ga_session_id` together."""
    parameters = _ga_parameters(line.get("event_params"))
    device, geo = _object(line.get("device")), _object(line.get("geo"))
    web = _object(device.get("web_info"))
    source = _object(line.get("collected_traffic_source"))
    visitor, session = line.get("user_pseudo_id"), parameters.get("ga_session_id")
    return {
        "timestamp": line.get("event_timestamp"),
        "event_name": line.get("event_name"),
        "anonymous_id": visitor,
        "profile_id": line.get("user_id"),
        "session_id": f"{visitor}.{session}" if visitor and session else None,
        "page_location": parameters.get("page_location"),
        "page_title": parameters.get("page_title"),
        "page_referrer": parameters.get("page_referrer"),
        "device_category": device.get("category"),
        "os": device.get("operating_system"),
        "os_version": device.get("operating_system_version"),
        "browser": web.get("browser") or device.get("browser"),
        "browser_version": web.get("browser_version") or device.get("browser_version"),
        "language": device.get("language"),
        "country": geo.get("country"),
        "region": geo.get("region"),
        "city": geo.get("city"),
        **{name: source.get(member) for name, member in GA_CAMPAIGN.items()},
        "properties": {
            name: value for name, value in parameters.items() if name not in GA_OWN_PARAMETERS
        },
    }


GA_CAMPAIGN: Mapping[str, str] = {
    "utm_source": "manual_source",
    "utm_medium": "manual_medium",
    "utm_campaign": "manual_campaign_name",
    "utm_term": "manual_term",
    "utm_content": "manual_content",
}
GA_OWN_PARAMETERS = frozenset(
    (
        *("ga_session_id", "ga_session_number", "page_location", "page_title", "page_referrer"),
        *("session_engaged", "engaged_session_event", "engagement_time_msec", "batch_page_id"),
        *("batch_ordering_id", "ignore_referrer", "entrances", "debug_mode"),
        *("source", "medium", "campaign", "term", "content"),
    )
)
"""Parameters that Google Analytics adds; the last row names sources that it derived itself."""


def _ga_parameters(cell: Any) -> dict[str, Any]:
    """The parameters by key: each has its value in the member of its type."""
    entries = json.loads(cell) if isinstance(cell, str) else cell
    parameters: dict[str, Any] = {}
    for entry in entries or ():
        values = (value for value in entry["value"].values() if value is not None)
        parameters[entry["key"]] = next(values, None)
    return parameters


def umami_columns(line: Columns) -> Columns:
    """A row of `website_event`: its session is the visitor, and `distinct_id` the profile."""
    columns = {name: cell for name, cell in line.items() if name != "distinct_id"}
    return columns | {"profile_id": line.get("distinct_id")}


def plausible_columns(line: Columns) -> Columns:
    """A row of `events_v2`; rows named `engagement` say how long a page was read."""
    if line.get("name") == "engagement":
        raise InvalidLine("this is no event: Plausible's 'engagement' belongs to the page view")
    columns = {name: cell for name, cell in line.items() if name not in PLAUSIBLE_UNUSED}
    keys, values = line.get("meta.key"), line.get("meta.value")
    if isinstance(keys, list) and isinstance(values, list):
        columns["properties"] = dict(zip(keys, values, strict=False))
    return columns


PLAUSIBLE_UNUSED = ("meta.key", "meta.value", "scroll_depth")
"""`scroll_depth` is 255 on page views: it is known in rows named `engagement` only."""

EXPORT_FORMATS = (
    ExportFormat("PostHog", frozenset(("distinct_id", "event", "timestamp")), posthog_columns),
    ExportFormat(
        "Google Analytics 4 (BigQuery)",
        frozenset(("event_timestamp", "event_name", "event_params")),
        google_analytics_columns,
    ),
    ExportFormat(
        "Umami (website_event)",
        frozenset(("session_id", "visit_id", "url_path", "created_at")),
        umami_columns,
    ),
    ExportFormat(
        "Plausible (events_v2)",
        frozenset(("site_id", "user_id", "session_id", "pathname", "hostname")),
        plausible_columns,
    ),
    ExportFormat(
        "Matomo (visits log)",
        frozenset(("idVisit", "visitorId", "actionDetails")),
        refusal="each line is a visit with several actions, and an import needs one event per "
        "line; deploy/REFERENCE.md has a command that makes them",
    ),
)


def _object(cell: Any) -> dict[str, Any]:
    """A record, also as JSON text; empty if it is none."""
    value = json.loads(cell) if isinstance(cell, str) and cell else cell
    return dict(value) if isinstance(value, dict) else {}


def _size(width: Any, height: Any) -> str | None:
    return f"{round(float(width))}x{round(float(height))}" if width and height else None
