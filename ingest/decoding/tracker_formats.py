"""SHAPES: what trackers call an item (`type`), and the items of which kind it becomes.

One declaration per shape. A shape renames members and moves them; their values stay as they came.
"""

from collections.abc import Callable, Mapping

import msgspec
from msgspec import Raw, Struct

from ingest.decoding.field_aliases import JSON_NULL, RawFields
from schemas.items import METRICS
from schemas.kinds import (
    CUSTOM_EVENT,
    ERROR_REPORT,
    PAGE_ENGAGEMENT,
    VISITOR_IDENTITY,
    WEB_VITAL,
    Kind,
)

EVENT_NAME_ALIASES = ("eventName", "event_name")
VITAL_FIELDS = WEB_VITAL.item.__struct_encode_fields__
CLICK_ID_PARAMETERS = ("gclid", "msclkid", "fbclid", "ttclid", "li_fat_id", "twclid")
"""Members whose name is what the `click_id` column keeps."""


class InvalidItem(Exception):
    """The item is of no shape that is known; the message says why, in the sender's words."""


class TrackerFormat(Struct, frozen=True):
    """One way of writing items of a kind."""

    type: str
    kind: Kind
    to_items: Callable[[RawFields], list[RawFields]]
    """The items of the kind, under its wire names; Misshapen when there are none."""


def unchanged(fields: RawFields) -> list[RawFields]:
    """An item whose members are the kind's own."""
    return [fields]


def page_view(fields: RawFields) -> list[RawFields]:
    """A page view or another event of a page; its tracker cut the click ids off the path."""
    named = next((name for name in CLICK_ID_PARAMETERS if is_present(fields, name)), None)
    return [fields if named is None else {"clickId": json_string(named), **fields}]


def outbound_click(fields: RawFields) -> list[RawFields]:
    """An outbound click, which has a target instead of a name."""
    if not is_present(fields, "href"):
        raise InvalidItem("'href' is required")
    return [fields | {"name": json_string("outgoing_link")}]


def named_event(fields: RawFields) -> list[RawFields]:
    """An event that calls its name `eventName`."""
    if not any(is_present(fields, name) for name in ("name", *EVENT_NAME_ALIASES)):
        raise InvalidItem("'eventName' is required")
    return [
        {("name" if name in EVENT_NAME_ALIASES else name): value for name, value in fields.items()}
    ]


def web_vitals(fields: RawFields) -> list[RawFields]:
    """One measurement, or several in one item, as the first trackers sent them."""
    if is_present(fields, "metricName"):
        return [fields]
    found = [metric for metric in METRICS if is_present(fields, metric.lower())]
    if not found:
        raise InvalidItem(f"The item measures none of {', '.join(METRICS)}")
    return [_single_vital(fields, metric) for metric in found]


def _single_vital(fields: RawFields, metric: str) -> RawFields:
    """One of several measurements; each has an id of its own, or a retry would meet the others."""
    one = {name: value for name, value in fields.items() if name in VITAL_FIELDS}
    one |= {"metricName": json_string(metric), "metricValue": fields[metric.lower()]}
    if (given := string_field(fields, "eventId")) is not None:
        one["eventId"] = json_string(f"{given}:{metric}")
    return one


TRACKER_FORMATS: Mapping[str, TrackerFormat] = {
    shape.type: shape
    for shape in (
        TrackerFormat("track", CUSTOM_EVENT, page_view),
        TrackerFormat("custom", CUSTOM_EVENT, unchanged),
        TrackerFormat("outgoing_link", CUSTOM_EVENT, outbound_click),
        TrackerFormat("web_vitals", WEB_VITAL, web_vitals),
        TrackerFormat("error", ERROR_REPORT, unchanged),
        TrackerFormat("engagement", PAGE_ENGAGEMENT, unchanged),
        TrackerFormat("identify", VISITOR_IDENTITY, unchanged),
    )
}

NAMED_EVENT_FORMAT = TrackerFormat("custom_event", CUSTOM_EVENT, named_event)
"""What `/events` takes, whatever its `type`."""


def format_by_type(fields: RawFields) -> TrackerFormat:
    """The shape that an item says it is of; a page view when it says nothing."""
    if not is_present(fields, "type"):
        return TRACKER_FORMATS["track"]
    shape = TRACKER_FORMATS.get(string_field(fields, "type") or "")
    if shape is None:
        raise InvalidItem(f"Unknown event type; 'type' is one of {', '.join(TRACKER_FORMATS)}")
    return shape


def flatten_payload(fields: RawFields) -> RawFields:
    """An item together with what the first trackers put into its `payload`."""
    inner = fields.get("payload")
    if inner is None or bytes(inner)[:1] != b"{":
        return fields
    return {name: fields[name] for name in fields if name != "payload"} | _fields_decoder.decode(
        inner
    )


_fields_decoder = msgspec.json.Decoder(RawFields)


def is_present(fields: RawFields, name: str) -> bool:
    """Whether a member is there and is not null."""
    return name in fields and bytes(fields[name]) != JSON_NULL


def string_field(fields: RawFields, name: str) -> str | None:
    """A member that is a string."""
    raw = fields.get(name)
    if raw is None or bytes(raw)[:1] != b'"':
        return None
    try:
        return _string_decoder.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


_string_decoder = msgspec.json.Decoder(str)


def json_string(value: str) -> Raw:
    """A string as a member's value."""
    return Raw(msgspec.json.encode(value))
