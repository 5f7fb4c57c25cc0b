"""Matomo: the visits log (`Live.getLastVisitsDetails`), one record per visit with its actions.

Each action becomes a line with columns of `fields.py`.
"""

import re
from collections.abc import Iterator, Mapping
from html import unescape
from typing import Any

from deploy.importer.formats.cell_values import InvalidLine
from deploy.importer.formats.export_format import ExportFormat

VISIT_COLUMNS = frozenset(("idVisit", "visitorId", "actionDetails"))
UNKNOWN_WORDS = frozenset(("", "unknown", "xx", "unk"))
"""Values that Matomo writes for unknown facts."""
DERIVED_ACTIONS = frozenset(("goal", "ecommerceAbandonedCart"))
"""Entries that Matomo derives from other actions of the visit."""

ACTION_COLUMN = re.compile(r"actionDetails_(\d+)_(\w+)")
"""A column of a table: number and member of an action."""

VISIT_FACTS: Mapping[str, str] = {
    "session_id": "idVisit",
    "visitor_id": "visitorId",
    "profile_id": "userId",
    "browser": "browserName",
    "browser_version": "browserVersion",
    "os": "operatingSystemName",
    "os_version": "operatingSystemVersion",
    "device_type": "deviceType",
    "country": "countryCode",
    "region": "region",
    "city": "city",
    "language": "languageCode",
    "screen_resolution": "resolution",
}
"""Our column → Matomo's member of the visit."""

SOURCE_FACTS: Mapping[str, str] = {
    "referrer": "referrerUrl",
    "utm_source": "campaignSource",
    "utm_medium": "campaignMedium",
    "utm_campaign": "campaignName",
    "utm_term": "campaignKeyword",
    "utm_content": "campaignContent",
}
"""Our column → Matomo's member of the visit; the campaign members come from its plugin."""

ACTION_PROPERTIES: Mapping[str, Mapping[str, str]] = {
    "event": {"category": "eventCategory", "name": "eventName", "value": "eventValue"},
    "download": {"url": "url"},
    "outlink": {"url": "url"},
    "search": {
        "keyword": "siteSearchKeyword",
        "category": "siteSearchCategory",
        "count": "siteSearchCount",
    },
    "ecommerceOrder": {"order_id": "orderId", "revenue": "revenue", "items": "items"},
}
"""Type of action → property of the event → Matomo's member of the action."""
EVENT_NAMES: Mapping[str, str] = {
    "download": "file_download",
    "outlink": "outbound_click",
    "search": "site_search",
    "ecommerceOrder": "order",
}
"""Type of action → name of the event; an `event` has the name of its action."""
NUMBERS = frozenset(("value", "revenue", "items", "count"))


def is_visit(record: Mapping[str, Any]) -> bool:
    """Whether a line is a visit with its actions."""
    return record.keys() >= VISIT_COLUMNS


def unflattened(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """A visit of a table, whose columns are `actionDetails_0_url` and so on, with its actions."""
    if "idVisit" not in record or "actionDetails" in record:
        return record
    actions: dict[int, dict[str, Any]] = {}
    for column, cell in record.items():
        if (match := ACTION_COLUMN.fullmatch(column)) and cell not in ("", None):
            actions.setdefault(int(match[1]), {})[match[2]] = cell
    details = [actions[position] for position in sorted(actions) if "type" in actions[position]]
    return {**record, "actionDetails": details} if details else record


def actions_of(visit: Mapping[str, Any]) -> Iterator[Mapping[str, Any] | InvalidLine]:
    """The actions of a visit in order; the reason where an entry is no action."""
    entries = visit["actionDetails"]
    if not isinstance(entries, list):
        yield InvalidLine("'actionDetails' of the visit is not a list of actions")
        return
    source = _source(visit)
    for entry in entries:
        if not isinstance(entry, dict):
            yield InvalidLine("an entry of 'actionDetails' is not an action")
            continue
        kind = str(entry.get("type"))
        if kind in DERIVED_ACTIONS:
            yield InvalidLine(f"this is no event: Matomo derives '{kind}' from other actions")
            continue
        yield {**_facts(visit), **_action(kind, entry), **source}
        if kind == "action":
            source = {}


def _facts(visit: Mapping[str, Any]) -> dict[str, Any]:
    return {
        column: value
        for column, member in VISIT_FACTS.items()
        if (value := visit.get(member)) and str(value).lower() not in UNKNOWN_WORDS
    }


def _source(visit: Mapping[str, Any]) -> dict[str, Any]:
    """Where the visit came from, which its first page view has."""
    source = {column: visit.get(member) for column, member in SOURCE_FACTS.items()}
    if visit.get("referrerType") == "campaign":
        source["utm_campaign"] = source["utm_campaign"] or visit.get("referrerName")
        source["utm_term"] = source["utm_term"] or visit.get("referrerKeyword")
    return {column: value for column, value in source.items() if value}


def _action(kind: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Time, page and name of the action; titles come with HTML entities."""
    columns: dict[str, Any] = {
        "timestamp": entry.get("timestamp"),
        "url": str(entry.get("url") or "").replace("&amp;", "&") or None,
        "title": unescape(str(entry.get("pageTitle") or "")) or None,
    }
    if kind == "action":
        return columns
    named = str(entry.get("eventAction") or kind) if kind == "event" else kind
    columns["event_name"] = EVENT_NAMES.get(kind, named)
    columns["properties"] = {
        name: _number(value) if name in NUMBERS else value
        for name, member in ACTION_PROPERTIES.get(kind, {}).items()
        if (value := entry.get(member)) not in (None, "", False)
    }
    if kind in ("download", "outlink"):  # `url` is the target: the page of the click is missing
        del columns["url"]
    return columns


def _number(value: Any) -> Any:
    """A number that Matomo has written as text."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return value
    return int(number) if number.is_integer() else number


FORMATS = (
    ExportFormat(
        "Matomo (visits log as a table)",
        frozenset(("idVisit", "visitorId")),
        refusal="its columns name no types of actions (actionDetails_0_type). Export it as JSON "
        "(method=Live.getLastVisitsDetails&format=JSON), and write one visit per line: "
        "jq -c '.[]' visits.json > visits.ndjson",
    ),
)
