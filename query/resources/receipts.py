"""GET /v1/receipts/{receipt}: what became of the items that a request brought.

The table's next offset says whether a worker has read them; the quarantine says which of them are
not rows. The main table is asked first: its commit is the last of a batch, so that a quarantine
that is looked at later holds whatever the batch left there.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from msgspec import UNSET, Struct, UnsetType
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import QueryDependencies
from query.engine.quarantine import EpochPartition, QuarantinedItem, quarantined_items
from query.response.json_value import json_response
from schemas.errors import NotFound
from schemas.http.auth import authorize_organization, authorize_website
from schemas.kinds import ALL_KINDS, Kind
from schemas.plans import Group
from schemas.receipts import InvalidReceipt, Receipt
from schemas.registry import Key, KeyScope
from schemas.runtime.clock import format_instant
from schemas.tables import QUARANTINE

DUPLICATE = "duplicate"
"""Stage of the quarantine's rows about items that were seen before."""

KIND_BY_TOPIC: Mapping[str, Kind] = {kind.topic: kind for kind in ALL_KINDS}


class ItemState(StrEnum):
    """What became of an item."""

    STORED = "stored"
    DUPLICATE = "duplicate"
    QUARANTINED = "quarantined"
    PENDING = "pending"
    """In Kafka for sure; a worker is yet to read it."""
    LOST = "lost"
    """Kafka's topic was deleted, or its time was up, before a worker could read it."""
    UNKNOWN = "unknown"
    """Kafka has it, but could not say where."""


class ItemStatus(Struct, frozen=True):
    """One item, by its place in the request."""

    index: int
    state: ItemState
    stage: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET


async def receipt_status(desk: QueryDependencies, request: Request) -> Response:
    """The fate of each item, and how many share it."""
    key = desk.authorize(request, KeyScope.READ_DATA, Group.QUERY, KeyScope.TRACK_EVENTS)
    text = request.path_params["receipt"]
    try:
        receipt = desk.registry.receipts.read(text)
        kind = KIND_BY_TOPIC[receipt.topic]
    except InvalidReceipt as none:
        raise NotFound(str(none)) from None
    except KeyError:
        raise NotFound(InvalidReceipt.UNKNOWN) from None
    owners = _owners(desk, key, receipt)
    fates = await _statuses(desk, key, kind, receipt, owners)
    states = [fate.state for fate in fates]
    return json_response(
        {
            "success": True,
            "data": {
                "receipt": text,
                "type": kind.name,
                "receivedAt": format_instant(receipt.received_ms),
                "total": receipt.count,
                "counts": {state: states.count(state) for state in ItemState},
                "items": fates,
            },
        }
    )


def _owners(desk: QueryDependencies, key: Key, receipt: Receipt) -> Sequence[str]:
    """Under which ids the items were sent; Forbidden when the key does not reach them."""
    owner = receipt.owner_id
    if owner not in desk.registry.organizations:
        return (authorize_website(desk.registry, key, owner).id,)
    authorize_organization(desk.registry, key, owner)
    return (owner, *desk.registry.websites_by_organization.get(owner, ()))


async def _statuses(
    desk: QueryDependencies, key: Key, kind: Kind, receipt: Receipt, owners: Sequence[str]
) -> list[ItemStatus]:
    if receipt.offset < 0:
        return _same_status(receipt, ItemState.UNKNOWN)
    epoch = await desk.table_offsets.epoch_of(kind.table, receipt)
    if epoch is None:
        return _same_status(receipt, ItemState.PENDING)  # of a topic that no worker has met yet
    where = (epoch, receipt.topic, receipt.partition)
    if (await desk.table_offsets.stored_offset(kind.table, *where)).next <= receipt.offset:
        old = epoch < await desk.table_offsets.newest_epoch(kind.table, receipt.topic)
        return _same_status(receipt, ItemState.LOST if old else ItemState.PENDING)
    aside = await desk.table_offsets.stored_offset(QUARANTINE, *where)
    if aside.next <= receipt.offset:
        return _same_status(receipt, ItemState.STORED)
    pinned = await desk.snapshots.pin(QUARANTINE, min_version=aside.version)
    engine = desk.standard_limiter.for_tenant(key.organization_id)
    place = EpochPartition(
        desk.table_offsets.topic(receipt.topic), epoch, receipt.partition, desk.table_offsets.epoch
    )
    if await desk.lost_messages.contains(
        engine, pinned, place, receipt.offset, desk.timeout_seconds
    ):
        return _same_status(receipt, ItemState.LOST)
    found = await quarantined_items(engine, pinned, place, receipt, owners, desk.timeout_seconds)
    return _status_of_each(receipt, found)


def _same_status(receipt: Receipt, state: ItemState) -> list[ItemStatus]:
    return [ItemStatus(index, state) for index in _indexes(receipt)]


def _status_of_each(receipt: Receipt, found: Sequence[QuarantinedItem]) -> list[ItemStatus]:
    """Each item's own fate: stored unless it was set aside, alone or with its whole chunk."""
    by_seq = {aside.seq: aside for aside in found}
    whole = by_seq.get(None)
    return [
        _status(index, by_seq.get(seq, whole))
        for seq, index in enumerate(_indexes(receipt), receipt.first_position)
    ]


def _status(index: int, aside: QuarantinedItem | None) -> ItemStatus:
    if aside is None:
        return ItemStatus(index, ItemState.STORED)
    if aside.stage == DUPLICATE:
        return ItemStatus(index, ItemState.DUPLICATE, reason=aside.reason)
    return ItemStatus(index, ItemState.QUARANTINED, aside.stage, aside.reason)


def _indexes(receipt: Receipt) -> Sequence[int]:
    return range(receipt.count) if receipt.indexes is None else receipt.indexes
