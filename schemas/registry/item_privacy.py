"""Removes named properties, values of named query parameters, and ids from the JSON of an item.

The collector does so with received items, a replay with quarantined ones: the privacy of the
website may have changed since.
"""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from urllib.parse import unquote_to_bytes

import msgspec
from msgspec import Raw

from schemas.envelope import COUNTRY_HEADER
from schemas.items import Item
from schemas.registry.privacy import Privacy, names_pattern

ID_MEMBERS = ("anonymousId", "sessionId", "profileId", "traits")
OBJECT_MEMBERS = ("properties", "traits")
CAMPAIGN_MEMBERS = ("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content")
"""Parameters that trackers also send as members of the item."""

MAX_ENCODINGS = 9
"""How often the name of a parameter may be percent-encoded."""

_fields = msgspec.json.Decoder(dict[str, Raw])
_values = msgspec.json.Decoder(list[Raw])
_encode = msgspec.json.Encoder().encode


def without_ids(text: bytes, item: type[Item]) -> bytes:
    """The JSON of an item of this kind without ids; members that no kind has may be ids as well."""
    names = set(item.__struct_encode_fields__).difference(ID_MEMBERS)
    return _encode({name: raw for name, raw in _fields.decode(text).items() if name in names})


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


def private_headers(headers: Mapping[str, str], privacy: Privacy) -> dict[str, str]:
    """The headers of an envelope without what the privacy of its website leaves out."""
    headers = dict(headers)
    if privacy.location == "none":
        headers.pop(COUNTRY_HEADER, None)
    if privacy.never_store_query and "referer" in headers:
        referer = headers["referer"].encode()
        headers["referer"] = without_parameters(referer, privacy.never_store_query).decode()
    return headers


def without_parameters(text: bytes, names: tuple[str, ...]) -> bytes:
    """A text, or the JSON of one, whose URLs have no values of these query parameters."""
    lower = text.lower()
    if not (any(stem in lower for stem in _stems(names)) or _ENCODED.search(lower)):
        return text
    pieces, position = [], 0
    for parameter in _PARAMETER.finditer(text):
        if parameter.start() < position or not _is_named(parameter["name"], names):
            continue
        if value := _value(parameter["depth"]).match(text, parameter.end()):
            pieces.append(text[position : parameter.end()])
            position = value.end()
    return b"".join((*pieces, text[position:])) if pieces else text


@cache
def _stems(names: tuple[str, ...]) -> tuple[bytes, ...]:
    """The longest part of each name that is written alike everywhere."""
    parts = (re.findall(r"[a-z0-9]+", name.lower()) for name in names)
    return tuple(max(words, key=len, default="").encode() for words in parts)


_ENCODED = re.compile(rb"%(?:25)*(?:3[0-9]|[46][1-9a-f]|[57][0-9a])")
"""A letter or digit that is percent-encoded without need."""
_PARAMETER = re.compile(
    rb"""(?:[?&#;"]|%(?P<depth>(?:25){0,8})(?:3f|26|23))(?:amp;)?"""
    rb"""(?P<name>(?:(?!%(?:25){0,8}(?:3f|26|23))[^?&#;="'\s\\]){1,512}?)(?:=|%(?:25){0,8}3d)""",
    re.IGNORECASE,
)
"""A parameter up to its value, also in a URL that is a parameter's value itself: it is encoded once
for each URL around it. The name is looked at afterwards, so that no name makes this slow."""


@lru_cache(maxsize=16)
def _value(depth: bytes | None) -> re.Pattern[bytes]:
    """A value: only an `&` that is encoded as often as its parameter, or less often, ends it."""
    encoded = b"" if depth is None else rb"|%(?:" + depth + rb")?(?:26|23)"
    return re.compile(rb"""(?:\\\\|(?![&#"\s]|\\["nrt]""" + encoded + rb").)+", re.DOTALL)


@lru_cache(maxsize=4096)
def _is_named(name: bytes, names: tuple[str, ...]) -> bool:
    """Whether a parameter has one of these names, or is an array or object of that name."""
    for _ in range(MAX_ENCODINGS):
        name = unquote_to_bytes(name)
    text, pattern = name.decode(errors="replace"), names_pattern(names)
    if pattern.fullmatch(text):
        return True
    return "[" in text and pattern.fullmatch(text.partition("[")[0]) is not None


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
        members = {
            name: _without_members(value, names)
            for name, value in _fields.decode(raw).items()
            if not names.fullmatch(name)
        }
        return Raw(_encode(members))
    if first == b"[":
        return Raw(_encode([_without_members(value, names) for value in _values.decode(raw)]))
    return raw


def _without_campaigns(text: bytes, names: re.Pattern[str]) -> bytes:
    left_out = [name for name in CAMPAIGN_MEMBERS if names.fullmatch(name)]
    if not left_out:
        return text
    fields = _fields.decode(text)
    return _encode({n: v for n, v in fields.items() if n not in left_out})
