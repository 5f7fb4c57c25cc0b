"""GET /v1/receipts/{receipt}: status of each item of a request.

The stored offset of the table shows whether a worker has read them; the quarantine shows which of
them are not rows. The main table is read first: its commit is the last of a batch, so the
quarantine, read after it, holds every quarantined item of the batch.
"""

import asyncio
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import KEY_ERRORS, QueryDependencies, QueryEndpoint
from query.engine.quarantine import (
    DUPLICATE,
    REPLAYED,
    EpochPartition,
    QuarantinedItem,
    quarantined_items,
    with_replays,
)
from query.engine.stored_rows import stored_rows
from query.request.query_string import check_query_string
from query.response.json_response import json_response
from schemas.errors import Forbidden, Malformed, NotFound
from schemas.http import openapi
from schemas.http.auth import authorize_organization, authorize_website
from schemas.kinds import ALL_KINDS, IMPORTED_EVENT, Kind
from schemas.plans import Group
from schemas.receipts import InvalidReceipt, Receipt
from schemas.registry import Key, KeyScope
from schemas.runtime.clock import format_instant
from schemas.spool_deliveries import read_delivery
from schemas.tables import QUARANTINE

KIND_BY_TOPIC: Mapping[str, Kind] = {kind.topic: kind for kind in ALL_KINDS}


class ItemState(StrEnum):
    """The status of an item."""

    STORED = "stored"
    DUPLICATE = "duplicate"
    QUARANTINED = "quarantined"
    ERASED = "erased"
    """No longer stored: removed by an erasure, or by age; found once something of its website was
    erased."""
    DROPPED = "dropped"
    """Counted and not stored, by the privacy of its website."""
    PENDING = "pending"
    """In Kafka; no worker has read it yet."""
    SPOOLED = "spooled"
    """Accepted while Kafka was away, and on the disk of a collector until it is back."""
    LOST = "lost"
    """Its topic was deleted, or its retention ended, before a worker read it."""
    UNKNOWN = "unknown"
    """In Kafka, but its offset was not reported; or spooled on another machine, or long ago."""


class ItemStatus(Struct, frozen=True):
    """One item, by its index in the request."""

    index: int
    state: ItemState
    stage: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    bot: (
        Annotated[
            str,
            Meta(description="the rule by which a stored item is a bot's; only with `bots=true`"),
        ]
        | UnsetType
    ) = UNSET


class ReceiptStatus(Struct, rename="camel"):
    """Status of the items of one request, in the order in which they were published."""

    receipt: str
    type: str
    received_at: str
    total: int
    counts: dict[ItemState, int]
    items: list[ItemStatus]


class ReceiptResponse(Struct):
    """Status of a receipt."""

    success: Literal[True]
    data: ReceiptStatus


async def receipt_status(dependencies: QueryDependencies, request: Request) -> Response:
    """The status of each item, and the number of items per status."""
    key = await dependencies.authorize(
        request, KeyScope.READ_DATA, Group.QUERY, KeyScope.TRACK_EVENTS
    )
    check_query_string(request, ENDPOINTS[0].operation)
    with_bots = _with_bots(key, request.query_params.get("bots", "false"))
    text = request.path_params["receipt"]
    try:
        receipt = dependencies.registry.receipt_key.verify(text)
        kind = KIND_BY_TOPIC[receipt.topic]
    except InvalidReceipt as error:
        raise NotFound(str(error)) from None
    except KeyError:
        raise NotFound(InvalidReceipt.UNKNOWN) from None
    owners = _owners(dependencies, key, receipt)
    delivered = await _delivered(dependencies, receipt) if receipt.spool_id else receipt
    if delivered is None:
        statuses = _same_status(receipt, ItemState.SPOOLED)
    else:
        receipt = delivered
        statuses = await _statuses(dependencies, key, kind, receipt, owners)
    if receipt.dropped:
        dropped = [
            ItemStatus(each.index, ItemState.DROPPED) for each in statuses[-receipt.dropped :]
        ]
        statuses = [*statuses[: -receipt.dropped], *dropped]
    is_erasing = any(map(dependencies.registry.tombstones.of_subject, owners))
    if any(status.state is ItemState.STORED for status in statuses) and (with_bots or is_erasing):
        rows = await _stored_rows(dependencies, key, kind, receipt, owners)
        if with_bots:
            statuses = [replace(each, bot=rows.get(each.index) or UNSET) for each in statuses]
        if is_erasing and kind is not IMPORTED_EVENT:  # the times of imports are any
            statuses = [_without_erased(each, rows) for each in statuses]
    states = [status.state for status in statuses]
    data = ReceiptStatus(
        receipt=text,
        type=kind.name,
        received_at=str(format_instant(receipt.received_ms)),
        total=receipt.count,
        counts={state: states.count(state) for state in ItemState},
        items=statuses,
    )
    return json_response(ReceiptResponse(success=True, data=data))


