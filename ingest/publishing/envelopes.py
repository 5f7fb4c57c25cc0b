"""Accepted items become sealed envelopes: one for each website that a request names. No I/O."""

import zlib
from collections.abc import Mapping, Sequence

from msgspec import Struct

from ingest.decoding.auth import Sender
from ingest.decoding.decoder import Accepted, Rejected, as_array, none_accepted
from ingest.decoding.request_head import Head
from ingest.visitor import Visitors
from schemas.envelope import Envelope, seal
from schemas.errors import Forbidden
from schemas.items import Item
from schemas.registry import Snapshot

ELSEWHERE = "'websiteId' names a website that this sender does not reach"


class Sealed(Struct, frozen=True, gc=False):
    """One request, ready to be sent."""

    place: int
    """Hash of website and visitor, or of what a server's retries share: same topic partition."""
    envelopes: list[bytes]
    count: int
    owner: str
    """Whose the items are: the website, or the organization when they are of several."""
    received_ms: int
    rejected: Sequence[Rejected] = ()
    places: Sequence[int] | None = None
    """Where each item stood in the request, in the order of the envelopes; None: as they came."""
    shares: Mapping[str, int] | None = None
    """Items of each website, when they are of several."""


class Cover(Struct, frozen=True, gc=False):
    """What all envelopes of one request have in common."""

    sender: Sender
    head: Head
    address: str
    received_ms: int
    visitors: Visitors

    def seal(self, subject_id: str, items: Sequence[Item], array: bytes) -> bytes:
        return seal(
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
                visitor=self._visitor(subject_id, items),
            )
        )

    def place(self, subject_id: str, items: Sequence[Item]) -> int:
        """What a retry must have in common with what it repeats."""
        if self.sender.trusted and (self.head.request_id or has_ids(items)):
            # A server sends again in other batches: whoever is the first in them.
            return hash_of(self.sender.roof)
        if visitor := items[0].anonymous_id:
            return hash_of(subject_id, visitor)
        if self.head.request_id:
            return hash_of(subject_id)
        return hash_of(subject_id, self.address, self.head.user_agent)

    def _visitor(self, subject_id: str, items: Sequence[Item]) -> str:
        """A name for who sent items that name nobody; a server's address says nothing of whom."""
        if self.sender.trusted or not self.address or all(item.anonymous_id for item in items):
            return ""
        return self.visitors.of_website(
            subject_id, self.address, self.head.user_agent, self.received_ms
        )


def has_ids(items: Sequence[Item]) -> bool:
    """Whether a copy of some item could be known."""
    return any(item.event_id for item in items)


def hash_of(*parts: str) -> int:
    return zlib.crc32("\0".join(parts).encode())


def seal_request(accepted: Accepted, cover: Cover, registry: Snapshot) -> Sealed:
    """The envelopes of a request; NoneAccepted when no item names a website in reach."""
    own = cover.sender.subject_id
    if not [item for item in accepted.items if item.website_id not in (None, own)]:
        items = accepted.items
        places = None if isinstance(accepted.places, range) else accepted.places
        return Sealed(
            cover.place(own, items),
            [cover.seal(own, items, accepted.array)],
            len(items),
            own,
            cover.received_ms,
            accepted.rejected,
            places,
        )
    return _by_website(accepted, cover, registry)


def _by_website(accepted: Accepted, cover: Cover, registry: Snapshot) -> Sealed:
    """Sort the items by the website that each names; refuse those out of reach."""
    sender, rejected = cover.sender, list(accepted.rejected)
    shares: dict[str, Share] = {}
    for item, raw, index in zip(accepted.items, accepted.raws(), accepted.places, strict=True):
        if item.website_id is not None and not sender.reaches(registry, item.website_id):
            rejected.append(Rejected(index, Forbidden.code, ELSEWHERE))
        else:
            share = shares.setdefault(item.website_id or sender.subject_id, Share())
            share.add(item, bytes(raw), index)
    rejected.sort(key=lambda reject: reject.index)
    if not shares:
        raise none_accepted(rejected)
    first = next(iter(shares))
    places = [index for share in shares.values() for index in share.places]
    return Sealed(
        cover.place(first, shares[first].items),
        [cover.seal(website, share.items, share.array) for website, share in shares.items()],
        len(places),
        first if len(shares) == 1 else sender.organization.id,
        cover.received_ms,
        rejected,
        places,
        {website: len(share.items) for website, share in shares.items()},
    )


class Share(Struct):
    """The items of one website."""

    items: list[Item] = []
    raws: list[bytes] = []
    places: list[int] = []

    def add(self, item: Item, raw: bytes, place: int) -> None:
        self.items.append(item)
        self.raws.append(raw)
        self.places.append(place)

    @property
    def array(self) -> bytes:
        return as_array(self.raws)
