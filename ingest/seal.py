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
    rejected: Sequence[Rejected] = ()


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
        return Sealed(cover.place(own, accepted.items[0]), [envelope], count, accepted.rejected)
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
    first: Item | None = None
    for item, raw, index in zip(accepted.items, accepted.raws(), accepted.places, strict=True):
        if item.website_id is not None and not sender.reaches(registry, item.website_id):
            rejected.append(Rejected(index, Forbidden.code, ELSEWHERE))
            continue
        first = first or item
        sorted_.setdefault(item.website_id or sender.subject_id, []).append(bytes(raw))
    rejected.sort(key=lambda reject: reject.index)
    if first is None:
        raise none_accepted(rejected)
    envelopes = [
        cover.seal(subject_id, len(raws), b"[" + b",".join(raws) + b"]")
        for subject_id, raws in sorted_.items()
    ]
    place = cover.place(first.website_id or sender.subject_id, first)
    return Sealed(place, envelopes, sum(map(len, sorted_.values())), rejected)
