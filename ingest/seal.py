"""Accepted items become sealed envelopes: one for each website that a request names. No I/O."""

import zlib
from collections.abc import Sequence

from msgspec import Struct

from ingest.decode import Accepted, Rejected, none_accepted
from ingest.head import Head
from ingest.identify import Sender
from schemas.envelope import Envelope, seal
from schemas.failures import Forbidden
from schemas.items import Item
from schemas.registry import Snapshot

ELSEWHERE = "'websiteId' names a website that this sender does not reach"


class Sealed(Struct, frozen=True, gc=False):
    """One request, ready to be sent."""

    place: int
    """Hash of website and visitor; requests of one visitor share a topic partition."""
    envelopes: list[bytes]
    count: int
    owner: str
    """Whose the items are: the website, or the organization when they are of several."""
    received_ms: int
    rejected: Sequence[Rejected] = ()
    places: Sequence[int] | None = None
    """Where each item stood in the request, in the order of the envelopes; None: as they came."""


def seal_request(
    accepted: Accepted,
    sender: Sender,
    head: Head,
    registry: Snapshot,
    address: str,
    received_ms: int,
) -> Sealed:
    """The envelopes of a request; NoneAccepted when no item names a website in reach."""
    cover = Cover(sender, head, address, received_ms)
    own = sender.subject_id
    if not [item for item in accepted.items if item.website_id not in (None, own)]:
        count = len(accepted.items)
        envelope = cover.seal(own, count, accepted.array)
        place = cover.place(own, accepted.items[0])
        places = None if isinstance(accepted.places, range) else accepted.places
        return Sealed(place, [envelope], count, own, received_ms, accepted.rejected, places)
    return _by_website(accepted, cover, registry)


class Cover(Struct, frozen=True, gc=False):
    """What all envelopes of one request have in common."""

    sender: Sender
    head: Head
    address: str
    received_ms: int

    def seal(self, subject_id: str, count: int, array: bytes) -> bytes:
        return seal(
            Envelope(
                subject_id,
                self.sender.organization.id,
                self.received_ms,
                count,
                array,
                self.address,
                self.head.user_agent,
                self.sender.trusted,
                self.head.headers,
                self.head.request_id,
            )
        )

    def place(self, subject_id: str, first: Item) -> int:
        visitor = first.anonymous_id or f"{self.address}\0{self.head.user_agent}"
        return zlib.crc32(f"{subject_id}\0{visitor}".encode())


def _by_website(accepted: Accepted, cover: Cover, registry: Snapshot) -> Sealed:
    """Sort the items by the website that each names; refuse those out of reach."""
    sender, rejected = cover.sender, list(accepted.rejected)
    sorted_: dict[str, list[bytes]] = {}
    places: dict[str, list[int]] = {}
    first: Item | None = None
    for item, raw, index in zip(accepted.items, accepted.raws(), accepted.places, strict=True):
        if item.website_id is not None and not sender.reaches(registry, item.website_id):
            rejected.append(Rejected(index, Forbidden.code, ELSEWHERE))
            continue
        first = first or item
        subject_id = item.website_id or sender.subject_id
        sorted_.setdefault(subject_id, []).append(bytes(raw))
        places.setdefault(subject_id, []).append(index)
    rejected.sort(key=lambda reject: reject.index)
    if first is None:
        raise none_accepted(rejected)
    envelopes = [
        cover.seal(subject_id, len(raws), b"[" + b",".join(raws) + b"]")
        for subject_id, raws in sorted_.items()
    ]
    place = cover.place(first.website_id or sender.subject_id, first)
    owner = next(iter(sorted_)) if len(sorted_) == 1 else sender.organization.id
    order = [index for indexes in places.values() for index in indexes]
    return Sealed(place, envelopes, len(order), owner, cover.received_ms, rejected, order)
