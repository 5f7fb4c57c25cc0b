"""Google Analytics 4: the BigQuery export of single events."""

from collections.abc import Callable, Mapping
from typing import Any

from deploy.importer.formats.cell_values import parse_json
from deploy.importer.formats.export_format import Columns, ExportFormat, as_object, refuse_own_event
from deploy.importer.formats.software_names import parse_os_version


def google_analytics_columns(line: Columns) -> Columns:
    """A row of the BigQuery export; a session is known by visitor and `ga_session_id` together."""
    refuse_own_event("Google Analytics", line.get("event_name"), GA_OWN_EVENTS)
    parameters = _ga_parameters(line.get("event_params"))
    device, geo = as_object(line.get("device")), as_object(line.get("geo"))
    web = as_object(device.get("web_info"))
    source = as_object(line.get("collected_traffic_source"))
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
        "os_version": parse_os_version(device.get("operating_system_version")),
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


GA_OWN_EVENTS = frozenset(("session_start", "first_visit", "first_open", "user_engagement"))
"""Events that Google Analytics adds to each visit: with them no visit would be a bounce."""
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


GA_NUMBERS: Mapping[str, Callable[[Any], Any]] = {
    "int_value": int,
    "float_value": float,
    "double_value": float,
}
"""Members for numbers; BigQuery writes integers as text."""


def _ga_parameters(cell: Any) -> dict[str, Any]:
    """The parameters by key: each has its value in the member of its type."""
    entries = parse_json(cell) if isinstance(cell, str) else cell
    parameters: dict[str, Any] = {}
    for entry in entries or ():
        values = (
            GA_NUMBERS.get(member, str)(value)
            for member, value in entry["value"].items()
            if value is not None
        )
        parameters[entry["key"]] = next(values, None)
    return parameters


FORMATS = (
    ExportFormat(
        "Google Analytics 4 (BigQuery)",
        frozenset(("event_timestamp", "event_name", "event_params")),
        google_analytics_columns,
    ),
)
