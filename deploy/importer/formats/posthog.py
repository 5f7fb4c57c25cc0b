"""PostHog: batch exports of events, and the table of events of its interface."""

from collections.abc import Mapping

from deploy.importer.formats.export_format import (
    UTM_NAMES,
    Columns,
    ExportFormat,
    as_object,
    refuse_own_event,
    screen_size,
)


def posthog_table_columns(line: Columns) -> Columns:
    """A row of the table of events in PostHog's interface, whose columns begin with `*.`."""
    return posthog_columns({name.removeprefix("*."): cell for name, cell in line.items()})


def posthog_columns(line: Columns) -> Columns:
    """Properties with `$` are facts of browser, place and page; the others are the event's own.

    The visitor is the device, because `distinct_id` changes when a visitor logs in.
    """
    refuse_own_event("PostHog", line.get("event"), POSTHOG_OWN_EVENTS)
    sent = as_object(line.get("properties")) | {
        column.removeprefix("properties."): cell
        for column, cell in line.items()
        if column.startswith("properties.") and cell not in ("", None)
    }
    facts = {name: sent.get(member) for name, member in POSTHOG_FACTS.items()}
    if facts["profile_id"] is None and sent.get("$is_identified") in (True, "true", "True"):
        facts["profile_id"] = line.get("distinct_id")
    return {
        "timestamp": line.get("timestamp"),
        "event": line.get("event"),
        "event_id": line.get("uuid"),
        **facts,
        "anonymous_id": sent.get("$device_id") or line.get("distinct_id"),
        "screen_resolution": screen_size(sent.get("$screen_width"), sent.get("$screen_height")),
        "viewport_size": screen_size(sent.get("$viewport_width"), sent.get("$viewport_height")),
        "properties": {
            name: value
            for name, value in sent.items()
            if not name.startswith(("$", *UTM_NAMES)) and name not in ("title", "token")
        },
    }


POSTHOG_OWN_EVENTS = frozenset(
    (
        *("$set", "$identify", "$create_alias", "$merge_dangerously", "$groupidentify"),
        *("$feature_flag_called", "$web_vitals", "$exception", "$performance_event"),
        *("$$heatmap", "$snapshot", "$opt_in"),
    )
)
"""Events that the library sends by itself: with them no visit would be a bounce."""
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


FORMATS = (
    ExportFormat("PostHog", frozenset(("distinct_id", "event", "timestamp")), posthog_columns),
    ExportFormat(
        "PostHog (table of events)",
        frozenset(("*.distinct_id", "*.event", "*.timestamp")),
        posthog_table_columns,
    ),
    ExportFormat(
        "PostHog (persons)",
        frozenset(("distinct_id", "person_id", "properties", "person_version")),
        refusal="each line is a person and no event; send properties of persons to `/identify`",
    ),
)
