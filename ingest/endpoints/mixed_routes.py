"""MIXED: the routes of public trackers whose items are of several shapes, declared once each."""

from starlette.types import Receive, Scope, Send

from ingest.decoding.decoder import SPACE, as_array, taken_apart
from ingest.decoding.field_aliases import Fields
from ingest.decoding.request_head import Head
from ingest.decoding.tracker_formats import NAMED_EVENT, Shape, by_type
from ingest.endpoints.collect import take_body
from ingest.endpoints.mixed import Items, Mixed
from ingest.endpoints.mixed_responses import (
    Result,
    by_item,
    nothing,
    of_batch,
    of_events,
    of_one,
    receipt,
)
from ingest.endpoints.pixel import answer_pixel, fields_of
from schemas.errors import Malformed
from schemas.http.asgi import answer


async def one_item(scope: Scope, receive: Receive, head: Head) -> Items:
    """The body is one item."""
    body = await _body(scope, receive, head, b"{", "an item")
    return taken_apart(as_array([body]), single=True)


async def many_items(scope: Scope, receive: Receive, head: Head) -> Items:
    """The body is an array of items."""
    return taken_apart(await _body(scope, receive, head, b"[", "an array of items"))


async def in_query(scope: Scope, receive: Receive, head: Head) -> Items:  # noqa: ARG001
    """The query string is one item."""
    return [fields_of(scope["query_string"])]


async def _body(scope: Scope, receive: Receive, head: Head, first: bytes, allowed: str) -> bytes:
    body = (await take_body(scope, receive, head)).strip(SPACE)
    if body[:1] != first:
        raise Malformed(f"The body must be JSON in UTF-8: {allowed}")
    return body


def a_named_event(fields: Fields) -> Shape:  # noqa: ARG001
    """Every item is an event."""
    return NAMED_EVENT


async def reply_one(send: Send, result: Result) -> None:
    await answer(send, 200, of_one(result))


async def reply_events(send: Send, result: Result) -> None:
    await answer(send, 200, of_events(result))


async def reply_batch(send: Send, result: Result) -> None:
    await answer(send, 200, of_batch(result))


async def reply_pixel(send: Send, result: Result) -> None:
    await answer_pixel(send, receipt(result)["receipt"])


MIXED = (
    Mixed("/", "POST", one_item, by_type, reply_one, nothing),
    Mixed("/batch", "POST", many_items, by_type, reply_batch, by_item),
    Mixed("/events", "POST", many_items, a_named_event, reply_events, nothing),
    Mixed("/px.jpg", "GET", in_query, by_type, reply_pixel, nothing),
)
