"""Encodes accepted items into envelopes, one per website, and chooses the partition key. No I/O."""

import zlib
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from ingest.decoding.auth import Sender
from ingest.decoding.contract_drift import ItemDrift, check_contracts
from ingest.decoding.decoder import AcceptedItems, RejectedItem, join_items, none_accepted_error
from ingest.decoding.ignored_members import IgnoredMembers
from ingest.decoding.request_head import RequestHead
from ingest.publishing.anonymous_id import AnonymousIds
from ingest.publishing.clock_offsets import ClockOffsets
from ingest.publishing.privacy_filter import PrivacyFilter, privacy_filter
from schemas.envelope import Envelope, encode_envelope
from schemas.errors import Forbidden
from schemas.event_times import adjusted_count, is_adjusted
from schemas.items import Item
from schemas.registry import Snapshot
from schemas.registry.item_privacy import private_headers
from schemas.registry.privacy import DEFAULT_PRIVACY, Privacy

WEBSITE_OUT_OF_REACH = "'websiteId' is a website that this sender has no access to"


class EncodedRequest(Struct, frozen=True, gc=False):
    """One request, ready to publish."""

    partition_key: int
    """Hash of website and visitor, or of what retries of a server have in common."""
    envelopes: list[bytes]
    count: int
    owner_id: str
    """The website of the items; the organization if they are of several."""
    received_ms: int
    rejected: Sequence[RejectedItem] = ()
    indexes: Sequence[int] | None = None
    """Index of each item in the request, in the order of the envelopes; None: same order."""
    items_by_website: Mapping[str, int] | None = None
    """Number of items per website, if they are of several."""
    ignored: Sequence[IgnoredMembers] = ()
    """Members of the items that are not stored."""
    adjusted: int = 0
    """Number of items that are stored under another time than they name."""
    drift: Sequence[ItemDrift] = ()
    """Items that differ from the contract of their website."""
    dropped: int = 0
    """Number of items, the last of the envelopes, that are dropped by privacy."""


class EnvelopeHeader(Struct, frozen=True, gc=False):
    """The fields that all envelopes of one request have in common."""

    sender: Sender
    head: RequestHead
    client_network: str
    received_ms: int
    anonymous_ids: AnonymousIds
    clock_offset_ms: int = 0
    names_visitor: bool | None = None
    """As in the envelope."""

    def with_clock_offset(self, offsets: ClockOffsets, items: Sequence[Item]) -> Self:
        """The header of a request with these items."""
        sender = self.sender
        offset = offsets.of_request(items, self.received_ms, sender.subject_id, sender.trusted)
        return replace(self, clock_offset_ms=offset) if offset else self

    def encode(
        self, subject_id: str, items: Sequence[Item], array: bytes, privacy: Privacy
    ) -> bytes:
        return encode_envelope(self.envelope(subject_id, items, array, privacy))

    def envelope(
        self, subject_id: str, items: Sequence[Item], array: bytes, privacy: Privacy
    ) -> Envelope:
        """The envelope of items of one website."""
        locate = privacy.location != "none"
        return Envelope(
            subject_id,
            self.sender.organization.id,
            self.received_ms,
            len(items),
            array,
            self.client_network if locate else "",
            self.head.user_agent,
            self.sender.trusted,
            self.head.headers
            if privacy is DEFAULT_PRIVACY
            else private_headers(self.head.headers, privacy),
            self.head.idempotency_key,
            anonymous_id=""
            if all(item.anonymous_id for item in items)
            else self.anonymous_id(subject_id, self.received_ms),
            awaited=self.head.awaited,
            clock_offset_ms=self.clock_offset_ms,
            mask_texts=privacy.mask_texts,
            locate=locate,
            names_visitor=self.names_visitor,
        )

    def encode_dropped(self, subject_id: str, count: int, reason: str) -> bytes:
        """The envelope of dropped items, which are counted only."""
        return encode_envelope(
            Envelope(
                subject_id,
                self.sender.organization.id,
                self.received_ms,
                count,
                b"[]",
                trusted=self.sender.trusted,
                awaited=self.head.awaited,
                drop_reason=reason,
            )
        )

    def partition_key(self, subject_id: str, items: Sequence[Item]) -> int:
        """The same key for a request and its retries, so that one worker sees both."""
        if self.sender.trusted and (self.head.idempotency_key or has_event_ids(items)):
            # A server may retry in other batches, with another visitor first.
            return partition_hash(self.sender.root_id)
        if visitor := items[0].anonymous_id:
            return partition_hash(subject_id, visitor)
        if self.head.idempotency_key:
            return partition_hash(subject_id)
        return partition_hash(subject_id, self.client_network, self.head.user_agent)

    def anonymous_id(self, subject_id: str, received_ms: int) -> str:
        """The derived id for items without one; not for servers, whose address is no visitor's."""
        if (self.sender.trusted and not self.names_visitor) or not self.client_network:
            return ""
        return self.anonymous_ids.for_website(
            subject_id, self.client_network, self.head.user_agent, received_ms
        )


