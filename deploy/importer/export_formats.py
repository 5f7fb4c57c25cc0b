"""Exports of other products that need more than a name per column.

One declaration per format: the columns that identify it, and how a line becomes columns that
`fields.py` knows, or why its lines cannot be imported. The structures are those that the products
document or define in their sources: PostHog's batch exports, the BigQuery export of Google
Analytics 4, `website_event` of Umami and `events_v2` of Plausible, the latter two as ClickHouse or
PostgreSQL write them.
"""

import ast
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct

from deploy.importer.cell_values import InvalidLine, parse_boolean, parse_json, parse_text
from deploy.importer.software_names import parse_os_version

Columns = Mapping[str, Any]
"""The cells of one line by column."""

UTM_NAMES = ("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content")


def posthog_table_columns(line: Columns) -> Columns:
    """A row of the table of events in PostHog's interface, whose columns begin with `*.`."""
    return posthog_columns({name.removeprefix("*."): cell for name, cell in line.items()})


def posthog_columns(line: Columns) -> Columns:
    """Properties with `$` are facts of browser, place and page; the others are the event's own.

    The visitor is the device, because `distinct_id` changes when a visitor logs in.
    """
    _refuse_own_event("PostHog", line.get("event"), POSTHOG_OWN_EVENTS)
    sent = _object(line.get("properties")) | {
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
        "screen_resolution": _size(sent.get("$screen_width"), sent.get("$screen_height")),
        "viewport_size": _size(sent.get("$viewport_width"), sent.get("$viewport_height")),
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


def google_analytics_columns(line: Columns) -> Columns:
    """A row of the BigQuery export; a session is known by visitor and `ga_session_id` together."""
    _refuse_own_event("Google Analytics", line.get("event_name"), GA_OWN_EVENTS)
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


def umami_columns(line: Columns) -> Columns:
    """A row of `website_event`: its session is the visitor, and `distinct_id` the profile."""
    kind = parse_text(line.get("event_type"))
    if kind and kind in UMAMI_OTHER_TYPES:
        raise InvalidLine(f"this is no event of the website: Umami's {UMAMI_OTHER_TYPES[kind]}")
    columns = {name: cell for name, cell in line.items() if name not in UMAMI_UNUSED}
    if tag := parse_text(line.get("tag")):
        columns["properties"] = {"tag": tag}
    return columns | {"profile_id": line.get("distinct_id")}


UMAMI_OTHER_TYPES: Mapping[str, str] = {
    "3": "event type 3 is a click of a short link",
    "4": "event type 4 is a loaded pixel",
    "5": "event type 5 has load times of a page view",
}
UMAMI_UNUSED = ("distinct_id", "subdivision2", "tag")


def plausible_columns(line: Columns) -> Columns:
    """A row of `events_v2`; rows named `engagement` say how long a page was read.

    `referrer_source` is what the page's URL has as its source where there is no referrer.
    """
    if line.get("name") == "engagement":
        raise InvalidLine("this is no event: Plausible's 'engagement' belongs to the page view")
    columns = {name: cell for name, cell in line.items() if name not in PLAUSIBLE_UNUSED}
    keys, values = _list(line.get("meta.key")), _list(line.get("meta.value"))
    columns["properties"] = dict(zip(keys, values, strict=False)) | _revenue(line)
    if parse_text(line.get("referrer")) is None and parse_text(line.get("utm_source")) is None:
        columns["utm_source"] = line.get("referrer_source")
    return columns


PLAUSIBLE_UNUSED = frozenset(
    (
        *("meta.key", "meta.value", "referrer_source", "scroll_depth", "subdivision2_code"),
        *("revenue_source_amount", "revenue_source_currency"),
        *("revenue_reporting_amount", "revenue_reporting_currency"),
    )
)
"""`scroll_depth` is 255 on page views: it is known in rows named `engagement` only."""


def goatcounter_columns(line: Columns) -> Columns:
    """A row of the CSV export; the session is the visitor, who has no id beyond it.

    The path is the name of an event, and stands in a column that begins with the version.
    """
    version = next((name for name in line if GOATCOUNTER_PATH.fullmatch(name)), "")
    if not version.startswith("2"):
        raise InvalidLine(f"GoatCounter's export of version 2 can be read, not '{version}'")
    session, path = line["Session"], line[version]
    page = {"event_name": path} if parse_boolean(line["Event"]) else {"path": path}
    host = line["Referrer"] if line["Referrer scheme"] == "h" else None
    width, height, *_ = [*str(line.get("Screen size") or "").split(","), "", ""]
    browser, browser_version = _name_and_version(line.get("Browser"))
    os, os_version = _name_and_version(line.get("System"))
    country, _, region = (line.get("Location") or "").partition("-")
    return page | {
        "timestamp": line["Date"],
        "title": line.get("Title"),
        "anonymous_id": session,
        "session_id": session,
        "referrer": f"https://{host}" if host else None,
        "utm_source": line["Referrer"] if line["Referrer scheme"] == "c" else None,
        "browser": browser,
        "browser_version": browser_version,
        "os": os,
        "os_version": os_version,
        "screen_resolution": _size(width, height),
        "country": country,
        "region": f"{country}-{region}" if region else None,
        "is_bot": line.get("Bot") not in ("", "0", 0, None),
    }


GOATCOUNTER_PATH = re.compile(r"\d+,?Path")
NAME_AND_VERSION = re.compile(r"(.*?)\s+(\d[\d._]*)")


def _name_and_version(cell: Any) -> tuple[str | None, str | None]:
    """`Chrome 120` in its two parts."""
    text = parse_text(cell)
    found = NAME_AND_VERSION.fullmatch(text) if text else None
    return (found[1], found[2]) if found else (text, None)


def _revenue(line: Columns) -> dict[str, Any]:
    """Money of a goal, in the currency that was sent."""
    amount = parse_text(line.get("revenue_source_amount"))
    if amount is None:
        return {}
    return {"revenue": float(amount), "currency": line.get("revenue_source_currency")}


def _refuse_own_event(product: str, name: Any, own_events: frozenset[str]) -> None:
    """InvalidLine for an event that the product's library sends by itself."""
    if name in own_events:
        raise InvalidLine(f"this is no event of a visitor: {product} adds '{name}' by itself")


def _list(cell: Any) -> list[Any]:
    """A list, also as ClickHouse writes one into CSV: `['plan','size']`."""
    if not isinstance(cell, str) or not cell.startswith("["):
        return cell if isinstance(cell, list) else []
    try:
        value = ast.literal_eval(cell)
    except (SyntaxError, MemoryError, RecursionError):  # the last two: nested too deeply
        raise ValueError("a list cannot be read") from None
    return value if isinstance(value, list) else []


def _object(cell: Any) -> dict[str, Any]:
    """A record, also from JSON text; empty for anything else."""
    value = parse_json(cell) if isinstance(cell, str) and cell else cell
    return dict(value) if isinstance(value, dict) else {}


def _size(width: Any, height: Any) -> str | None:
    return f"{round(float(width))}x{round(float(height))}" if width and height else None


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


EXPORT_FORMATS = (
    ExportFormat("PostHog", frozenset(("distinct_id", "event", "timestamp")), posthog_columns),
    ExportFormat(
        "PostHog (table of events)",
        frozenset(("*.distinct_id", "*.event", "*.timestamp")),
        posthog_table_columns,
    ),
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
        "GoatCounter",
        frozenset(("Event", "Session", "Referrer scheme", "FirstVisit", "Date")),
        goatcounter_columns,
    ),
    ExportFormat(
        "Matomo (visits log as a table)",
        frozenset(("idVisit", "visitorId")),
        refusal="each line is a visit with several actions. Export it as JSON instead "
        "(method=Live.getLastVisitsDetails&format=JSON), and write one visit per line: "
        "jq -c '.[]' visits.json > visits.ndjson",
    ),
)
