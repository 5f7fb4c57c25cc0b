"""PrivacyFilter: leaves out of the items of a request what the privacy of their website names.

Items lose their ids, or are dropped and only counted, by a header of the request or without
consent. Named properties and the values of named query parameters are removed from their JSON.
E-mail addresses, tokens and card numbers are masked by the stream, where texts repeat.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Self

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from ingest.decoding.field_aliases import RawFields, encode_fields
from ingest.decoding.request_head import RequestHead
from schemas.items import Item
from schemas.registry.privacy import (
    DEFAULT_PRIVACY,
    DO_NOT_TRACK,
    GLOBAL_PRIVACY_CONTROL,
    NO_CONSENT,
    Privacy,
    Signal,
    names_pattern,
)
from schemas.tables.events import CustomEvent
from schemas.tables.identities import Identity

ID_MEMBERS = ("anonymousId", "sessionId", "profileId", "traits")
OBJECT_MEMBERS = ("properties", "traits")
CAMPAIGN_MEMBERS = ("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content")
"""Parameters that trackers also send as members of the item."""

_fields = msgspec.json.Decoder(RawFields)
_values = msgspec.json.Decoder(list[Raw])
_encode = msgspec.json.Encoder().encode


class PrivacyFilter(Struct, frozen=True, gc=False):
    """What the privacy of one website does to the items of one request."""

    privacy: Privacy
    signal: Signal = "ignore"
    """What the headers of the request ask for, as the website answers it."""
    reason: str = ""
    """The drop reason of that signal."""

    @classmethod
    def of(cls, privacy: Privacy, head: RequestHead) -> Self:
        """The filter of a request; a drop wins over counting without ids."""
        answers: list[tuple[Signal, str]] = []
        if head.do_not_track:
            answers.append((privacy.do_not_track, DO_NOT_TRACK))
        if head.global_privacy_control:
            answers.append((privacy.global_privacy_control, GLOBAL_PRIVACY_CONTROL))
        for wanted in ("drop", "anonymous"):
            for signal, reason in answers:
                if signal == wanted:
                    return cls(privacy, signal, reason)
        return cls(privacy)

    @property
    def leaves_all(self) -> bool:
        """Whether no item can be changed or dropped."""
        privacy = self.privacy
        return not (
            self.signal != "ignore"
            or privacy.consent == "required"
            or privacy.never_store_properties
            or privacy.never_store_query
        )

    def drop_reason(self, item: Item) -> str:
        """Why an item is dropped; empty when it is stored."""
        if self.signal == "drop":
            return self.reason
        if isinstance(item, Identity) and self.is_anonymous(item):
            return self.reason or NO_CONSENT  # without ids nothing of it is left
        return ""

    def is_anonymous(self, item: Item) -> bool:
        """Whether an item keeps no ids."""
        return self.signal != "ignore" or (
            self.privacy.consent == "required" and item.consent is not True
        )

    def filtered(self, item: Item, text: bytes) -> bytes:
        """The JSON of an item without what is left out; the item itself loses its ids as well."""
        privacy = self.privacy
        if self.is_anonymous(item):
            item.anonymous_id = item.session_id = None
            if isinstance(item, CustomEvent):
                item.profile_id = None
            # Members that no kind has may be ids as well.
            kept = set(type(item).__struct_encode_fields__).difference(ID_MEMBERS)
            text = encode_fields({n: v for n, v in _fields.decode(text).items() if n in kept})
        if privacy.never_store_properties:
            text = _without_properties(text, names_pattern(privacy.never_store_properties))
        if privacy.never_store_query:
            if b"\\u" in text:  # as some senders write every character beyond ASCII
                text = _encode(msgspec.json.decode(text))
            text = without_parameters(text, privacy.never_store_query)
            text = _without_campaigns(text, names_pattern(privacy.never_store_query))
        return text


def privacy_filter(privacy: Privacy, head: RequestHead) -> PrivacyFilter | None:
    """The filter of a request; None when nothing can be left out of its items."""
    if privacy is DEFAULT_PRIVACY:
        return None
    of_request = PrivacyFilter.of(privacy, head)
    return None if of_request.leaves_all else of_request


def import_filter(privacy: Privacy) -> PrivacyFilter | None:
    """The filter of historical events: the one who imports them answers for their ids."""
    of_history = PrivacyFilter(replace(privacy, consent="not_required"))
    return None if of_history.leaves_all else of_history


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
    return encode_fields(fields)


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
    return encode_fields({n: v for n, v in fields.items() if n not in left_out})
