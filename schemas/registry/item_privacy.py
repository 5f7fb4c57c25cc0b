"""Leaves named properties, values of named query parameters, and ids out of the JSON of an item.

The collector does so with what it receives, a replay with what the quarantine has: the privacy of
the website may have changed since.
"""

import re
from collections.abc import Iterator
from functools import cache

import msgspec
from msgspec import Raw

from schemas.items import Item
from schemas.registry.privacy import Privacy, names_pattern

ID_MEMBERS = ("anonymousId", "sessionId", "profileId", "traits")
OBJECT_MEMBERS = ("properties", "traits")
CAMPAIGN_MEMBERS = ("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content")
"""Parameters that trackers also send as members of the item."""

_fields = msgspec.json.Decoder(dict[str, Raw])
_values = msgspec.json.Decoder(list[Raw])
_encode = msgspec.json.Encoder().encode


def without_ids(text: bytes, item: type[Item]) -> bytes:
    """The JSON of an item of this kind without ids; members that no kind has may be ids as well."""
    kept = set(item.__struct_encode_fields__).difference(ID_MEMBERS)
    return _encode({name: raw for name, raw in _fields.decode(text).items() if name in kept})


def without_names(text: bytes, privacy: Privacy) -> bytes:
    """The JSON of an item without the properties and values that its website never stores."""
    if privacy.never_store_properties:
        text = _without_properties(text, names_pattern(privacy.never_store_properties))
    if privacy.never_store_query:
        if b"\\u" in text:  # as some senders write every character beyond ASCII
            text = _encode(msgspec.json.decode(text))
        text = without_parameters(text, privacy.never_store_query)
        text = _without_campaigns(text, names_pattern(privacy.never_store_query))
    return text


def without_parameters(text: bytes, names: tuple[str, ...]) -> bytes:
    """A text, or the JSON of one, whose URLs have no values of these query parameters."""
    lower = text.lower()
    if not (any(stem in lower for stem in _stems(names)) or _ENCODED.search(lower)):
        return text
    return _parameters(names).sub(rb"\g<begin>", text)


@cache
def _stems(names: tuple[str, ...]) -> tuple[bytes, ...]:
    """The longest part of each name that is written alike everywhere."""
    parts = (re.findall(r"[a-z0-9]+", name.lower()) for name in names)
    return tuple(max(found, key=len, default="").encode() for found in parts)


_ENCODED = re.compile(rb"%(?:25)*(?:3[0-9]|[46][1-9a-f]|[57][0-9a])")
"""A letter or digit that is percent-encoded without need."""


@cache
def _parameters(names: tuple[str, ...]) -> re.Pattern[bytes]:
    """Parameters with these names, also in URLs that are a parameter's value themselves.

    Those are encoded once for each URL around them: only an `&` encoded as often ends their value.
    """
    name = "|".join("".join(_name_parts(each)) for each in names)
    index = r"(?:(?:\[|%(?:25)*5b)[^=&\"\s]{0,128}?(?:\]|%(?:25)*5d))*"
    opening = r'[?&#;"]|(?P<nested>%(?P<depth>(?:25)*)(?:3f|26|23))'
    begin = rf"(?P<begin>(?:{opening})(?:amp;)?(?:{name}){index}(?:=|%(?:25)*3d))"
    end = r'[&#"\s]|\\["nrt]'
    value = rf"(?:\\\\|(?!{end}|(?(nested)%(?:(?P=depth))?(?:26|23)|(?!))).)+"
    return re.compile((begin + value).encode(), re.IGNORECASE | re.DOTALL)


def _name_parts(name: str) -> Iterator[str]:
    for character in name:
        if character == "*":
            yield r"""[^?&#;="'\s\\]{0,128}?"""
            continue
        cases = dict.fromkeys((character, character.lower(), character.upper()))
        encoded = ("".join(f"%(?:25)*{byte:02x}" for byte in case.encode()) for case in cases)
        yield f"(?:{'|'.join((*map(re.escape, cases), *encoded))})"


def _without_properties(text: bytes, names: re.Pattern[str]) -> bytes:
    fields = _fields.decode(text)
    for member in OBJECT_MEMBERS:
        if member in fields:
            fields[member] = _without_members(fields[member], names)
    return _encode(fields)


def _without_members(raw: Raw, names: re.Pattern[str]) -> Raw:
    """A JSON value whose objects, at any depth, have no members with these names."""
    first = bytes(raw)[:1]
    if first == b"{":
        members = _fields.decode(raw).items()
        kept = {n: _without_members(v, names) for n, v in members if not names.fullmatch(n)}
        return Raw(_encode(kept))
    if first == b"[":
        return Raw(_encode([_without_members(value, names) for value in _values.decode(raw)]))
    return raw


def _without_campaigns(text: bytes, names: re.Pattern[str]) -> bytes:
    left_out = [name for name in CAMPAIGN_MEMBERS if names.fullmatch(name)]
    if not left_out:
        return text
    fields = _fields.decode(text)
    return _encode({n: v for n, v in fields.items() if n not in left_out})
