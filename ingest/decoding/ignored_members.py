"""Ignored members: what an item has and its kind does not, and which field was probably meant.

Unknown members are never stored, so the response and `/debug` name them. What they name is bounded:
the first items, the first names of each, and the first characters of a name.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache

import msgspec
from msgspec import Raw, Struct

from ingest.decoding.field_aliases import (
    JSON_NULL,
    LEGACY_NAMES,
    RawFields,
    aliases_of,
    with_wire_names,
)
from schemas.items import Item
from schemas.kinds import ALL_KINDS, Kind

MAX_LISTED_ITEMS = 20
MAX_LISTED_NAMES = 10
MAX_NAME_LENGTH = 64
MIN_SIMILARITY = 0.75

SIMILAR_FIELDS: Mapping[str, Sequence[str]] = {
    "anonymousId": (
        *("distinct_id", "distinctId", "visitor_id", "visitorId", "visitor", "device_id"),
        *("deviceId", "clientId", "user_pseudo_id"),
    ),
    "profileId": ("user_id", "userId", "user", "uid", "customer_id", "customerId"),
    "sessionId": ("session", "visit_id", "visitId", "ga_session_id"),
    "eventId": ("uuid", "id", "message_id", "messageId", "insert_id", "insertId", "$insert_id"),
    "websiteId": ("domain", "website", "site", "site_id", "siteId", "idsite"),
    "timestamp": ("time", "ts", "date", "datetime", "created_at", "createdAt", "event_time"),
    "path": ("url", "page", "page_url", "pageUrl", "page_path", "page_location", "pathname"),
    "title": ("page_title", "pageTitle"),
    "referrer": ("referer", "ref", "page_referrer", "document_referrer"),
    "properties": ("data", "payload", "params", "attributes", "metadata", "custom", "context"),
    "traits": ("properties", "props", "data", "user_properties", "attributes"),
    "utm_source": ("source_utm", "campaign_source"),
    "screen_resolution": ("screen", "resolution"),
    "viewport_size": ("viewport",),
    "timezone": ("time_zone", "timeZone", "tz"),
    "language": ("lang", "locale"),
    "metricName": ("metric", "name"),
    "metricValue": ("value",),
    "errorType": ("type", "name"),
    "lineno": ("line",),
    "colno": ("col", "column"),
}
"""Names by which other products call a field; their meaning is not certain enough to take them."""

TRACKER_MEMBERS = frozenset(
    (
        *("sessionStartTime", "anonymizeVisitorIds", "exit_intent", "is_bounce", "page_size"),
        *("rtt", "downlink", "fid", "redirect_time", "domain_lookup_time", "connection_time"),
        *("has_exit_intent", "exit_reason", "interaction_types"),
    )
)
"""Members that supported trackers send and nobody can change: neither stored nor named."""


class IgnoredMembers(Struct, frozen=True):
    """The members of one item that were ignored."""

    index: int
    names: Sequence[str]
    message: str
    """Which field each may mean."""


def ignored_members(
    index: int, kind: Kind, fields: RawFields, format_members: frozenset[str] = frozenset()
) -> IgnoredMembers | None:
    """What an item of the kind has that is not stored; None if there is nothing.

    `format_members` are names that the tracker format of the item reads.
    """
    names = [
        name
        for name in ignored_names(kind, fields)
        if name not in format_members and name not in TRACKER_MEMBERS
    ]
    if not names:
        return None
    listed = [name[:MAX_NAME_LENGTH] for name in names[:MAX_LISTED_NAMES]]
    return IgnoredMembers(index, listed, ignored_message(kind, listed))


def ignored_names(kind: Kind, fields: RawFields) -> Iterator[str]:
    """The unknown names, and the aliases of fields that the item has under their own name."""
    aliases, legacy_names = aliases_of(kind.item), LEGACY_NAMES.get(kind.item, {})
    wire_fields: RawFields | None = None
    for name in fields.keys() - wire_names(kind.item) - legacy_names.keys():
        if bytes(fields[name]) == JSON_NULL:
            continue
        if name not in aliases:
            yield name
            continue
        wire_fields = with_wire_names(fields, aliases) if wire_fields is None else wire_fields
        if wire_fields.get(aliases[name]) is not fields[name]:
            yield name


def ignored_in_items(kind: Kind, raw_items: Mapping[int, Raw]) -> list[IgnoredMembers]:
    """The ignored members of the first items that have any; items by their index."""
    found: list[IgnoredMembers] = []
    for index, raw in raw_items.items():
        if ignored := ignored_members(index, kind, _fields_decoder.decode(raw)):
            found.append(ignored)
            if len(found) == MAX_LISTED_ITEMS:
                break
    return found


def ignored_message(kind: Kind, names: Iterable[str]) -> str:
    """What was ignored, and what to send instead."""
    return "; ".join(_advice(kind, name) for name in sorted(names))


@lru_cache(maxsize=1024)
def _advice(kind: Kind, name: str) -> str:
    known, aliases = wire_names(kind.item), aliases_of(kind.item)
    if name in aliases:
        return f"'{name}' is ignored, because the item has '{aliases[name]}'"
    meant = [field for field, others in SIMILAR_FIELDS.items() if name in others and field in known]
    if not meant:
        candidates = sorted(known | aliases.keys())
        meant = get_close_matches(name, candidates, n=1, cutoff=MIN_SIMILARITY)
    if meant:
        fields = " or ".join(f"'{field}'" for field in meant)
        return f"'{name}' is ignored; did you mean {fields}?"
    free = next((field for field in ("properties", "traits") if field in known), None)
    if free is None:
        return f"'{name}' is ignored: {kind.name} has no such field"
    return f"'{name}' is ignored; members of your own go into '{free}'"


def wire_names(item: type[Item]) -> frozenset[str]:
    """The names of the fields of an item."""
    return _WIRE_NAMES[item]


_WIRE_NAMES = {kind.item: frozenset(kind.item.__struct_encode_fields__) for kind in ALL_KINDS}
_fields_decoder = msgspec.json.Decoder(RawFields)
