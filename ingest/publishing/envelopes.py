"""Accepted items become sealed envelopes: one for each website that a request names. No I/O."""

import zlib
from collections.abc import Mapping, Sequence

from msgspec import Struct

from ingest.decoding.auth import Sender
from ingest.decoding.decoder import AcceptedItems, RejectedItem, join_items, none_accepted_error
from ingest.decoding.request_head import RequestHead
from ingest.publishing.anonymous_id import AnonymousIds
from schemas.envelope import Envelope, encode_envelope
from schemas.errors import Forbidden
from schemas.items import Item
from schemas.registry import Snapshot

WEBSITE_OUT_OF_REACH = "'websiteId' names a website that this sender does not reach"


class EncodedRequest(Struct, frozen=True, gc=False):
    """One request, ready to be sent."""

    partition_key: int
    """Hash of website and visitor, or of what a server's retries share: same topic partition."""
    envelopes: list[bytes]
    count: int
    owner_id: str
    """Whose the items are: the website, or the organization when they are of several."""
    received_ms: int
    rejected: Sequence[RejectedItem] = ()
    indexes: Sequence[int] | None = None
    """Where each item stood in the request, in the order of the envelopes; None: as they came."""
    items_by_website: Mapping[str, int] | None = None
    """Items of each website, when they are of several."""


class EnvelopeHeader(Struct, frozen=True, gc=False):
    """What all envelopes of one request have in common."""

    sender: Sender
    head: RequestHead
    address: str
    received_ms: int
    anonymous_ids: AnonymousIds

    def encode(self, subject_id: str, items: Sequence[Item], array: bytes) -> bytes:
        return encode_envelope(
            Envelope(
                subject_id,
                self.sender.organization.id,
                self.received_ms,
                len(items),
                array,
                self.address,
                self.head.user_agent,
                self.sender.trusted,
                self.head.headers,
                self.head.request_id,
                visitor=self._anonymous_id(subject_id, items),
            )
        )

    def partition_key(self, subject_id: str, items: Sequence[Item]) -> int:
        """What a retry must have in common with what it repeats."""
        if self.sender.trusted and (self.head.request_id or has_event_ids(items)):
            # A server sends again in other batches: whoever is the first in them.
            return partition_hash(self.sender.root_id)
        if visitor := items[0].anonymous_id:
            return partition_hash(subject_id, visitor)
        if self.head.request_id:
            return partition_hash(subject_id)
        return partition_hash(subject_id, self.address, self.head.user_agent)

    def _anonymous_id(self, subject_id: str, items: Sequence[Item]) -> str:
        """A name for who sent items that name nobody; a server's address says nothing of whom."""
        if self.sender.trusted or not self.address or all(item.anonymous_id for item in items):
            return ""
        return self.anonymous_ids.for_website(
            subject_id, self.address, self.head.user_agent, self.received_ms
        )


def has_event_ids(items: Sequence[Item]) -> bool:
    """Whether a copy of some item could be known."""
    return any(item.event_id for item in items)


def partition_hash(*parts: str) -> int:
    return zlib.crc32("\0".join(parts).encode())


def encode_request(
    accepted: AcceptedItems, cover: EnvelopeHeader, registry: Snapshot
) -> EncodedRequest:
    """The envelopes of a request; NoneAccepted when no item names a website in reach."""
    own = cover.sender.subject_id
    if not [item for item in accepted.items if item.website_id not in (None, own)]:
        items = accepted.items
        places = None if isinstance(accepted.indexes, range) else accepted.indexes
        return EncodedRequest(
            cover.partition_key(own, items),
            [cover.encode(own, items, accepted.array)],
            len(items),
            own,
            cover.received_ms,
            accepted.rejected,
            places,
        )
    return _encode_by_website(accepted, cover, registry)


def _encode_by_website(
    accepted: AcceptedItems, cover: EnvelopeHeader, registry: Snapshot
) -> EncodedRequest:
    """Sort the items by the website that each names; refuse those out of reach."""
    sender, rejected = cover.sender, list(accepted.rejected)
    shares: dict[str, WebsiteItems] = {}
    for item, raw, index in zip(
        accepted.items, accepted.raw_items(), accepted.indexes, strict=True
    ):
        if item.website_id is not None and not sender.can_reach(registry, item.website_id):
            rejected.append(RejectedItem(index, Forbidden.code, WEBSITE_OUT_OF_REACH))
        else:
            share = shares.setdefault(item.website_id or sender.subject_id, WebsiteItems())
            share.add(item, bytes(raw), index)
    rejected.sort(key=lambda reject: reject.index)
    if not shares:
        raise none_accepted_error(rejected)
    first = next(iter(shares))
    places = [index for share in shares.values() for index in share.indexes]
    return EncodedRequest(
        cover.partition_key(first, shares[first].items),
        [cover.encode(website, share.items, share.array) for website, share in shares.items()],
        len(places),
        first if len(shares) == 1 else sender.organization.id,
        cover.received_ms,
        rejected,
        places,
        {website: len(share.items) for website, share in shares.items()},
    )


class WebsiteItems(Struct):
    """The items of one website."""

    items: list[Item] = []
    raw_items: list[bytes] = []
    indexes: list[int] = []

    def add(self, item: Item, raw: bytes, place: int) -> None:
        self.items.append(item)
        self.raw_items.append(raw)
        self.indexes.append(place)

    @property
    def array(self) -> bytes:
        return join_items(self.raw_items)
