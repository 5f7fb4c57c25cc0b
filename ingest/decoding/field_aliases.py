"""Both spellings of a field: `anonymous_id` does for `anonymousId`, `utmSource` for `utm_source`.

Declared once, for all routes and kinds: the other spelling of each wire name is made from the name.
What travels on has the contract's names only.
"""

import re
from collections.abc import Mapping
from functools import cache

import msgspec
from msgspec import Raw

from schemas.items import Engagement, ErrorReport, Item, Vital

RawFields = dict[str, Raw]
"""The members of an item, each value as it came."""

SentNames = Mapping[str, str]
"""The sender's name of a member by its wire name, where they differ."""

NO_RENAMES: SentNames = {}

JSON_NULL = b"null"

_fields_decoder = msgspec.json.Decoder(RawFields)
_encode = msgspec.json.Encoder().encode


def alias_of(name: str) -> str:
    """The name in snake case when it is in camel case, and the other way round."""
    if "_" in name:
        head, *rest = name.split("_")
        return head + "".join(word.capitalize() for word in rest)
    return re.sub(r"[A-Z]", lambda found: f"_{found[0].lower()}", name)


LEGACY_NAMES: Mapping[type[Item], Mapping[str, str]] = {
    item: {"url": "path"} for item in (Vital, ErrorReport, Engagement)
}
"""What the first trackers called a member. Events may have a `url` that is not their page."""


@cache
def aliases_of(item: type[Item]) -> Mapping[str, str]:
    """The wire name for each other spelling of one, and for its old name."""
    names = item.__struct_encode_fields__
    found = {alias_of(name): name for name in names if alias_of(name) not in names}
    return {**found, **LEGACY_NAMES.get(item, {})}


def with_wire_names(fields: RawFields, names: Mapping[str, str]) -> RawFields:
    """The same members under their wire names; where both spellings say something, those win."""
    if not names.keys() & fields.keys():
        return fields
    found = {name: value for name, value in fields.items() if name not in names}
    for spelled, name in names.items():
        if spelled in fields and bytes(found.get(name, JSON_NULL)) == JSON_NULL:
            found[name] = fields[spelled]
    return found


def with_wire_names_json(text: bytes, names: Mapping[str, str]) -> bytes:
    """An item's JSON with wire names; what is no object is left as it came."""
    try:
        fields = _fields_decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return text
    found = with_wire_names(fields, names)
    return text if found is fields else encode_fields(found)


def sent_names_in_json(text: bytes, names: Mapping[str, str]) -> SentNames:
    """How the sender named the members of an item's JSON."""
    try:
        fields = _fields_decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return NO_RENAMES
    return sent_names(fields, with_wire_names(fields, names))


def sent_names(sent: RawFields, made: RawFields) -> SentNames:
    """How the sender named the members: what was renamed still has the very value that came."""
    came = {id(value): name for name, value in sent.items()}
    return {name: came[id(value)] for name, value in made.items() if id(value) in came}


def encode_fields(fields: RawFields) -> bytes:
    """The item's JSON."""
    return _encode(fields)
