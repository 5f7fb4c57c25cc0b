"""POST /import: events of the past, into an import that is open. Live requests go first.

An import writes the past of a website, so a website id is not enough: it takes a key, and an import
id that somebody with `manage:websites` has made. All requests of an import go to one topic
partition, in order, because the stream counts a line that comes again by its number.
"""

import zlib
from urllib.parse import parse_qs

from starlette.types import ASGIApp, Receive, Scope, Send

from ingest.decoding.decoder import Accepted, Decoder, Rejected, none_accepted
from ingest.decoding.ndjson import decoded
from ingest.decoding.request_head import read_head
from ingest.dependencies import Desk
from ingest.endpoints.collect import take_body
from ingest.publishing.envelopes import ELSEWHERE
from ingest.publishing.publish import confirmed
from ingest.publishing.throttle import Turns
from schemas.envelope import Envelope, seal
from schemas.errors import Conflict, Forbidden, Malformed, WrongMethod
from schemas.http.asgi import answer
from schemas.http.auth import NO_REACH, require_key
from schemas.http.error_bodies import encode
from schemas.items import EARLIEST_MS, Item
from schemas.kinds import HISTORY
from schemas.plans import Group
from schemas.registry import Import, Key, Snapshot
from schemas.registry import Scope as KeyScope
from schemas.runtime.clock import instant_ms

AHEAD_MS = 5 * 60_000

NO_IMPORT = "Name the import as ?import_id=; `tidemark import` or POST /v1/imports makes one"
NO_TIME = "'timestamp' is required"
BAD_TIME = "'timestamp' must lie between 2000-01-01 and now"
BUSY = "Other imports are under way; nothing was taken"
OVER = "This import was undone and takes nothing more"


def history(desk: Desk) -> ASGIApp:
    """The endpoint that takes in events of the past."""
    decoder, turns = Decoder(HISTORY), Turns(BUSY)

    async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            raise WrongMethod("POST")
        registry, now = desk.registry.snapshot, desk.clock()
        head = read_head(scope)
        key = require_key(registry, head.key, KeyScope.TRACK_EVENTS, now)
        owner = registry.organizations[key.organization_id]
        desk.edge.admission.keyed(scope, owner, Group.COLLECT)
        opened = reached(registry, key, scope["query_string"])
        body = await take_body(scope, receive, head)
        desk.edge.admission.keyed(scope, owner, Group.COLLECT, cost=0, size=len(body))
        async with turns.taken():
            accepted = timely(decoded(decoder, body), opened, now)
            envelope = sealed(accepted, opened, now)
            ticket = desk.outbox.put(HISTORY.topic, place(opened), [envelope], len(accepted.items))
            confirmed(await ticket.answered)
            items = len(accepted.items)
            desk.acknowledged.add(HISTORY.topic, opened.website_id, now, items)
        await answer(send, 200, success(accepted))

    return endpoint


def reached(registry: Snapshot, key: Key, query: bytes) -> Import:
    """The import that the request names; Forbidden when the key does not reach it."""
    named = parse_qs(query.decode("latin-1")).get("import_id")
    if not named:
        raise Malformed(NO_IMPORT)
    found = registry.imports.get(named[0])
    if (
        found is None
        or found.organization_id != key.organization_id
        or key.website_id not in (None, found.website_id)
    ):
        raise Forbidden(NO_REACH.format(what="import"))
    if not found.takes:
        raise Conflict(OVER)
    return found


def timely(accepted: Accepted, opened: Import, now_ms: int) -> Accepted:
    """The items with a time in the past, of the import's website; NoneAccepted without any."""
    wrong = [why_not(item, opened, now_ms) for item in accepted.items]
    if not any(wrong):
        return accepted
    refused = [
        Rejected(index, Malformed.code, reason)
        for index, reason in zip(accepted.places, wrong, strict=True)
        if reason
    ]
    rejected = sorted([*accepted.rejected, *refused], key=lambda each: each.index)
    good = [number for number, reason in enumerate(wrong) if not reason]
    if not good:
        raise none_accepted(rejected)
    raws = accepted.raws()
    return Accepted(
        [accepted.items[number] for number in good],
        b"[" + b",".join(bytes(raws[number]) for number in good) + b"]",
        [accepted.places[number] for number in good],
        rejected,
    )


def why_not(item: Item, opened: Import, now_ms: int) -> str | None:
    """What keeps an item out; None when nothing does."""
    if item.website_id not in (None, opened.website_id):
        return ELSEWHERE
    if item.timestamp is None:
        return NO_TIME
    stamp = item.timestamp
    when = instant_ms(stamp) if isinstance(stamp, str) else stamp
    return None if EARLIEST_MS <= when <= now_ms + AHEAD_MS else BAD_TIME


def sealed(accepted: Accepted, opened: Import, now_ms: int) -> bytes:
    """The request as an envelope; who sends it now says nothing about visitors of then."""
    return seal(
        Envelope(
            opened.website_id,
            opened.organization_id,
            now_ms,
            len(accepted.items),
            accepted.array,
            trusted=True,
            import_id=opened.id,
        )
    )


def place(opened: Import) -> int:
    """The same for all requests of an import."""
    return zlib.crc32(opened.id.encode())


def success(accepted: Accepted) -> bytes:
    """What was taken; `rejected` only when something was not."""
    body: dict[str, object] = {
        "status": "success",
        "type": HISTORY.name,
        "count": len(accepted.items),
    }
    if accepted.rejected:
        body["rejected"] = accepted.rejected
    return encode(body)
