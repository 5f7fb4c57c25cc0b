"""GET /debug: the last items received for a website, with rejects and reasons, once or as a stream.

It requires a key with `read:data`: what visitors did is data, and a key that may only send must not
read it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs

from starlette.types import ASGIApp, Receive, Scope, Send

from ingest.decoding.request_head import read_request_head
from ingest.dependencies import CollectorEndpoint, Dependencies
from ingest.endpoints.debug_lines import DebugLines
from ingest.endpoints.responses import DebugResponse
from ingest.peers.all_peers import PeerReader
from ingest.publishing.recent_requests import FollowerQueue, merged, put_dropping_oldest
from schemas.errors import (
    ApiError,
    Forbidden,
    Malformed,
    MethodNotAllowed,
    RateLimitExceeded,
    Unauthorized,
    Unavailable,
)
from schemas.http.admission import Account
from schemas.http.asgi import send_json
from schemas.http.auth import authorize_organization, authorize_website, require_key
from schemas.http.error_bodies import encode_json
from schemas.http.openapi import Operation, Parameter, Response
from schemas.plans import Group
from schemas.registry import Key, Snapshot
from schemas.registry import KeyScope as KeyScope

DEBUG_PATH = "/debug"
MAX_SHOWN_ITEMS = 100
KEEPALIVE_SECONDS = 15.0
"""Interval of empty lines in a stream without requests."""
PEER_POLL_SECONDS = 1.0
"""Interval in which a stream reads what other processes received."""

WEBSITE_REQUIRED = "'website_id' is required in the query string"

DEBUG_OPERATION = Operation(
    method="GET",
    path=DEBUG_PATH,
    operation_id="debug",
    tag="Collect",
    summary="List the last items received for a website, with rejects and reasons",
    description="Requires a key with `read:data`. With `follow=1` the response is a stream of JSON "
    "lines: the last items, oldest first, then new ones as they are received, and an empty line "
    "every 15 seconds without any. Listed is what all collector processes have received since "
    "their start; `warning`, in a stream a line with that member only, says what is missing. "
    "What became of an item (stored, duplicate, a bot's) is in the response to "
    "`GET /v1/receipts/{receipt}?bots=true` of the query service, under its `index`.",
    parameters=(
        Parameter("website_id", "website id"),
        Parameter("follow", "1 for a stream", {"type": "string", "enum": ["0", "1"]}),
    ),
    responses=(
        Response(
            200,
            "the last items, newest first",
            DebugResponse,
            media_types=("application/x-ndjson",),
        ),
    ),
    errors=(Malformed, Unauthorized, Forbidden, RateLimitExceeded, Unavailable),
)


def debug(dependencies: Dependencies) -> ASGIApp:
    """The endpoint of `/debug`."""

    async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "GET":
            raise MethodNotAllowed("GET")
        registry, head = dependencies.registry.snapshot, read_request_head(scope)
        key = require_key(registry, head.key, KeyScope.READ_DATA, dependencies.clock())
        admission = dependencies.middleware.admission
        organization = registry.organizations[key.organization_id]
        await admission.admit(scope, Account(organization, Group.QUERY))
        subject_id = _subject_id(registry, key, head.website_id)
        if parse_qs(scope["query_string"].decode("latin-1")).get("follow", ["0"])[0] == "1":
            async with _follow(dependencies, subject_id, key.organization_id) as queue:
                await _stream(
                    queue,
                    lambda: _still_authorized(dependencies, head.key, subject_id),
                    receive,
                    send,
                )
            return
        await send_json(send, 200, await _recent(dependencies, subject_id), NO_STORE)

    return endpoint


NO_STORE = [(b"cache-control", b"no-store")]


async def _recent(dependencies: Dependencies, subject_id: str) -> dict[str, Any]:
    """The response body: the last items of all processes, newest first."""
    peers = await PeerReader(dependencies.peers, subject_id).read()
    lines = DebugLines()
    requests = merged(dependencies.publisher.recent_requests.latest(subject_id), peers.requests)
    items = [line for request in requests for line in lines.of_request(request)][::-1]
    body: dict[str, Any] = {
        "status": "success",
        "websiteId": subject_id,
        "processes": 1 + peers.processes,
        "items": items[:MAX_SHOWN_ITEMS],
    }
    proxies = dependencies.middleware.untrusted_proxies.problem
    if warning := "; ".join(filter(None, (peers.warning, proxies))):
        body["warning"] = warning
    return body


@asynccontextmanager
async def _follow(
    dependencies: Dependencies, subject_id: str, organization_id: str
) -> AsyncIterator[FollowerQueue]:
    """The queue of a stream, which gets what other processes receive as well."""
    reader = PeerReader(dependencies.peers, subject_id)
    peers = await reader.read()
    recent_requests = dependencies.publisher.recent_requests
    with recent_requests.follow(subject_id, organization_id, peers.requests) as queue:
        if peers.warning:
            put_dropping_oldest(queue, peers.warning)
        polling = asyncio.create_task(_poll_peers(reader, queue, peers.warning))
        try:
            yield queue
        finally:
            polling.cancel()


async def _poll_peers(reader: PeerReader, queue: FollowerQueue, warning: str) -> None:
    while True:
        await asyncio.sleep(PEER_POLL_SECONDS)
        peers = await reader.read()
        for request in peers.requests:
            put_dropping_oldest(queue, request)
        if peers.warning and peers.warning != warning:
            put_dropping_oldest(queue, peers.warning)
        warning = peers.warning


def _subject_id(registry: Snapshot, key: Key, website_id: str | None) -> str:
    subject_id = website_id or key.website_id
    if subject_id is None:
        raise Malformed(WEBSITE_REQUIRED)
    if subject_id == key.organization_id:  # items that a server sent without a website id
        return authorize_organization(registry, key, subject_id).id
    return authorize_website(registry, key, subject_id).id


def _still_authorized(dependencies: Dependencies, text: str | None, subject_id: str) -> bool:
    """Whether the key still exists, and still has access to the subject."""
    registry = dependencies.registry.snapshot
    try:
        key = require_key(registry, text, KeyScope.READ_DATA, dependencies.clock())
        _subject_id(registry, key, subject_id)
    except ApiError:
        return False
    return True


async def _stream(
    queue: FollowerQueue, is_authorized: Callable[[], bool], receive: Receive, send: Send
) -> None:
    """Send JSON lines until the client disconnects, the key is revoked or the collector stops."""
    headers = [(b"content-type", b"application/x-ndjson"), *NO_STORE]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    disconnected = asyncio.create_task(_client_disconnected(receive))
    lines = DebugLines()
    try:
        while (text := await _next_lines(queue, disconnected, lines)) is not None and (
            is_authorized()
        ):
            await send({"type": "http.response.body", "body": text, "more_body": True})
    finally:
        disconnected.cancel()
    await send({"type": "http.response.body", "body": b""})


async def _next_lines(
    queue: FollowerQueue, disconnected: "asyncio.Task[None]", lines: DebugLines
) -> bytes | None:
    """The lines of the next request; an empty line after a timeout; None at the end."""
    next_request = asyncio.create_task(queue.get())
    done, _ = await asyncio.wait(
        (next_request, disconnected), timeout=KEEPALIVE_SECONDS, return_when=asyncio.FIRST_COMPLETED
    )
    if next_request not in done:
        next_request.cancel()
        return None if disconnected in done else b"\n"
    request = next_request.result()
    if request is None:
        return None
    if isinstance(request, str):
        return encode_json({"warning": request}) + b"\n"
    return b"".join(encode_json(line) + b"\n" for line in lines.of_request(request))


async def _client_disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


DEBUG_ENDPOINT = CollectorEndpoint((DEBUG_OPERATION,), debug)
