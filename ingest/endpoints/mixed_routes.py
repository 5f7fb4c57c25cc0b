"""MIXED_ROUTES: `/`, `/batch`, `/events` and the pixel, declared once each."""

from functools import partial
from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.types import Receive, Scope, Send

from ingest.decoding.body import receive_body
from ingest.decoding.decoder import JSON_WHITESPACE, join_items, split_items
from ingest.decoding.field_aliases import RawFields
from ingest.decoding.limits import MAX_ITEMS
from ingest.decoding.request_head import RequestHead
from ingest.decoding.tracker_formats import (
    NAMED_EVENT_FORMAT,
    TRACKER_FORMATS,
    TrackerFormat,
    format_by_type,
)
from ingest.endpoints.item_schemas import SECURITY, WEBSITE_PARAMETERS, AnyItem, EventItem
from ingest.endpoints.mixed import MixedRoute, RawItems, mixed_endpoint
from ingest.endpoints.mixed_responses import (
    MixedResult,
    batch_body,
    events_body,
    item_details,
    no_details,
    receipt_member,
    single_body,
)
from ingest.endpoints.pixel import parse_query_fields, send_pixel
from ingest.endpoints.responses import COLLECT_ERRORS, CollectBatchResponse, CollectResponse
from ingest.endpoints.wait_for_storage import waiting_endpoint
from schemas.errors import Malformed
from schemas.http.asgi import send_json
from schemas.http.openapi import Operation, Parameter, Response
from schemas.tables.events import CustomEvent


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