def has_event_ids(items: Sequence[Item]) -> bool:
    """Whether an item has an event id, so that its duplicates can be detected."""
    return any(item.event_id for item in items)


def partition_hash(*parts: str) -> int:
    return zlib.crc32("\0".join(parts).encode())


def encode_request(
    accepted: AcceptedItems, header: EnvelopeHeader, registry: Snapshot
) -> EncodedRequest:
    """The envelopes of a request.

    NoneAccepted if the sender has access to no item's website, or contracts refuse all items.
    """
    if not registry.contracts:
        return _encode(accepted, header, registry)
    sender = header.sender
    accepted, drift = check_contracts(
        accepted, sender.subject_id, registry.contracts, partial(sender.can_reach, registry)
    )
    encoded = _encode(accepted, header, registry)
    return replace(encoded, drift=drift) if drift else encoded


def _encode(accepted: AcceptedItems, header: EnvelopeHeader, registry: Snapshot) -> EncodedRequest:
    items, sender = accepted.items, header.sender
    own = sender.subject_id
    websites = {own if item.website_id is None else item.website_id for item in items}
    if websites == {own} or (len(websites) == 1 and sender.can_reach(registry, *websites)):
        [website] = websites
        privacy = registry.privacy_of(website)
        if privacy_filter(privacy, header.head) is not None:
            return _encode_by_website(accepted, header, registry)
        indexes = None if isinstance(accepted.indexes, range) else accepted.indexes
        return EncodedRequest(
            header.partition_key(website, items),
            [header.encode(website, items, accepted.array, privacy)],
            len(items),
            website,
            header.received_ms,
            accepted.rejected,
            indexes,
            ignored=accepted.ignored,
            adjusted=_adjusted_count(accepted, items, accepted.indexes, header),
        )
    return _encode_by_website(accepted, header, registry)


def _encode_by_website(
    accepted: AcceptedItems, header: EnvelopeHeader, registry: Snapshot
) -> EncodedRequest:
    """Group the items by website; reject those that the sender has no access to.

    The groups that the privacy of a website drops are last.
    """
    sender, rejected = header.sender, list(accepted.rejected)
    groups: dict[tuple[str, str], WebsiteItems] = {}
    filters: dict[str, PrivacyFilter | None] = {}
    for item, raw, index in zip(
        accepted.items, accepted.raw_items(), accepted.indexes, strict=True
    ):
        if item.website_id is not None and not sender.can_reach(registry, item.website_id):
            rejected.append(RejectedItem(index, Forbidden.code, WEBSITE_OUT_OF_REACH))
            continue
        website, text, reason = item.website_id or sender.subject_id, bytes(raw), ""
        if website not in filters:
            filters[website] = privacy_filter(registry.privacy_of(website), header.head)
        if (of_website := filters[website]) is not None:
            reason = of_website.drop_reason(item)
            text = text if reason else of_website.filtered(item, text)
        groups.setdefault((website, reason), WebsiteItems()).add(item, text, index)
    rejected.sort(key=lambda reject: reject.index)
    if not groups:
        raise none_accepted_error(rejected)
    ordered = sorted(groups.items(), key=lambda group: group[0][1] != "")
    websites = list(dict.fromkeys(website for (website, _), _ in ordered))
    indexes = [index for _, group in ordered for index in group.indexes]
    items = [item for _, group in ordered for item in group.items]
    return EncodedRequest(
        header.partition_key(websites[0], ordered[0][1].items),
        [
            header.encode_dropped(website, len(group.items), reason)
            if reason
            else header.encode(website, group.items, group.array, registry.privacy_of(website))
            for (website, reason), group in ordered
        ],
        len(indexes),
        websites[0] if len(websites) == 1 else sender.organization.id,
        header.received_ms,
        rejected,
        indexes,
        {
            website: sum(len(group.items) for (owner, _), group in ordered if owner == website)
            for website in websites
        },
        [ignored for ignored in accepted.ignored if ignored.index in indexes],
        _adjusted_count(accepted, items, indexes, header),
        dropped=sum(len(group.items) for (_, reason), group in ordered if reason),
    )


def _adjusted_count(
    accepted: AcceptedItems, items: Sequence[Item], indexes: Sequence[int], header: EnvelopeHeader
) -> int:
    """The number of these items with another event time or time on the page than was sent."""
    received_ms, offset_ms = header.received_ms, header.clock_offset_ms
    if not accepted.shortened:
        return adjusted_count(items, received_ms, offset_ms)
    return sum(
        index in accepted.shortened or is_adjusted(item.timestamp, received_ms, offset_ms)
        for item, index in zip(items, indexes, strict=True)
    )


class WebsiteItems(Struct):
    """The items of one website."""

    items: list[Item] = []
    raw_items: list[bytes] = []
    indexes: list[int] = []

    def add(self, item: Item, raw: bytes, index: int) -> None:
        self.items.append(item)
        self.raw_items.append(raw)
        self.indexes.append(index)

    @property
    def array(self) -> bytes:
        return join_items(self.raw_items)
