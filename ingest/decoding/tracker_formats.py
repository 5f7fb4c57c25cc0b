"""TRACKER_FORMATS: the item types of public trackers, and how each maps to our items.

One declaration per format. A format renames and moves fields; it does not change their values.
"""

from collections.abc import Callable, Mapping

import msgspec
from msgspec import Raw, Struct

from ingest.decoding.field_aliases import JSON_NULL, RawFields
from schemas.kinds import CUSTOM_EVENT, KINDS, WEB_VITAL, Kind
from schemas.tables.vitals import METRICS

EVENT_NAME_ALIASES = ("eventName", "event_name")
VITAL_FIELDS = WEB_VITAL.item.__struct_encode_fields__
CLICK_ID_PARAMETERS = ("gclid", "msclkid", "fbclid", "ttclid", "li_fat_id", "twclid")
"""Fields whose name is stored in the column `click_id`."""


class InvalidItem(Exception):
    """The item fits no tracker format; the message says why, with the field names of the sender."""


class TrackerFormat(Struct, frozen=True):
    """How one item type of a tracker maps to a kind."""

    type: str
    kind: Kind
    to_items: Callable[[RawFields], list[RawFields]]
    """Convert the fields into items of the kind, with its wire names; InvalidItem if impossible."""
    reads: tuple[str, ...] = ()
    """Names that it reads beside the fields of the kind."""

    @property
    def members(self) -> frozenset[str]:
        """Names beside the fields of the kind that an item of this format may have."""
        return frozenset((*self.reads, "type"))


def unchanged(fields: RawFields) -> list[RawFields]:
    """An item that has the fields of its kind already."""
    return [fields]


def page_view(fields: RawFields) -> list[RawFields]:
    """A page view or other page event; its tracker sends click ids apart from the path."""
    click_id = next((name for name in CLICK_ID_PARAMETERS if is_present(fields, name)), None)
    return [fields if click_id is None else {"clickId": json_string(click_id), **fields}]


def outbound_click(fields: RawFields) -> list[RawFields]:
    """An outbound click, which has `href` instead of a name."""
    if not is_present(fields, "href"):
        raise InvalidItem("'href' is required")
    return [fields | {"name": json_string("outgoing_link")}]


def named_event(fields: RawFields) -> list[RawFields]:
    """An event with its name in `eventName`."""
    if not any(is_present(fields, name) for name in ("name", *EVENT_NAME_ALIASES)):
        raise InvalidItem("'eventName' is required")
    return [
        {("name" if name in EVENT_NAME_ALIASES else name): value for name, value in fields.items()}
    ]


def web_vitals(fields: RawFields) -> list[RawFields]:
    """One metric, or several metrics in one item, as the first trackers sent them."""
    if is_present(fields, "metricName"):
        return [fields]
    metrics = [metric for metric in METRICS if is_present(fields, metric.lower())]
    if not metrics:
        raise InvalidItem(f"The item has none of the metrics {', '.join(METRICS)}")
    return [_single_vital(fields, metric) for metric in metrics]


def _single_vital(fields: RawFields, metric: str) -> RawFields:
    """One of several metrics, with an event id of its own: equal ids would count as duplicates."""
    vital = {name: value for name, value in fields.items() if name in VITAL_FIELDS}
    vital |= {"metricName": json_string(metric), "metricValue": fields[metric.lower()]}
    if (event_id := string_field(fields, "eventId")) is not None:
        vital["eventId"] = json_string(f"{event_id}:{metric}")
    return vital


TRACKER_FORMATS: Mapping[str, TrackerFormat] = {
    tracker_format.type: tracker_format
    for tracker_format in (
        TrackerFormat("track", CUSTOM_EVENT, page_view, CLICK_ID_PARAMETERS),
        TrackerFormat("custom", CUSTOM_EVENT, unchanged),
        TrackerFormat("outgoing_link", CUSTOM_EVENT, outbound_click),
        TrackerFormat("web_vitals", WEB_VITAL, web_vitals, tuple(map(str.lower, METRICS))),
        *(TrackerFormat(kind.tracker_type, kind, unchanged) for kind in KINDS if kind.tracker_type),
    )
}

NAMED_EVENT_FORMAT = TrackerFormat("custom_event", CUSTOM_EVENT, named_event)
"""The format of every item of `/events`, whatever its `type`."""


def format_by_type(fields: RawFields) -> TrackerFormat:
    """The format by the `type` of an item; a page view without one."""
    if not is_present(fields, "type"):
        return TRACKER_FORMATS["track"]
    tracker_format = TRACKER_FORMATS.get(string_field(fields, "type") or "")
    if tracker_format is None:
        raise InvalidItem(f"Unknown event type; 'type' is one of {', '.join(TRACKER_FORMATS)}")
    return tracker_format


def flatten_payload(fields: RawFields) -> RawFields:
    """Merge the fields of `payload`, where the first trackers put them, into the item."""
    inner = fields.get("payload")
    if inner is None or bytes(inner)[:1] != b"{":
        return fields
    return {name: fields[name] for name in fields if name != "payload"} | _fields_decoder.decode(
        inner
    )


_fields_decoder = msgspec.json.Decoder(RawFields)


def is_present(fields: RawFields, name: str) -> bool:
    """Whether a field is present and not null."""
    return name in fields and bytes(fields[name]) != JSON_NULL


def string_field(fields: RawFields, name: str) -> str | None:
    """The value of a field that is a string; else None."""
    raw = fields.get(name)
    if raw is None or bytes(raw)[:1] != b'"':
        return None
    try:
        return _string_decoder.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


_string_decoder = msgspec.json.Decoder(str)


def json_string(value: str) -> Raw:
    """A string as raw JSON."""
    return Raw(msgspec.json.encode(value))
