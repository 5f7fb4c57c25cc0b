"""Mixpanel: the raw export of events (`/api/2.0/export`, JSON lines)."""

from collections.abc import Mapping
from typing import Any

from deploy.importer.formats.cell_values import InvalidLine, parse_text
from deploy.importer.formats.export_format import (
    UTM_NAMES,
    Columns,
    ExportFormat,
    as_object,
    refuse_own_event,
    screen_size,
)

PAGE_VIEW = "$mp_web_page_view"
INTERACTIONS = frozenset(
    (
        *("$mp_click", "$mp_submit", "$mp_input_change", "$mp_rage_click", "$mp_dead_click"),
        *("$mp_scroll", "$ae_iap"),
    )
)
"""Events of the library that are interactions of the visitor."""
FACTS: Mapping[str, str] = {
    "url": "$current_url",
    "title": "current_page_title",
    "referrer": "$referrer",
    "browser": "$browser",
    "browser_version": "$browser_version",
    "os": "$os",
    "os_version": "$os_version",
    "country": "mp_country_code",
    "region": "$region",
    "city": "$city",
    **{name: name for name in UTM_NAMES},
}
"""Our column → Mixpanel's property."""
OWN_PROPERTIES = frozenset(
    (
        *("time", "distinct_id", "token", "current_page_title", "current_domain"),
        *("current_url_path", "current_url_protocol", "current_url_search", *UTM_NAMES),
    )
)


def mixpanel_columns(line: Columns) -> Columns:
    """The visitor is the device, because `distinct_id` changes when a visitor logs in.

    `$insert_id` is unique together with the visitor and the time.
    """
    name, sent = parse_text(line["event"]), as_object(line["properties"])
    if name is None or "time" not in sent:
        raise InvalidLine("the line is not as Mixpanel exports it: it has no event or no time")
    if name.startswith("$") and name != PAGE_VIEW and name not in INTERACTIONS:
        refuse_own_event("Mixpanel", name, frozenset((name,)))
    distinct_id = parse_text(sent.get("distinct_id"))
    device = parse_text(sent.get("$device_id")) or _device_of(distinct_id)
    insert_id = sent.get("$insert_id")
    return {
        "timestamp": sent["time"],
        "event_name": "pageview" if name == PAGE_VIEW else name,
        "event_id": f"{insert_id}.{sent['time']}" if insert_id else None,
        "anonymous_id": device or distinct_id,
        "profile_id": sent.get("$user_id") or _profile_of(distinct_id, device),
        **{column: sent.get(member) for column, member in FACTS.items()},
        "screen_resolution": screen_size(sent.get("$screen_width"), sent.get("$screen_height")),
        "properties": {
            key: value
            for key, value in sent.items()
            if not key.startswith(("$", "mp_")) and key not in OWN_PROPERTIES
        },
    }


def _device_of(distinct_id: str | None) -> str | None:
    """The device in `$device:…`."""
    is_device = distinct_id is not None and distinct_id.startswith("$device:")
    return distinct_id.removeprefix("$device:") if distinct_id and is_device else None


def _profile_of(distinct_id: str | None, device: str | None) -> Any:
    """The `distinct_id` of a visitor who is known beside the device."""
    if device is None or distinct_id in (None, device, f"$device:{device}"):
        return None
    return distinct_id


FORMATS = (
    ExportFormat(
        "Mixpanel (raw export)",
        frozenset(("event", "properties")),
        mixpanel_columns,
        is_exact=True,
        note="projects that were created before 2023 export times of the project's time zone, "
        "which are read as UTC; its events belong to no visit",
    ),
)
