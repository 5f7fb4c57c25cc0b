"""Field aliases: snake_case for camelCase names and the reverse, legacy and other products' names.

`anonymous_id` is an alias of `anonymousId`, `utmSource` of `utm_source`. The aliases are derived
from the wire names, for all routes and kinds. Published items have wire names only.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache

import msgspec
from msgspec import Raw

from schemas.items import DAY_SECONDS, Item
from schemas.tables.engagement import Engagement
from schemas.tables.errors import ErrorReport
from schemas.tables.events import CustomEvent
from schemas.tables.vitals import Vital

RawFields = dict[str, Raw]
"""The fields of an item, with their values as raw JSON."""

SentNames = Mapping[str, str]
"""The name that the sender used for a field, by wire name, where they differ."""

NO_RENAMES: SentNames = {}

JSON_NULL = b"null"

A_DAY = Raw(b"%d" % DAY_SECONDS)

_fields_decoder = msgspec.json.Decoder(RawFields)
_encode = msgspec.json.Encoder().encode


def alias_of(name: str) -> str:
    """snake_case for a camelCase name, and the reverse."""
    if "_" in name:
        head, *rest = name.split("_")
        return head + "".join(word.capitalize() for word in rest)
    return re.sub(r"[A-Z]", lambda capital: f"_{capital[0].lower()}", name)


LEGACY_NAMES: Mapping[type[Item], Mapping[str, str]] = {
    item: {"url": "path"} for item in (Vital, ErrorReport, Engagement)
}
"""Field names of the first trackers. Not for events: their `url` need not be their page."""


OTHER_PRODUCTS_NAMES: Mapping[str, str] = {
    "props": "properties",  # Plausible
    "event_properties": "properties",  # Amplitude
    "eventProperties": "properties",
    "event": "name",  # Segment, PostHog, Mixpanel
    "event_name": "name",
    "eventName": "name",
}
"""Field names of other products' events whose meaning is certain."""


@cache
def aliases_of(item: type[Item]) -> Mapping[str, str]:
    """Wire names by alias, by legacy name and, for events, by other products' names."""
    names = item.__struct_encode_fields__
    aliases = {alias_of(name): name for name in names if alias_of(name) not in names}
    others = OTHER_PRODUCTS_NAMES if issubclass(item, CustomEvent) else {}
    return {**aliases, **LEGACY_NAMES.get(item, {}), **others}


def with_wire_names(fields: RawFields, names: Mapping[str, str]) -> RawFields:
    """The fields under their wire names; a wire name wins over its alias unless it is null."""
    if not names.keys() & fields.keys():
        return fields
    wire_fields = {name: value for name, value in fields.items() if name not in names}
    for alias, name in names.items():
        if alias in fields and bytes(wire_fields.get(name, JSON_NULL)) == JSON_NULL:
            wire_fields[name] = fields[alias]
    return wire_fields


def with_wire_names_json(text: bytes, names: Mapping[str, str]) -> bytes:
    """The JSON of an item with wire names; anything but an object is returned unchanged."""
    try:
        fields = _fields_decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return text
    wire_fields = with_wire_names(fields, names)
    return text if wire_fields is fields else encode_fields(wire_fields)


def sent_names_in_json(text: bytes, names: Mapping[str, str]) -> SentNames:
    """The field names that the sender used in the JSON of an item."""
    try:
        fields = _fields_decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return NO_RENAMES
    return sent_names(fields, with_wire_names(fields, names))


def sent_names(sent: RawFields, wire_fields: RawFields) -> SentNames:
    """The field names that the sender used: renaming keeps the identity of each raw value."""
    sent_by_identity = {id(value): name for name, value in sent.items()}
    return {
        name: sent_by_identity[id(value)]
        for name, value in wire_fields.items()
        if id(value) in sent_by_identity
    }


def with_short_durations(text: bytes, names: Sequence[str]) -> bytes:
    """The JSON of an item with these times cut to a day; without longer ones unchanged."""
    try:
        fields = _fields_decoder.decode(text)
        long = [name for name in names if name in fields and _is_long(fields[name])]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return text
    return encode_fields(fields | dict.fromkeys(long, A_DAY)) if long else text


def _is_long(value: Raw) -> bool:
    seconds = msgspec.json.decode(value)
    return type(seconds) in (int, float) and seconds > DAY_SECONDS


def encode_fields(fields: RawFields) -> bytes:
    """The JSON of an item."""
    return _encode(fields)
