"""Amplitude: the Export API (`/api/2/export`, a zip of `*.json.gz`)."""

import re

from deploy.importer.formats.cell_values import parse_session, parse_text
from deploy.importer.formats.export_format import (
    UTM_NAMES,
    Columns,
    ExportFormat,
    as_object,
    refuse_own_event,
)
from deploy.importer.formats.software_names import OS_NAMES, parse_os

PAGE_VIEW = "[Amplitude] Page Viewed"
OWN_EVENTS = frozenset(
    (
        *("session_start", "session_end", "$identify", "$groupidentify", "$exposure"),
        *("[Amplitude] Start Session", "[Amplitude] End Session", "[Experiment] Exposure"),
        *("[Amplitude] Replay Captured", "[Amplitude] Web Vitals"),
        *("[Amplitude] Network Request", "[Amplitude] Error Logged"),
    )
)
"""Events that the library sends by itself: with them no visit would be a bounce."""
PAGE_MEMBERS = frozenset(
    f"[Amplitude] Page {name}" for name in ("Domain", "Location", "Path", "Title", "URL")
)
LANGUAGE_CODE = re.compile(r"[a-z]{2,3}([-_]\w+)?", re.IGNORECASE)


def amplitude_columns(line: Columns) -> Columns:
    """The visitor is the device; `event_id` counts per device, so the event is known by `uuid`.

    Session ids are times of their beginning, which devices share. On the web `os_name` is the
    browser, and the system stands in `device_family`.
    """
    name = parse_text(line.get("event_type"))
    refuse_own_event("Amplitude", name, OWN_EVENTS)
    sent = as_object(line.get("event_properties"))
    device = next(
        (id_ for key in ("device_id", "user_id", "amplitude_id") if (id_ := line.get(key))), None
    )
    session = parse_session(line.get("session_id"))
    is_web = line.get("platform") == "Web"
    system = parse_os(line.get("device_family"))
    language = parse_text(line.get("language")) or ""
    return {
        "timestamp": line.get("event_time"),
        "event_name": "pageview" if name == PAGE_VIEW else name,
        "event_id": line.get("uuid"),
        "anonymous_id": device,
        "profile_id": line.get("user_id"),
        "session_id": f"{device}.{session}" if session else None,
        "url": sent.get("[Amplitude] Page Location") or sent.get("[Amplitude] Page URL"),
        "title": sent.get("[Amplitude] Page Title"),
        "referrer": sent.get("referrer"),
        "browser": line.get("os_name") if is_web else None,
        "browser_version": line.get("os_version") if is_web else None,
        "os": (system if system in KNOWN_SYSTEMS else None) if is_web else line.get("os_name"),
        "os_version": None if is_web else line.get("os_version"),
        "country": line.get("country"),
        "region": line.get("region"),
        "city": line.get("city"),
        "language": language if LANGUAGE_CODE.fullmatch(language) else None,
        **{name: sent.get(name) for name in UTM_NAMES},
        "properties": {
            REVENUE.get(key, key): value
            for key, value in sent.items()
            if key not in PAGE_MEMBERS and key not in UTM_NAMES and key != "referrer"
        },
    }


KNOWN_SYSTEMS = frozenset(("Windows", *OS_NAMES))
REVENUE = {"$revenue": "revenue", "$price": "price", "$quantity": "quantity"} | {
    "$productId": "product_id"
}

FORMATS = (
    ExportFormat(
        "Amplitude", frozenset(("event_type", "event_time", "amplitude_id")), amplitude_columns
    ),
)