def _with_bots(key: Key, text: str) -> bool:
    """Whether bots are asked for; Forbidden for a key that may only send."""
    if text not in ("true", "false"):
        raise Malformed(f"'bots' is '{text[:40]}'; it must be true or false")
    if text == "true" and not key.has_scope(KeyScope.READ_DATA):
        raise Forbidden(f"'bots' needs an API key with the scope {KeyScope.READ_DATA}")
    return text == "true"


def _owners(dependencies: QueryDependencies, key: Key, receipt: Receipt) -> Sequence[str]:
    """Ids of the websites and organization that own the items; Forbidden without access to them."""
    owner = receipt.owner_id
    if owner not in dependencies.registry.organizations:
        return (authorize_website(dependencies.registry, key, owner).id,)
    authorize_organization(dependencies.registry, key, owner)
    return (owner, *dependencies.registry.websites_by_organization.get(owner, ()))


async def _delivered(dependencies: QueryDependencies, receipt: Receipt) -> Receipt | None:
    """The receipt of a spooled request, with its offset in Kafka; None while it is not there.

    As it is if this machine does not know.
    """
    try:
        delivery = await asyncio.to_thread(
            read_delivery, dependencies.data_folder, receipt.spool_id
        )
    except OSError:
        return receipt
    if delivery is None:
        return None
    return replace(
        receipt,
        partition=delivery.partition,
        offset=delivery.offset,
        first_position=delivery.first_position,
        topic_id=delivery.topic_id,
    )


async def _statuses(
    dependencies: QueryDependencies, key: Key, kind: Kind, receipt: Receipt, owners: Sequence[str]
) -> list[ItemStatus]:
    if receipt.offset < 0:
        return _same_status(receipt, ItemState.UNKNOWN)
    epoch = await dependencies.table_offsets.epoch_of(kind.table, receipt)
    if epoch is None:
        return _same_status(receipt, ItemState.PENDING)  # of a topic that no worker has read yet
    partition_key = (epoch, receipt.topic, receipt.partition)
    if (
        await dependencies.table_offsets.stored_offset(kind.table, *partition_key)
    ).next <= receipt.offset:
        is_recreated = epoch < await dependencies.table_offsets.newest_epoch(
            kind.table, receipt.topic
        )
        return _same_status(receipt, ItemState.LOST if is_recreated else ItemState.PENDING)
    quarantine_offset = await dependencies.table_offsets.stored_offset(QUARANTINE, *partition_key)
    if quarantine_offset.next <= receipt.offset:
        return _same_status(receipt, ItemState.STORED)
    pinned = await dependencies.snapshots.pin(QUARANTINE, min_version=quarantine_offset.version)
    engine = dependencies.standard_limiter.for_tenant(key.organization_id)
    partition = _partition(dependencies, receipt, epoch)
    if await dependencies.lost_messages.contains(
        engine, pinned, partition, receipt.offset, dependencies.timeout_seconds
    ):
        return _same_status(receipt, ItemState.LOST)
    of_receipt = (engine, pinned, partition, receipt, owners, dependencies.timeout_seconds)
    quarantined = await quarantined_items(*of_receipt)
    quarantined = await with_replays(quarantined, *of_receipt)
    return _status_of_each(receipt, quarantined)


