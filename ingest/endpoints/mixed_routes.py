"""MIXED: the routes of public trackers whose items are of several shapes, declared once each."""

from starlette.types import Receive, Scope, Send

from ingest.decoding.decoder import JSON_WHITESPACE, join_items, split_items
from ingest.decoding.field_aliases import RawFields
from ingest.decoding.request_head import RequestHead
from ingest.decoding.tracker_formats import NAMED_EVENT_FORMAT, TrackerFormat, format_by_type
from ingest.endpoints.collect import receive_body
from ingest.endpoints.mixed import MixedRoute, RawItems
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
from schemas.errors import Malformed
from schemas.http.asgi import send_json


async def read_item(scope: Scope, receive: Receive, head: RequestHead) -> RawItems:
    """The body is one item."""
    body = await _read_json(scope, receive, head, b"{", "an item")
    return split_items(join_items([body]), single=True)


async def read_items(scope: Scope, receive: Receive, head: RequestHead) -> RawItems:
    """The body is an array of items."""
    return split_items(await _read_json(scope, receive, head, b"[", "an array of items"))


async def read_query(scope: Scope, receive: Receive, head: RequestHead) -> RawItems:  # noqa: ARG001
    """The query string is one item."""
    return [parse_query_fields(scope["query_string"])]


async def _read_json(
    scope: Scope, receive: Receive, head: RequestHead, first: bytes, allowed: str
) -> bytes:
    body = (await receive_body(scope, receive, head)).strip(JSON_WHITESPACE)
    if body[:1] != first:
        raise Malformed(f"The body must be JSON in UTF-8: {allowed}")
    return body


def event_format(fields: RawFields) -> TrackerFormat:  # noqa: ARG001
    """Every item is an event."""
    return NAMED_EVENT_FORMAT


async def respond_single(send: Send, result: MixedResult) -> None:
    await send_json(send, 200, single_body(result))


async def respond_events(send: Send, result: MixedResult) -> None:
    await send_json(send, 200, events_body(result))


async def respond_batch(send: Send, result: MixedResult) -> None:
    await send_json(send, 200, batch_body(result))


async def respond_pixel(send: Send, result: MixedResult) -> None:
    await send_pixel(send, receipt_member(result)["receipt"])


MIXED_ROUTES = (
    MixedRoute("/", "POST", read_item, format_by_type, respond_single, no_details),
    MixedRoute("/batch", "POST", read_items, format_by_type, respond_batch, item_details),
    MixedRoute("/events", "POST", read_items, event_format, respond_events, no_details),
    MixedRoute("/px.jpg", "GET", read_query, format_by_type, respond_pixel, no_details),
)
