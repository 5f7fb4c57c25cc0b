"""SHAPES: what trackers call an item (`type`), and the items of which kind it becomes.

One declaration per shape. A shape renames members and moves them; their values stay as they came.
"""

from collections.abc import Callable, Mapping

import msgspec
from msgspec import Raw, Struct

from ingest.decoding.field_aliases import NULL, Fields
from schemas.items import METRICS
from schemas.kinds import CUSTOM_EVENT, ENGAGED, ERROR_REPORT, IDENTIFIED, VITAL, Kind

EVENT_NAME = ("eventName", "event_name")
OF_VITALS = VITAL.item.__struct_encode_fields__
CLICK_IDS = ("gclid", "msclkid", "fbclid", "ttclid", "li_fat_id", "twclid")
"""Members whose name is what the `click_id` column keeps."""


class Misshapen(Exception):
    """The item is of no shape that is known; the message says why, in the sender's words."""


class Shape(Struct, frozen=True):
    """One way of writing items of a kind."""

    type: str
    kind: Kind
    made: Callable[[Fields], list[Fields]]
    """The items of the kind, under its wire names; Misshapen when there are none."""


def as_it_is(fields: Fields) -> list[Fields]:
    """An item whose members are the kind's own."""
    return [fields]


def a_view(fields: Fields) -> list[Fields]:
    """A page view or another event of a page; its tracker cut the click ids off the path."""
    named = next((name for name in CLICK_IDS if there(fields, name)), None)
    return [fields if named is None else {"clickId": text(named), **fields}]


def a_click_away(fields: Fields) -> list[Fields]:
    """An outbound click, which has a target instead of a name."""
    if not there(fields, "href"):
        raise Misshapen("'href' is required")
    return [fields | {"name": text("outgoing_link")}]


def a_named_event(fields: Fields) -> list[Fields]:
    """An event that calls its name `eventName`."""
    if not any(there(fields, name) for name in ("name", *EVENT_NAME)):
        raise Misshapen("'eventName' is required")
    return [{("name" if name in EVENT_NAME else name): value for name, value in fields.items()}]


def measurements(fields: Fields) -> list[Fields]:
    """One measurement, or several in one item, as the first trackers sent them."""
    if there(fields, "metricName"):
        return [fields]
    found = [metric for metric in METRICS if there(fields, metric.lower())]
    if not found:
        raise Misshapen(f"The item measures none of {', '.join(METRICS)}")
    return [_measured(fields, metric) for metric in found]


def _measured(fields: Fields, metric: str) -> Fields:
    """One of several measurements; each has an id of its own, or a retry would meet the others."""
    one = {name: value for name, value in fields.items() if name in OF_VITALS}
    one |= {"metricName": text(metric), "metricValue": fields[metric.lower()]}
    if (given := said(fields, "eventId")) is not None:
        one["eventId"] = text(f"{given}:{metric}")
    return one


SHAPES: Mapping[str, Shape] = {
    shape.type: shape
    for shape in (
        Shape("track", CUSTOM_EVENT, a_view),
        Shape("custom", CUSTOM_EVENT, as_it_is),
        Shape("outgoing_link", CUSTOM_EVENT, a_click_away),
        Shape("web_vitals", VITAL, measurements),
        Shape("error", ERROR_REPORT, as_it_is),
        Shape("engagement", ENGAGED, as_it_is),
        Shape("identify", IDENTIFIED, as_it_is),
    )
}

NAMED_EVENT = Shape("custom_event", CUSTOM_EVENT, a_named_event)
"""What `/events` takes, whatever its `type`."""


def by_type(fields: Fields) -> Shape:
    """The shape that an item says it is of; a page view when it says nothing."""
    if not there(fields, "type"):
        return SHAPES["track"]
    shape = SHAPES.get(said(fields, "type") or "")
    if shape is None:
        raise Misshapen(f"Unknown event type; 'type' is one of {', '.join(SHAPES)}")
    return shape


def laid_open(fields: Fields) -> Fields:
    """An item together with what the first trackers put into its `payload`."""
    inner = fields.get("payload")
    if inner is None or bytes(inner)[:1] != b"{":
        return fields
    return {name: fields[name] for name in fields if name != "payload"} | _fields.decode(inner)


_fields = msgspec.json.Decoder(Fields)


def there(fields: Fields, name: str) -> bool:
    """Whether a member is there and is not null."""
    return name in fields and bytes(fields[name]) != NULL


def said(fields: Fields, name: str) -> str | None:
    """A member that is a string."""
    raw = fields.get(name)
    if raw is None or bytes(raw)[:1] != b'"':
        return None
    try:
        return _text.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


_text = msgspec.json.Decoder(str)


def text(value: str) -> Raw:
    """A string as a member's value."""
    return Raw(msgspec.json.encode(value))
