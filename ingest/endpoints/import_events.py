"""POST /import: events of the past, into an import that is open. Live requests go first.

An import writes the past of a website, so a website id is not enough: it takes a key, and an import
id that somebody with `manage:websites` has made. All requests of an import go to one topic
partition, in order, because the stream counts a line that comes again by its number.
"""

import zlib
from typing import Annotated, Any, Literal
from urllib.parse import parse_qs

from msgspec import Meta, Struct
from starlette.types import ASGIApp, Receive, Scope, Send

from ingest.decoding.body import receive_body
from ingest.decoding.decoder import AcceptedItems, Decoder, RejectedItem, none_accepted_error
from ingest.decoding.limits import MAX_ITEMS
from ingest.decoding.ndjson import decode_body
from ingest.decoding.request_head import read_request_head
from ingest.dependencies import Dependencies
from ingest.endpoints.item_schemas import documented_item
from ingest.endpoints.responses import COLLECT_ERRORS
from ingest.publishing.envelopes import WEBSITE_OUT_OF_REACH
from ingest.publishing.publish import require_acknowledged
from ingest.publishing.throttle import CpuThrottle
from schemas.envelope import Envelope, encode_envelope
from schemas.errors import Conflict, Forbidden, Malformed, MethodNotAllowed
from schemas.http.asgi import send_json
from schemas.http.auth import OUT_OF_REACH, require_key
from schemas.http.error_bodies import encode_json
from schemas.http.openapi import Operation, Parameter, Response
from schemas.items import MIN_EVENT_TIME_MS, Item
from schemas.kinds import IMPORTED_EVENT
from schemas.plans import Group
from schemas.registry import Import, Key, Snapshot
from schemas.registry import KeyScope as KeyScope
from schemas.runtime.clock import parse_instant_ms

MAX_CLOCK_SKEW_MS = 5 * 60_000

IMPORT_REQUIRED = "Name the import as ?import_id=; `tidemark import` or POST /v1/imports makes one"
TIMESTAMP_REQUIRED = "'timestamp' is required"
TIMESTAMP_OUT_OF_RANGE = "'timestamp' must lie between 2000-01-01 and now"
IMPORTS_BUSY = "Other imports are under way; nothing was taken"
IMPORT_UNDONE = "This import was undone and takes nothing more"

IMPORT_ITEM: Any = documented_item(IMPORTED_EVENT.item)


class ImportEventsResponse(Struct):
    """So many events are kept for good; `rejected` names those that are not."""

    status: Literal["success"]
    type: Literal["import"]
    count: int
    rejected: list[RejectedItem] = []


IMPORT_OPERATION = Operation(
    method="POST",
    path=IMPORTED_EVENT.path,
    operation_id="import",
    tag="History",
    summary="Send events of the past into an import",
    description=f"An array, or a line for each event (NDJSON); at most {MAX_ITEMS}. `timestamp` "
    f"is required "
    "and may be as old as 2000. Events with a `line` must come in the order of their lines, one "
    "request after the other: a line that is not above those before counts as sent already.",
    parameters=(
        Parameter(
            "import_id", "the import, made by POST /v1/imports of the query service", required=True
        ),
    ),
    body=Annotated[list[IMPORT_ITEM], Meta(min_length=1, max_length=MAX_ITEMS)],
    responses=(Response(200, "taken", ImportEventsResponse),),
    errors=(*COLLECT_ERRORS, Conflict),
)


def import_events(desk: Dependencies) -> ASGIApp:
    """The endpoint that takes in events of the past."""
    decoder, turns = Decoder(IMPORTED_EVENT), CpuThrottle(IMPORTS_BUSY)

    async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            raise MethodNotAllowed("POST")
        registry, now = desk.registry.snapshot, desk.clock()
        head = read_request_head(scope)
        key = require_key(registry, head.key, KeyScope.TRACK_EVENTS, now)
        owner = registry.organizations[key.organization_id]
        desk.middleware.admission.count_with_key(scope, owner, Group.COLLECT)
        opened = authorize_import(registry, key, scope["query_string"])
        body = await receive_body(scope, receive, head)
        desk.middleware.admission.count_with_key(
            scope, owner, Group.COLLECT, cost=0, size=len(body)
        )
        async with turns.slot():
            accepted = reject_invalid(decode_body(decoder, body), opened, now)
            envelope = import_envelope(accepted, opened, now)
            ticket = desk.publisher.producer.enqueue(
                IMPORTED_EVENT.topic, partition_key(opened), [envelope], len(accepted.items)
            )
            require_acknowledged(await ticket.report)
            items = len(accepted.items)
            desk.publisher.acknowledged_counter.add(
                IMPORTED_EVENT.topic, opened.website_id, now, items
            )
        await send_json(send, 200, import_success_body(accepted))

    return endpoint


def authorize_import(registry: Snapshot, key: Key, query: bytes) -> Import:
    """The import that the request names; Forbidden when the key does not reach it."""
    named = parse_qs(query.decode("latin-1")).get("import_id")
    if not named:
        raise Malformed(IMPORT_REQUIRED)
    found = registry.imports.get(named[0])
    if (
        found is None
        or found.organization_id != key.organization_id
        or key.website_id not in (None, found.website_id)
    ):
        raise Forbidden(OUT_OF_REACH.format(what="import"))
    if not found.accepts_events:
        raise Conflict(IMPORT_UNDONE)
    return found


def reject_invalid(accepted: AcceptedItems, opened: Import, now_ms: int) -> AcceptedItems:
    """The items with a time in the past, of the import's website; NoneAccepted without any."""
    wrong = [rejection_reason(item, opened, now_ms) for item in accepted.items]
    if not any(wrong):
        return accepted
    refused = [
        RejectedItem(index, Malformed.code, reason)
        for index, reason in zip(accepted.indexes, wrong, strict=True)
        if reason
    ]
    rejected = sorted([*accepted.rejected, *refused], key=lambda each: each.index)
    good = [number for number, reason in enumerate(wrong) if not reason]
    if not good:
        raise none_accepted_error(rejected)
    raws = accepted.raw_items()
    return AcceptedItems(
        [accepted.items[number] for number in good],
        b"[" + b",".join(bytes(raws[number]) for number in good) + b"]",
        [accepted.indexes[number] for number in good],
        rejected,
    )


def rejection_reason(item: Item, opened: Import, now_ms: int) -> str | None:
    """What keeps an item out; None when nothing does."""
    if item.website_id not in (None, opened.website_id):
        return WEBSITE_OUT_OF_REACH
    if item.timestamp is None:
        return TIMESTAMP_REQUIRED
    stamp = item.timestamp
    when = parse_instant_ms(stamp) if isinstance(stamp, str) else stamp
    return (
        None if MIN_EVENT_TIME_MS <= when <= now_ms + MAX_CLOCK_SKEW_MS else TIMESTAMP_OUT_OF_RANGE
    )


def import_envelope(accepted: AcceptedItems, opened: Import, now_ms: int) -> bytes:
    """The request as an envelope; who sends it now says nothing about visitors of then."""
    return encode_envelope(
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


def partition_key(opened: Import) -> int:
    """The same for all requests of an import."""
    return zlib.crc32(opened.id.encode())


def import_success_body(accepted: AcceptedItems) -> bytes:
    """What was taken; `rejected` only when something was not."""
    body: dict[str, object] = {
        "status": "success",
        "type": IMPORTED_EVENT.name,
        "count": len(accepted.items),
    }
    if accepted.rejected:
        body["rejected"] = accepted.rejected
    return encode_json(body)
