"""Endpoint for requests with items of several kinds; as `collect`, but published per kind.

Each kind has its own topic, and one message cannot be in two topics. So the items of one kind are
published all or none, and the response has a result per item.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from msgspec import Raw, Struct
from msgspec.structs import replace
from starlette.types import ASGIApp, Receive, Scope, Send

from ingest.decoding.auth import Sender, authenticate, authenticate_by_website
from ingest.decoding.decoder import RejectedItem, none_accepted_error
from ingest.decoding.field_aliases import RawFields
from ingest.decoding.items_by_kind import FormatOf, ItemsByKind, KindItems, group_by_kind
from ingest.decoding.limits import MAX_BODY_BYTES
from ingest.decoding.request_head import RequestHead, read_request_head
from ingest.dependencies import Dependencies
from ingest.endpoints.debug_log import record_rejects
from ingest.endpoints.mixed_responses import MixedResult, request_error
from ingest.publishing.envelopes import EncodedRequest, EnvelopeHeader, encode_request
from schemas.errors import ApiError, MethodNotAllowed, NoneAccepted, PayloadTooLarge
from schemas.http.openapi import Operation
from schemas.http.unknown_records import snapshot_with_websites

RawItems = Sequence[Raw | RawFields]


class MixedRoute(Struct, frozen=True):
    """A route whose items have their kind in the item itself."""

    operation: Operation
    """Method and path of the route, and its OpenAPI description."""
    read_items: Callable[[Scope, Receive, RequestHead], Awaitable[RawItems]]
    """Read the items of a request; Malformed if there are none."""
    format_of: FormatOf
    respond: Callable[[Send, MixedResult], Awaitable[None]]
    error_details: Callable[[MixedResult], Mapping[str, Any]]
    """Additional fields of an error body."""


def mixed_endpoint(route: MixedRoute, dependencies: Dependencies) -> ASGIApp:
    """The endpoint of a route for mixed items."""
    method, path = route.operation.method, route.operation.path

    async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != method:
            raise MethodNotAllowed(method)
        head, client_network, now = (
            read_request_head(scope),
            dependencies.middleware.client_network(scope),
            dependencies.clock(),
        )
        sender = authenticate(head, dependencies.registry.snapshot, now)
        admission = dependencies.middleware.admission
        ticket = await admission.admit(scope, sender and sender.account, client_network)
        items = await route.read_items(scope, receive, head)
        grouped = group_by_kind(items, route.format_of)
        if sender is None or sender.trusted:
            await snapshot_with_websites(dependencies.registry, named_websites(grouped))
        if sender is None:
            sender = authenticate_by_website(
                first_website(grouped), dependencies.registry.snapshot, head
            )
            ticket.account = sender.account
        encoded = encode_by_kind(grouped, sender, head, client_network, dependencies)
        if encoded:
            item_count = sum(encoded_request.count for _, encoded_request in encoded)
            await ticket.charge(body_size(items, scope), item_count, len(grouped.rejected))
        result = await publish_by_kind(grouped, encoded, dependencies)
        error = request_error(result, route.error_details(result))
        if error is not None:
            raise error
        record_rejects(dependencies, sender.subject_id, path, grouped.rejected.values())
        if head.ignored_parameters:
            result = replace(result, ignored_parameters=head.ignored_parameters)
        await route.respond(send, result)

    return endpoint


def body_size(items: RawItems, scope: Scope) -> int:
    """Size of the items as they were sent."""
    bodies = [memoryview(item).nbytes for item in items if isinstance(item, Raw)]
    return sum(bodies) or len(scope["query_string"])


def named_websites(grouped: ItemsByKind) -> set[str | None]:
    """The `websiteId` of all accepted items."""
    return {item.website_id for kind_items in grouped.by_kind.values() for item in kind_items.items}


def first_website(grouped: ItemsByKind) -> str | None:
    """The `websiteId` of the first accepted item; NoneAccepted if there is none."""
    if grouped.first_item is None:
        raise none_accepted_error([grouped.rejected[index] for index in sorted(grouped.rejected)])
    return grouped.first_item.website_id


def encode_by_kind(
    grouped: ItemsByKind,
    sender: Sender,
    head: RequestHead,
    address: str,
    dependencies: Dependencies,
) -> list[tuple[KindItems, EncodedRequest]]:
    """Encode the items of each kind; items of other websites are added to the rejects."""
    registry, now = dependencies.registry.snapshot, dependencies.clock()
    header = EnvelopeHeader(sender, head, address, now, dependencies.anonymous_ids)
    items = [item for kind_items in grouped.by_kind.values() for item in kind_items.items]
    header = header.with_clock_offset(dependencies.clock_offsets, items)
    encoded: list[tuple[KindItems, EncodedRequest]] = []
    for kind_items in grouped.by_kind.values():
        if kind_items.size_bytes > MAX_BODY_BYTES:
            raise PayloadTooLarge(f"The items may have at most {MAX_BODY_BYTES:,} bytes per kind")
    for kind_items in grouped.by_kind.values():
        try:
            encoded_request = encode_request(kind_items.accepted, header, registry)
        except NoneAccepted as error:
            grouped.rejected.update({reject.index: reject for reject in error.details["rejected"]})
            continue
        grouped.rejected.update({reject.index: reject for reject in encoded_request.rejected})
        encoded.append((kind_items, encoded_request))
    return encoded


async def publish_by_kind(
    grouped: ItemsByKind,
    encoded: Sequence[tuple[KindItems, EncodedRequest]],
    dependencies: Dependencies,
) -> MixedResult:
    """Publish all kinds concurrently; returns the receipt or error of each."""
    receipt_key = dependencies.registry.snapshot.receipt_key
    publishes = [
        dependencies.publisher.publish(kind_items.kind.topic, encoded_request, receipt_key)
        for kind_items, encoded_request in encoded
    ]
    outcomes = await asyncio.gather(*publishes, return_exceptions=True)
    receipts: dict[str, str] = {}
    errors: dict[str, ApiError] = {}
    adjusted = 0
    for (kind_items, encoded_request), outcome in zip(encoded, outcomes, strict=True):
        if isinstance(outcome, str):
            receipts[kind_items.kind.name] = outcome
            adjusted += encoded_request.adjusted
        elif isinstance(outcome, ApiError):
            errors[kind_items.kind.name] = outcome
        else:
            raise outcome
    if receipts:
        _reject_too_large([kind_items for kind_items, _ in encoded], grouped, errors)
    return MixedResult(grouped, receipts, errors, adjusted)


def _reject_too_large(
    published: Sequence[KindItems], grouped: ItemsByKind, errors: dict[str, ApiError]
) -> None:
    """Reject the items of a kind that is too large, so that the tracker does not retry them."""
    for kind_items in published:
        error = errors.get(kind_items.kind.name)
        if isinstance(error, PayloadTooLarge):
            del errors[kind_items.kind.name]
            for index in kind_items.indexes:
                grouped.rejected.setdefault(index, RejectedItem(index, error.code, error.message))
