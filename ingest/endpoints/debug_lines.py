"""DebugLines: the entries of `/debug`, one per item, with what was ignored, moved or repeated."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Raw

from ingest.decoding.field_aliases import RawFields
from ingest.decoding.ignored_members import ignored_members
from ingest.decoding.ignored_parameters import WEBSITE_PARAMETER_NAMES
from ingest.decoding.tracker_formats import CLICK_ID_PARAMETERS
from ingest.publishing.recent_requests import RecentRequest
from schemas.envelope import Envelope, decode_envelope
from schemas.event_times import event_time_ms, instant_ms
from schemas.items import Item
from schemas.kinds import ALL_KINDS, Kind
from schemas.receipts import unverified
from schemas.runtime.clock import format_instant

REJECTS_OMITTED = "more items were rejected than are kept here"
ITEMS_OMITTED = "too large to show here; it was published"
MAX_SEEN_IDS = 10_000
"""Event ids that a stream remembers to mark repeated ones."""

KINDS_BY_TOPIC = {kind.topic: kind for kind in ALL_KINDS}
FORMAT_MEMBERS = frozenset(("type", *WEBSITE_PARAMETER_NAMES, *CLICK_ID_PARAMETERS))
"""Members that tracker formats read; they are published with the item."""

DebugLine = dict[str, Any]

_raws = msgspec.json.Decoder(list[Raw])
_fields = msgspec.json.Decoder(RawFields)
_items = {kind.topic: msgspec.json.Decoder(kind.item) for kind in ALL_KINDS}


class DebugLines:
    """The entries of a sequence of requests, from the oldest to the newest."""

    def __init__(self) -> None:
        self._seen_ids: set[tuple[str, str]] = set()

    def of_request(self, request: RecentRequest) -> Iterator[DebugLine]:
        """The entries of the next request, in the order of its items."""
        received_at = {"receivedAt": format_instant(request.at_ms)}
        if request.receipt:
            yield from self._accepted_lines(request, received_at)
        refused = {**received_at, "accepted": False, "path": request.topic_or_path}
        for reject in request.rejected:
            yield {**refused, **msgspec.to_builtins(reject)}
        if request.omitted_rejects:
            yield {**refused, "count": request.omitted_rejects, "message": REJECTS_OMITTED}
        if request.error is not None:
            yield {**refused, **msgspec.to_builtins(request.error)}

    def _accepted_lines(
        self, request: RecentRequest, received_at: DebugLine
    ) -> Iterator[DebugLine]:
        kind = KINDS_BY_TOPIC[request.topic_or_path]
        shared = {
            **received_at,
            "accepted": True,
            "type": kind.name,
            "receipt": request.receipt,
        }
        if not request.envelope:
            yield {**shared, "count": request.count, "message": ITEMS_OMITTED}
            return
        envelope = decode_envelope(request.envelope)
        origin = {
            "address": envelope.client_network,
            "userAgent": envelope.user_agent,
            "headers": envelope.headers,
            "byServer": envelope.trusted,
        }
        indexes = unverified(request.receipt).indexes
        for position, raw in enumerate(_raws.decode(envelope.items), request.first_item):
            place = {"index": position if indexes is None else indexes[position]}
            remarks = self._remarks(kind, raw, envelope)
            yield {**shared, **place, **origin, "item": raw, **remarks}

    def _remarks(self, kind: Kind, raw: Raw, envelope: Envelope) -> DebugLine:
        """What is stored otherwise than it was sent."""
        item = _items[kind.topic].decode(raw)
        remarks: DebugLine = {}
        if ignored := ignored_members(0, kind, _fields.decode(raw), FORMAT_MEMBERS):
            remarks |= {"ignored": ignored.names, "hint": ignored.message}
        if (stored := stored_time(item, envelope)) is not None:
            remarks["storedTime"] = format_instant(stored)
        if self._is_repeated(kind, item):
            remarks["repeated"] = True
        return remarks

    def _is_repeated(self, kind: Kind, item: Item) -> bool:
        """Whether an item before had the same event id."""
        if not item.event_id:
            return False
        key = (kind.topic, item.event_id)
        if key in self._seen_ids:
            return True
        if len(self._seen_ids) >= MAX_SEEN_IDS:
            self._seen_ids.clear()
        self._seen_ids.add(key)
        return False


def stored_time(item: Item, envelope: Envelope) -> int | None:
    """The event time, if the timestamp as Unix milliseconds or ISO 8601 does not name it."""
    if item.timestamp is None:
        return None
    time_ms = event_time_ms(item.timestamp, envelope.received_ms, envelope.clock_offset_ms)
    named = instant_ms(item.timestamp) if isinstance(item.timestamp, str) else item.timestamp
    return None if named is None or int(named) == time_ms else time_ms
