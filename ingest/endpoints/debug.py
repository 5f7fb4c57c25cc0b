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

from ingest.decoding.request_head import read_head
from ingest.dependencies import Desk
from ingest.publishing.recent_requests import Queue, Seen
from schemas.envelope import open_envelope
from schemas.errors import Failure, Malformed, WrongMethod
from schemas.http.asgi import answer
from schemas.http.auth import reach_organization, reach_website, require_key
from schemas.http.error_bodies import encode
from schemas.kinds import EVERY_KIND
from schemas.plans import Group
from schemas.registry import Key, Snapshot
from schemas.registry import Scope as KeyScope
from schemas.runtime.clock import iso

DEBUG = "/debug"
MOST_ITEMS = 100
BREATH_SECONDS = 15.0
"""A follower hears something at least that often: an empty line when there is nothing."""

NO_WEBSITE = "Name the website as ?website_id="
TOO_MANY = "so many more were refused, too many to be kept here"
TOO_LARGE = "too large to be kept here; it was sent on"

NAME_OF = {kind.topic: kind.name for kind in EVERY_KIND}

_raws = msgspec.json.Decoder(list[Raw])

Line = dict[str, Any]


def debug(desk: Desk) -> ASGIApp:
    """The endpoint."""

    async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "GET":
            raise WrongMethod("GET")
        registry, head = desk.registry.snapshot, read_head(scope)
        key = require_key(registry, head.key, KeyScope.READ_DATA, desk.clock())
        desk.edge.admission.keyed(scope, registry.organizations[key.organization_id], Group.QUERY)
        subject_id = _subject(registry, key, head.website_id)
        if parse_qs(scope["query_string"].decode("latin-1")).get("follow", ["0"])[0] == "1":
            with desk.recent.follow(subject_id, key.organization_id) as queue:
                await _stream(queue, lambda: _may_go_on(desk, head.key, subject_id), receive, send)
            return
        items = [line for seen in desk.recent.of(subject_id) for line in lines(seen)]
        body = {"status": "success", "websiteId": subject_id, "items": items[:MOST_ITEMS]}
        await answer(send, 200, body, NOT_KEPT)

    return endpoint


NOT_KEPT = [(b"cache-control", b"no-store")]


def _subject(registry: Snapshot, key: Key, website_id: str | None) -> str:
    subject_id = website_id or key.website_id
    if subject_id is None:
        raise Malformed(NO_WEBSITE)
    if subject_id == key.organization_id:  # what a server sent and named no website for
        return reach_organization(registry, key, subject_id).id
    return reach_website(registry, key, subject_id).id


def lines(seen: Seen) -> Iterator[Line]:
    """What is shown of a request: a line for each item, the last one first."""
    at = {"receivedAt": iso(seen.at_ms)}
    if seen.refusal is not None:
        yield {**at, "accepted": False, "path": seen.what, **msgspec.to_builtins(seen.refusal)}
    if seen.more:
        yield {**at, "accepted": False, "path": seen.what, "count": seen.more, "message": TOO_MANY}
    for reject in reversed(seen.rejected):
        yield {**at, "accepted": False, "path": seen.what, **msgspec.to_builtins(reject)}
    if seen.receipt:
        yield from _accepted(seen, at)


def _accepted(seen: Seen, at: Line) -> Iterator[Line]:
    said = {**at, "accepted": True, "type": NAME_OF[seen.what], "receipt": seen.receipt}
    if not seen.envelope:
        yield {**said, "count": seen.count, "message": TOO_LARGE}
        return
    envelope = open_envelope(seen.envelope)
    whence = {
        "address": envelope.address,
        "userAgent": envelope.user_agent,
        "headers": envelope.headers,
        "byServer": envelope.trusted,
    }
    for item in reversed(_raws.decode(envelope.items)):
        yield {**said, **whence, "item": item}


def _may_go_on(desk: Desk, text: str | None, subject_id: str) -> bool:
    """Whether the key is still there, and still reaches what it follows."""
    registry = desk.registry.snapshot
    try:
        key = require_key(registry, text, KeyScope.READ_DATA, desk.clock())
        _subject(registry, key, subject_id)
    except Failure:
        return False
    return True


async def _stream(
    queue: Queue, may_go_on: Callable[[], bool], receive: Receive, send: Send
) -> None:
    """Lines of JSON, the oldest first, until caller or key goes or the collector stops."""
    headers = [(b"content-type", b"application/x-ndjson"), *NOT_KEPT]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    gone = asyncio.create_task(_gone(receive))
    try:
        while (text := await _next(queue, gone)) is not None and may_go_on():
            await send({"type": "http.response.body", "body": text, "more_body": True})
    finally:
        gone.cancel()
    await send({"type": "http.response.body", "body": b""})


async def _next(queue: Queue, gone: "asyncio.Task[None]") -> bytes | None:
    """The lines of the next request; an empty one when none comes; None at the end."""
    coming = asyncio.create_task(queue.get())
    done, _ = await asyncio.wait(
        (coming, gone), timeout=BREATH_SECONDS, return_when=asyncio.FIRST_COMPLETED
    )
    if coming not in done:
        coming.cancel()
        return None if gone in done else b"\n"
    seen = coming.result()
    if seen is None:
        return None
    return b"".join(encode(line) + b"\n" for line in reversed([*lines(seen)]))


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
