"""The endpoint for items of any shape: as `collect`, but one request may hold several kinds.

Each kind has a topic of its own, and no message lies in two of them. So what one request brings of
one kind is in Kafka whole or not at all, and the answer says for each item whether Kafka has it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from msgspec import Raw, Struct
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
from ingest.endpoints.rate_limits import admit_request, charge_rejects, count_request
from ingest.publishing.envelopes import EncodedRequest, EnvelopeHeader, encode_request
from schemas.errors import ApiError, MethodNotAllowed, NoneAccepted, PayloadTooLarge
from schemas.http.openapi import Operation

RawItems = Sequence[Raw | RawFields]


class MixedRoute(Struct, frozen=True):
    """One route whose items are told apart by what they say of themselves."""

    operation: Operation
    """Method and path of the route, and its OpenAPI description."""
    read_items: Callable[[Scope, Receive, RequestHead], Awaitable[RawItems]]
    """The items of a request; Malformed when there are none."""
    format_of: FormatOf
    respond: Callable[[Send, MixedResult], Awaitable[None]]
    error_details: Callable[[MixedResult], Mapping[str, Any]]
    """What the body of a failure says besides."""


def mixed_endpoint(route: MixedRoute, desk: Dependencies) -> ASGIApp:
    """The endpoint of that route."""
    method, path = route.operation.method, route.operation.path

    async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != method:
            raise MethodNotAllowed(method)
        head, network, now = (
            read_request_head(scope),
            desk.middleware.client_network(scope),
            desk.clock(),
        )
        sender = authenticate(head, desk.registry.snapshot, now)
        buckets = admit_request(desk, scope, sender, network, now)
        items = await route.read_items(scope, receive, head)
        found = group_by_kind(items, route.format_of)
        if sender is None:
            sender = authenticate_by_website(first_website(found), desk.registry.snapshot, head)
        sealed = encode_by_kind(found, sender, head, network, desk)
        if sealed:
            good = sum(one.count for _, one in sealed)
            count_request(desk, scope, sender, network, buckets, body_size(items, scope), good)
        result = await publish_by_kind(found, sealed, desk)
        failure = request_error(result, route.error_details(result))
        if failure is not None:
            raise failure
        record_rejects(desk, sender.subject_id, path, found.rejected.values())
        charge_rejects(desk, sender, network, len(found.rejected))
        await route.respond(send, result)

    return endpoint


def body_size(items: RawItems, scope: Scope) -> int:
    """Bytes that the items came as."""
    bodies = [memoryview(item).nbytes for item in items if isinstance(item, Raw)]
    return sum(bodies) or len(scope["query_string"])


def first_website(found: ItemsByKind) -> str | None:
    """The website that the first good item names; NoneAccepted when none is good."""
    if found.first_item is None:
        raise none_accepted_error([found.rejected[index] for index in sorted(found.rejected)])
    return found.first_item.website_id


def encode_by_kind(
    found: ItemsByKind, sender: Sender, head: RequestHead, address: str, desk: Dependencies
) -> list[tuple[KindItems, EncodedRequest]]:
    """What is to be sent; items of websites out of reach become rejects."""
    registry, now = desk.registry.snapshot, desk.clock()
    cover = EnvelopeHeader(sender, head, address, now, desk.anonymous_ids)
    sealed: list[tuple[KindItems, EncodedRequest]] = []
    for share in found.by_kind.values():
        if share.size_bytes > MAX_BODY_BYTES:
            raise PayloadTooLarge(
                f"The items may have at most {MAX_BODY_BYTES:,} bytes, once they are apart"
            )
    for share in found.by_kind.values():
        try:
            done = encode_request(share.accepted, cover, registry)
        except NoneAccepted as none:
            found.rejected.update({reject.index: reject for reject in none.details["rejected"]})
            continue
        found.rejected.update({reject.index: reject for reject in done.rejected})
        sealed.append((share, done))
    return sealed


async def publish_by_kind(
    found: ItemsByKind, sealed: Sequence[tuple[KindItems, EncodedRequest]], desk: Dependencies
) -> MixedResult:
    """What became of each kind; all are under way at the same time."""
    receipt_key = desk.registry.snapshot.receipts
    sending = [
        desk.publisher.publish(share.kind.topic, done, receipt_key) for share, done in sealed
    ]
    answers = await asyncio.gather(*sending, return_exceptions=True)
    receipts: dict[str, str] = {}
    failures: dict[str, ApiError] = {}
    for (share, _), answer in zip(sealed, answers, strict=True):
        if isinstance(answer, str):
            receipts[share.kind.name] = answer
        elif isinstance(answer, ApiError):
            failures[share.kind.name] = answer
        else:
            raise answer
    if receipts:
        _reject_too_large([share for share, _ in sealed], found, failures)
    return MixedResult(found, receipts, failures)


def _reject_too_large(
    shares: Sequence[KindItems], found: ItemsByKind, failures: dict[str, ApiError]
) -> None:
    """Reject the items of a kind that will never fit, or a tracker sends all of it for ever."""
    for share in shares:
        failure = failures.get(share.kind.name)
        if isinstance(failure, PayloadTooLarge):
            del failures[share.kind.name]
            for place in share.indexes:
                found.rejected.setdefault(place, RejectedItem(place, failure.code, failure.message))
