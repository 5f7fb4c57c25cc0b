"""GET /debug: the last items received for a website, accepted or not and why, once or live.

It needs `read:data`: what visitors did is data, and a key that only sends must not show it.
"""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs

import msgspec
from msgspec import Raw
from starlette.types import ASGIApp, Receive, Scope, Send

from ingest.decoding.request_head import read_request_head
from ingest.dependencies import Dependencies
from ingest.endpoints.responses import DebugResponse
from ingest.publishing.recent_requests import FollowerQueue, RecentRequest
from schemas.envelope import decode_envelope
from schemas.errors import (
    ApiError,
    Forbidden,
    Malformed,
    MethodNotAllowed,
    RateLimitExceeded,
    Unauthorized,
    Unavailable,
)
from schemas.http.asgi import send_json
from schemas.http.auth import authorize_organization, authorize_website, require_key
from schemas.http.error_bodies import encode_json
from schemas.http.openapi import Operation, Parameter, Response
from schemas.kinds import ALL_KINDS
from schemas.plans import Group
from schemas.registry import Key, Snapshot
from schemas.registry import KeyScope as KeyScope
from schemas.runtime.clock import format_instant

DEBUG_PATH = "/debug"
MAX_SHOWN_ITEMS = 100
KEEPALIVE_SECONDS = 15.0
"""A follower hears something at least that often: an empty line when there is nothing."""

WEBSITE_REQUIRED = "Name the website as ?website_id="
REJECTS_OMITTED = "so many more were refused, too many to be kept here"
ITEMS_OMITTED = "too large to be kept here; it was sent on"

KIND_NAMES = {kind.topic: kind.name for kind in ALL_KINDS}

_raws = msgspec.json.Decoder(list[Raw])

DebugLine = dict[str, Any]

DEBUG_OPERATION = Operation(
    method="GET",
    path=DEBUG_PATH,
    operation_id="debug",
    tag="Collect",
    summary="Show the last items received for a website, accepted or not and why",
    description="The key needs `read:data`. With `follow=1` they come from the oldest on, and "
    "then as "
    "they are received, a line of JSON each; an empty line when nothing came for a while. Each "
    "collector process shows what it received itself, since its start.",
    parameters=(
        Parameter("website_id", "the website"),
        Parameter("follow", "whether to go on", {"type": "string", "enum": ["0", "1"]}),
    ),
    responses=(
        Response(200, "what was received", DebugResponse, media_types=("application/x-ndjson",)),
    ),
    errors=(Malformed, Unauthorized, Forbidden, RateLimitExceeded, Unavailable),
)


def debug(desk: Dependencies) -> ASGIApp:
    """The endpoint."""

    async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "GET":
            raise MethodNotAllowed("GET")
        registry, head = desk.registry.snapshot, read_request_head(scope)
        key = require_key(registry, head.key, KeyScope.READ_DATA, desk.clock())
        desk.middleware.admission.count_with_key(
            scope, registry.organizations[key.organization_id], Group.QUERY
        )
        subject_id = _subject_id(registry, key, head.website_id)
        if parse_qs(scope["query_string"].decode("latin-1")).get("follow", ["0"])[0] == "1":
            with desk.publisher.recent_requests.follow(subject_id, key.organization_id) as queue:
                await _stream(
                    queue, lambda: _still_authorized(desk, head.key, subject_id), receive, send
                )
            return
        items = [
            line
            for seen in desk.publisher.recent_requests.latest(subject_id)
            for line in debug_lines(seen)
        ]
        body = {"status": "success", "websiteId": subject_id, "items": items[:MAX_SHOWN_ITEMS]}
        await send_json(send, 200, body, NO_STORE)

    return endpoint


NO_STORE = [(b"cache-control", b"no-store")]


def _subject_id(registry: Snapshot, key: Key, website_id: str | None) -> str:
    subject_id = website_id or key.website_id
    if subject_id is None:
        raise Malformed(WEBSITE_REQUIRED)
    if subject_id == key.organization_id:  # what a server sent and named no website for
        return authorize_organization(registry, key, subject_id).id
    return authorize_website(registry, key, subject_id).id


def debug_lines(seen: RecentRequest) -> Iterator[DebugLine]:
    """What is shown of a request: a line for each item, the last one first."""
    at = {"receivedAt": format_instant(seen.at_ms)}
    if seen.error is not None:
        yield {
            **at,
            "accepted": False,
            "path": seen.topic_or_path,
            **msgspec.to_builtins(seen.error),
        }
    if seen.omitted_rejects:
        yield {
            **at,
            "accepted": False,
            "path": seen.topic_or_path,
            "count": seen.omitted_rejects,
            "message": REJECTS_OMITTED,
        }
    for reject in reversed(seen.rejected):
        yield {**at, "accepted": False, "path": seen.topic_or_path, **msgspec.to_builtins(reject)}
    if seen.receipt:
        yield from _accepted_lines(seen, at)


def _accepted_lines(seen: RecentRequest, at: DebugLine) -> Iterator[DebugLine]:
    said = {**at, "accepted": True, "type": KIND_NAMES[seen.topic_or_path], "receipt": seen.receipt}
    if not seen.envelope:
        yield {**said, "count": seen.count, "message": ITEMS_OMITTED}
        return
    envelope = decode_envelope(seen.envelope)
    whence = {
        "address": envelope.address,
        "userAgent": envelope.user_agent,
        "headers": envelope.headers,
        "byServer": envelope.trusted,
    }
    for item in reversed(_raws.decode(envelope.items)):
        yield {**said, **whence, "item": item}


def _still_authorized(desk: Dependencies, text: str | None, subject_id: str) -> bool:
    """Whether the key is still there, and still reaches what it follows."""
    registry = desk.registry.snapshot
    try:
        key = require_key(registry, text, KeyScope.READ_DATA, desk.clock())
        _subject_id(registry, key, subject_id)
    except ApiError:
        return False
    return True


async def _stream(
    queue: FollowerQueue, may_go_on: Callable[[], bool], receive: Receive, send: Send
) -> None:
    """Lines of JSON, the oldest first, until caller or key goes or the collector stops."""
    headers = [(b"content-type", b"application/x-ndjson"), *NO_STORE]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    gone = asyncio.create_task(_client_disconnected(receive))
    try:
        while (text := await _next_lines(queue, gone)) is not None and may_go_on():
            await send({"type": "http.response.body", "body": text, "more_body": True})
    finally:
        gone.cancel()
    await send({"type": "http.response.body", "body": b""})


async def _next_lines(queue: FollowerQueue, gone: "asyncio.Task[None]") -> bytes | None:
    """The lines of the next request; an empty one when none comes; None at the end."""
    coming = asyncio.create_task(queue.get())
    done, _ = await asyncio.wait(
        (coming, gone), timeout=KEEPALIVE_SECONDS, return_when=asyncio.FIRST_COMPLETED
    )
    if coming not in done:
        coming.cancel()
        return None if gone in done else b"\n"
    seen = coming.result()
    if seen is None:
        return None
    return b"".join(encode_json(line) + b"\n" for line in reversed([*debug_lines(seen)]))


async def _client_disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
