"""Requests with items of several kinds: the endpoint, its responses, and the routes that take them.

As `collect`, but published per kind. Each kind has its own topic, and one message cannot be in two
topics. So the items of one kind are published all or none, and the response has a result per item.

MIXED_ROUTES: `/`, `/batch`, `/events` and the pixel, declared once each.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Raw, Struct
from msgspec.structs import replace
from starlette.types import ASGIApp, Receive, Scope, Send

from ingest.decoding.auth import Sender, authenticate, authenticate_by_website
from ingest.decoding.body import receive_body
from ingest.decoding.contract_drift import ItemDrift
from ingest.decoding.decoder import (
    JSON_WHITESPACE,
    RejectedItem,
    join_items,
    none_accepted_error,
    split_items,
)
from ingest.decoding.field_aliases import RawFields
from ingest.decoding.ignored_parameters import IgnoredParameters
from ingest.decoding.items_by_kind import FormatOf, ItemsByKind, KindItems, group_by_kind
from ingest.decoding.limits import MAX_BODY_BYTES, MAX_ITEMS
from ingest.decoding.request_head import RequestHead, read_request_head
from ingest.decoding.tracker_formats import (
    NAMED_EVENT_FORMAT,
    TRACKER_FORMATS,
    TrackerFormat,
    format_by_type,
)
from ingest.dependencies import Dependencies
from ingest.endpoints.debug import record_drift, record_rejects
from ingest.endpoints.item_schemas import SECURITY, WEBSITE_PARAMETERS, AnyItem, EventItem
from ingest.endpoints.pixel import parse_query_fields, send_pixel
from ingest.endpoints.responses import (
    COLLECT_ERRORS,
    CollectBatchResponse,
    CollectResponse,
    remarks,
)
from ingest.endpoints.wait_for_storage import waiting_endpoint
from ingest.publishing.envelopes import EncodedRequest, EnvelopeHeader, encode_request
from schemas.errors import (
    ApiError,
    Malformed,
    MethodNotAllowed,
    NoneAccepted,
    OutcomeUnknown,
    PayloadTooLarge,
)
from schemas.http.asgi import send_json
from schemas.http.openapi import Operation, Parameter, Response
from schemas.http.unknown_records import snapshot_with_websites
from schemas.tables.events import CustomEvent

PARTIAL_MESSAGE = (
    "Only some of the items were acknowledged; see 'results'. Items with an eventId can be sent "
    "again; duplicates are stored once"
)


class MixedResult(Struct, frozen=True):
    """Outcome of a mixed request."""

    items: ItemsByKind
    receipts: Mapping[str, str]
    """By name of the kinds that Kafka acknowledged."""
    errors: Mapping[str, ApiError]
    """By name of the kinds that it did not."""
    adjusted: int = 0
    """Number of items that Kafka acknowledged, and that are stored under another time."""
    ignored_parameters: IgnoredParameters | None = None
    """Unknown parameters of the query string."""
    drift: Sequence[ItemDrift] = ()
    """Items that Kafka acknowledged, and that differ from the contract of their website."""

    @property
    def accepted_indexes(self) -> list[int]:
        """Indexes of the items that Kafka acknowledged."""
        return [i for i in range(len(self.items.summaries)) if self.rejection(i) is None]

    def rejection(self, index: int) -> RejectedItem | None:
        """Why an item was not accepted; None if it was."""
        if index in self.items.rejected:
            return self.items.rejected[index]
        error = self.errors.get(self.items.summaries[index].kind or "")
        return None if error is None else RejectedItem(index, error.code, error.message)


def single_body(result: MixedResult) -> dict[str, Any]:
    """Response body for a request with one item."""
    summary = result.items.summaries[0]
    body = {"status": "success", "type": summary.type, "count": 1, **receipt_member(result)}
    return body | remarks_member(result)


def events_body(result: MixedResult) -> dict[str, Any]:
    """Response body for a request with events of one format."""
    rejected = [result.items.rejected[i] for i in sorted(result.items.rejected)]
    body = {"status": "success", "type": "custom_event", "count": len(result.accepted_indexes)}
    body |= {**receipt_member(result), **({"rejected": rejected} if rejected else {})}
    return body | remarks_member(result)


def batch_body(result: MixedResult) -> dict[str, Any]:
    """Response body for a request with items of several kinds."""
    status = "success" if len(result.accepted_indexes) == len(result.items.summaries) else "partial"
    return {"status": status, **item_details(result), **remarks_member(result)}


def remarks_member(result: MixedResult) -> dict[str, object]:
    """What was ignored and adjusted in accepted items, or differs, where anything does."""
    ignored = [one for one in result.items.ignored if result.rejection(one.index) is None]
    return remarks(ignored, result.adjusted, result.ignored_parameters, result.drift)


def receipt_member(result: MixedResult) -> dict[str, str]:
    """The receipt of a request with one kind."""
    [receipt] = result.receipts.values()
    return {"receipt": receipt}


def no_details(result: MixedResult) -> dict[str, Any]:  # noqa: ARG001
    """No additional fields in an error body."""
    return {}


def item_details(result: MixedResult) -> dict[str, Any]:
    """One result per item; also part of error bodies."""
    accepted_types = [result.items.summaries[i].type for i in result.accepted_indexes]
    return {
        "batch": True,
        "processed": len(accepted_types),
        "batched": {type_: accepted_types.count(type_) for type_ in dict.fromkeys(accepted_types)},
        "receipts": dict(result.receipts),
        "results": [_item_result(result, index) for index in range(len(result.items.summaries))],
    }


def _item_result(result: MixedResult, index: int) -> dict[str, Any]:
    summary, reject = result.items.summaries[index], result.rejection(index)
    event_id = {} if summary.event_id is None else {"eventId": summary.event_id}
    if reject is None:
        return {"status": "success", "type": summary.type, **event_id}
    error = {"status": "error", "message": reject.message, "code": reject.code}
    return {**error, "eventType": summary.type, **event_id}


def request_error(result: MixedResult, details: Mapping[str, Any]) -> ApiError | None:
    """The error of a request; None if its valid items were acknowledged."""
    if not result.errors and result.receipts:
        return None
    if not result.errors:
        rejected = [result.items.rejected[i] for i in sorted(result.items.rejected)]
        return NoneAccepted(none_accepted_error(rejected).message, rejected=rejected, **details)
    most_severe = max(result.errors.values(), key=_retry_rank)
    if result.receipts:
        return OutcomeUnknown(PARTIAL_MESSAGE, **details)
    most_severe.details.update(details)
    return most_severe


def _retry_rank(error: ApiError) -> int:
    """Errors that a client retries rank first, so that no item is lost."""
    return (
        2 if isinstance(error, OutcomeUnknown) else 0 if isinstance(error, PayloadTooLarge) else 1
    )


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
        ticket = await admission.admit(scope, sender.holder if sender else None, client_network)
        items = await route.read_items(scope, receive, head)
        grouped = group_by_kind(items, route.format_of)
        if sender is None or sender.trusted:
            await snapshot_with_websites(dependencies.registry, named_websites(grouped))
        if sender is None:
            sender = authenticate_by_website(
                first_website(grouped), dependencies.registry.snapshot, head
            )
            ticket.holder = sender.holder
        encoded = encode_by_kind(grouped, sender, head, client_network, dependencies)
        if encoded:
            item_count = sum(encoded_request.count for _, encoded_request in encoded)
            await ticket.charge(body_size(items, scope), item_count, len(grouped.rejected))
        result = await publish_by_kind(grouped, encoded, dependencies)
        error = request_error(result, route.error_details(result))
        if error is not None:
            raise error
        record_rejects(dependencies, sender.subject_id, path, grouped.rejected.values())
        if result.drift:
            record_drift(dependencies, path, result.drift)
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
    adjusted, drift = 0, list[ItemDrift]()
    for (kind_items, encoded_request), outcome in zip(encoded, outcomes, strict=True):
        if isinstance(outcome, str):
            receipts[kind_items.kind.name] = outcome
            adjusted += encoded_request.adjusted
            drift += encoded_request.drift
        elif isinstance(outcome, ApiError):
            errors[kind_items.kind.name] = outcome
        else:
            raise outcome
    if receipts:
        _reject_too_large([kind_items for kind_items, _ in encoded], grouped, errors)
    return MixedResult(grouped, receipts, errors, adjusted, drift=drift)


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


async def read_item(scope: Scope, receive: Receive, head: RequestHead) -> RawItems:
    """Read a body with one item."""
    body = await _read_json(scope, receive, head, b"{", "an item")
    return split_items(join_items([body]), single=True)


async def read_items(scope: Scope, receive: Receive, head: RequestHead) -> RawItems:
    """Read a body with an array of items."""
    return split_items(await _read_json(scope, receive, head, b"[", "an array of items"))


async def read_query(scope: Scope, receive: Receive, head: RequestHead) -> RawItems:  # noqa: ARG001
    """Read one item from the query string."""
    return [parse_query_fields(scope["query_string"])]


async def _read_json(
    scope: Scope, receive: Receive, head: RequestHead, first: bytes, allowed: str
) -> bytes:
    body = (await receive_body(scope, receive, head)).strip(JSON_WHITESPACE)
    if body[:1] != first:
        raise Malformed(f"The body must be JSON in UTF-8: {allowed}")
    return body


def event_format(fields: RawFields) -> TrackerFormat:  # noqa: ARG001
    """The format of `/events`: every item is an event."""
    return NAMED_EVENT_FORMAT


async def respond_single(send: Send, result: MixedResult) -> None:
    await send_json(send, 200, single_body(result))


async def respond_events(send: Send, result: MixedResult) -> None:
    await send_json(send, 200, events_body(result))


async def respond_batch(send: Send, result: MixedResult) -> None:
    await send_json(send, 200, batch_body(result))


async def respond_pixel(send: Send, result: MixedResult) -> None:
    await send_pixel(send, receipt_member(result)["receipt"])


PAGE_VIEW_EXAMPLE = {
    "type": "track",
    "name": "screen_view",
    "path": "https://shop.example/",
    "eventId": "e1",
}
OUTBOUND_CLICK_EXAMPLE = {
    "type": "outgoing_link",
    "href": "https://x.example/",
    "text": "more",
    "eventId": "e2",
}

SEND_OPERATION = Operation(
    method="POST",
    path="/",
    operation_id="send",
    tag="Trackers",
    summary="Send one item of any type",
    description="An item without `type` is a page view. Also accepted are items of the first "
    "trackers, with their fields in `payload`, and several web vitals in one item (`lcp`, `cls`, "
    "…).",
    parameters=WEBSITE_PARAMETERS,
    body=AnyItem,
    examples={"a page view": PAGE_VIEW_EXAMPLE, "an outbound click": OUTBOUND_CLICK_EXAMPLE},
    responses=(Response(200, "accepted", CollectResponse),),
    errors=COLLECT_ERRORS,
    security=SECURITY,
)

BATCH_OPERATION = Operation(
    method="POST",
    path="/batch",
    operation_id="batch",
    tag="Trackers",
    summary="Send items of mixed types",
    description=f"At most {MAX_ITEMS} per request. `results` has the outcome of each item, also in "
    "a 503: send the request again; within 24 hours, items with an eventId are stored once.",
    parameters=WEBSITE_PARAMETERS,
    body=Annotated[list[AnyItem], Meta(min_length=1, max_length=MAX_ITEMS)],
    examples={"a page view and an outbound click": [PAGE_VIEW_EXAMPLE, OUTBOUND_CLICK_EXAMPLE]},
    responses=(
        Response(200, "accepted or partially accepted; see `results`", CollectBatchResponse),
    ),
    errors=COLLECT_ERRORS,
    security=SECURITY,
)

EVENTS_OPERATION = Operation(
    method="POST",
    path="/events",
    operation_id="events",
    tag="Trackers",
    summary="Track events that use `eventName`",
    parameters=WEBSITE_PARAMETERS,
    body=Annotated[list[EventItem], Meta(min_length=1, max_length=MAX_ITEMS)],
    examples={"one event": [{"eventName": "signup", "properties": {"plan": "pro"}}]},
    responses=(Response(200, "accepted", CollectResponse),),
    errors=COLLECT_ERRORS,
    security=SECURITY,
)

PIXEL_OPERATION = Operation(
    method="GET",
    path="/px.jpg",
    operation_id="pixel",
    tag="Trackers",
    summary="Track one item by an image request (tracking pixel)",
    description="Any field of an item can be a query parameter; `properties` as JSON, or one "
    "of its members as `properties[plan]`.",
    parameters=(
        *WEBSITE_PARAMETERS,
        Parameter("type", "default: a page view", {"enum": list(TRACKER_FORMATS)}),
        *(
            Parameter(field.encode_name, "as in the JSON item")
            for field in msgspec.structs.fields(CustomEvent)
        ),
    ),
    responses=(Response(200, "an image of one pixel", media_types=("image/gif",)),),
    errors=COLLECT_ERRORS,
    security=SECURITY,
)

MIXED_ROUTES = (
    MixedRoute(SEND_OPERATION, read_item, format_by_type, respond_single, no_details),
    MixedRoute(BATCH_OPERATION, read_items, format_by_type, respond_batch, item_details),
    MixedRoute(EVENTS_OPERATION, read_items, event_format, respond_events, no_details),
    MixedRoute(PIXEL_OPERATION, read_query, format_by_type, respond_pixel, no_details),
)

MIXED_ENDPOINTS = tuple(
    waiting_endpoint(route.operation, partial(mixed_endpoint, route)) for route in MIXED_ROUTES
)