def _partition(dependencies: QueryDependencies, receipt: Receipt, epoch: int) -> EpochPartition:
    offsets = dependencies.table_offsets
    return EpochPartition(offsets.topic(receipt.topic), epoch, receipt.partition, offsets.epoch)


async def _stored_rows(
    dependencies: QueryDependencies, key: Key, kind: Kind, receipt: Receipt, owners: Sequence[str]
) -> Mapping[int, str | None]:
    """The rows that the table has of a receipt, by index: a bot's rule, None for people."""
    epoch = await dependencies.table_offsets.epoch_of(kind.table, receipt)
    assert epoch is not None  # noqa: S101 - for the type checker: its items are stored
    partition = _partition(dependencies, receipt, epoch)
    stored = await dependencies.table_offsets.stored_offset(
        kind.table, epoch, receipt.topic, receipt.partition
    )
    rows = await stored_rows(
        dependencies.standard_limiter.for_tenant(key.organization_id),
        kind.table,
        await dependencies.snapshots.pin(kind.table, min_version=stored.version),
        partition,
        receipt,
        owners,
        dependencies.timeout_seconds,
    )
    return {
        index: rows[seq]
        for seq, index in enumerate(_indexes(receipt), receipt.first_position)
        if seq in rows
    }


def _without_erased(status: ItemStatus, rows: Mapping[int, str | None]) -> ItemStatus:
    """Erased, where it was stored by its request and the table has it no more."""
    is_stored = status.state is not ItemState.STORED or status.reason is not UNSET
    return (
        status if is_stored or status.index in rows else ItemStatus(status.index, ItemState.ERASED)
    )


def _same_status(receipt: Receipt, state: ItemState) -> list[ItemStatus]:
    return [ItemStatus(index, state) for index in _indexes(receipt)]


def _status_of_each(receipt: Receipt, quarantined: Sequence[QuarantinedItem]) -> list[ItemStatus]:
    """Stored, unless the item or its whole chunk was quarantined."""
    by_seq = {item.seq: item for item in quarantined}
    whole_chunk = by_seq.get(None)
    return [
        _status(index, by_seq.get(seq, whole_chunk))
        for seq, index in enumerate(_indexes(receipt), receipt.first_position)
    ]


def _status(index: int, item: QuarantinedItem | None) -> ItemStatus:
    if item is None:
        return ItemStatus(index, ItemState.STORED)
    if item.stage == REPLAYED:
        return ItemStatus(index, ItemState.STORED, reason=item.reason)
    if item.stage == DUPLICATE:
        return ItemStatus(index, ItemState.DUPLICATE, reason=item.reason)
    return ItemStatus(index, ItemState.QUARANTINED, item.stage, item.reason)


def _indexes(receipt: Receipt) -> Sequence[int]:
    return range(receipt.count) if receipt.indexes is None else receipt.indexes


ENDPOINTS = (
    QueryEndpoint(
        receipt_status,
        openapi.Operation(
            method="GET",
            path="/v1/receipts/{receipt}",
            operation_id="lookUpReceipt",
            tag="Receipts",
            summary="Show the status of the items of a request",
            description="The key needs `track:events` or `read:data`, and access to the website. "
            "Rejected items are not included: the response of the collector named them.",
            parameters=(
                openapi.Parameter(
                    "receipt",
                    "receipt from a response of the collector",
                    required=True,
                    location="path",
                ),
                openapi.Parameter(
                    "bots",
                    "also say which stored items are bots', by which rule; needs `read:data`",
                    {"type": "boolean", "default": False},
                ),
            ),
            responses=(openapi.Response(200, "status of each item", ReceiptResponse),),
            errors=(*KEY_ERRORS, Malformed, NotFound),
        ),
    ),
)
