"""POST /import: historical events of an open import; live requests have priority.

An import writes the history of a website, so a website id is not enough: the request needs an API
key, and the id of an import that was created with `manage:websites`. All requests of an import go
to one topic partition, in order, because the stream detects duplicates by line number.
"""

import zlib
from typing import Annotated, Any, Literal
from urllib.parse import parse_qs

from msgspec import UNSET, Meta, Struct
from starlette.types import ASGIApp, Receive, Scope, Send

from ingest.decoding.body import receive_body
from ingest.decoding.decoder import (
    AcceptedItems,
    Decoder,
    RejectedItem,
    join_items,
    none_accepted_error,
)
from ingest.decoding.limits import MAX_ITEMS
from ingest.decoding.ndjson import decode_body
from ingest.decoding.request_head import read_request_head
from ingest.dependencies import CollectorEndpoint, Dependencies
from ingest.endpoints.item_schemas import documented_item
from ingest.endpoints.responses import COLLECT_ERRORS, AdjustedCount, IgnoredList, remarks
from ingest.publishing.envelopes import WEBSITE_OUT_OF_REACH
from ingest.publishing.privacy_filter import import_filter
from ingest.publishing.publish import require_acknowledged
from schemas.envelope import Envelope, encode_envelope
from schemas.errors import Conflict, Forbidden, Malformed, MethodNotAllowed
from schemas.event_times import MAX_FUTURE_MS, instant_ms
from schemas.http.admission import LimitHolder
from schemas.http.asgi import send_json
from schemas.http.auth import out_of_reach, require_key
from schemas.http.error_bodies import encode_json
from schemas.http.openapi import Operation, Parameter, Response
from schemas.items import MIN_EVENT_TIME_MS, Item
from schemas.kinds import IMPORTED_EVENT
from schemas.plans import Group
from schemas.registry import Import, Key, Snapshot
from schemas.registry import KeyScope as KeyScope
from schemas.registry.privacy import Privacy

IMPORT_REQUIRED = (
    "'import_id' is required in the query string; "
    "`tidemark import` or POST /v1/imports creates an import"
)
TIMESTAMP_REQUIRED = "'timestamp' is required"
TIMESTAMP_OUT_OF_RANGE = "'timestamp' must lie between 2000-01-01 and now"
IMPORTS_BUSY = "Other imports are running; nothing was accepted. Retry later"
IMPORT_CLOSED = (
    "This import is {state} and accepts no events; create another one, or start it if it is checked"
)

IMPORT_ITEM: Any = documented_item(IMPORTED_EVENT.item)


class ImportEventsResponse(Struct):
    """Number of accepted events; `rejected` lists the others."""

    status: Literal["success"]
    type: Literal["import"]
    count: int
    rejected: list[RejectedItem] = []
    ignored: IgnoredList = UNSET
    adjusted: AdjustedCount = UNSET


IMPORT_OPERATION = Operation(
    method="POST",
    path=IMPORTED_EVENT.path,
    operation_id="import",
    tag="History",
    summary="Send historical events to an import",
    description=f"A JSON array or NDJSON with at most {MAX_ITEMS} events. `timestamp` is required, "
    "from the year 2000 on. Events with a `line` must be sent in ascending order of their lines, "
    "one request after the other: a line that is not above the last one counts as a duplicate.",
    parameters=(
        Parameter(
            "import_id",
            "import id, as created by POST /v1/imports of the query service",
            required=True,
        ),
    ),
    body=Annotated[list[IMPORT_ITEM], Meta(min_length=1, max_length=MAX_ITEMS)],
    responses=(Response(200, "accepted", ImportEventsResponse),),
    errors=(*COLLECT_ERRORS, Conflict),
)


def import_events(dependencies: Dependencies) -> ASGIApp:
    """The endpoint that accepts historical events."""
    decoder, throttle = Decoder(IMPORTED_EVENT), dependencies.import_throttle

    async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            raise MethodNotAllowed("POST")
        registry, now = dependencies.registry.snapshot, dependencies.clock()
        head = read_request_head(scope)
        key = require_key(registry, head.key, KeyScope.TRACK_EVENTS, now)
        organization = registry.organizations[key.organization_id]
        admission = dependencies.middleware.admission
        ticket = await admission.admit(scope, LimitHolder(organization, Group.COLLECT))
        target_import = authorize_import(registry, key, scope["query_string"])
        body = await receive_body(scope, receive, head)
        await ticket.charge(len(body))
        async with throttle.slot():
            accepted = reject_invalid(decode_body(decoder, body), target_import, now)
            privacy = registry.privacy_of(target_import.website_id)
            envelope = import_envelope(accepted, target_import, now, privacy)
            delivery = dependencies.publisher.producer.enqueue(
                IMPORTED_EVENT.topic, partition_key(target_import), [envelope], len(accepted.items)
            )
            require_acknowledged(await delivery.report)
            items = len(accepted.items)
            dependencies.publisher.acknowledged_counter.add(
                IMPORTED_EVENT.topic, target_import.website_id, now, items
            )
        await send_json(send, 200, import_success_body(accepted))

    return endpoint


def authorize_import(registry: Snapshot, key: Key, query: bytes) -> Import:
    """The import of the request; Forbidden if the key has no access to it."""
    import_ids = parse_qs(query.decode("latin-1")).get("import_id")
    if not import_ids:
        raise Malformed(IMPORT_REQUIRED)
    target_import = registry.imports.get(import_ids[0])
    if (
        target_import is None
        or target_import.organization_id != key.organization_id
        or key.website_id not in (None, target_import.website_id)
    ):
        raise Forbidden(out_of_reach(key, "import"))
    if not target_import.accepts_events:
        raise Conflict(IMPORT_CLOSED.format(state=target_import.state))
    return target_import


def reject_invalid(accepted: AcceptedItems, target_import: Import, now_ms: int) -> AcceptedItems:
    """Reject items of other websites or without a time in the past; NoneAccepted if all are."""
    reasons = [rejection_reason(item, target_import, now_ms) for item in accepted.items]
    if not any(reasons):
        return accepted
    new_rejects = [
        RejectedItem(index, Malformed.code, reason)
        for index, reason in zip(accepted.indexes, reasons, strict=True)
        if reason
    ]
    rejected = sorted([*accepted.rejected, *new_rejects], key=lambda reject: reject.index)
    accepted_numbers = [number for number, reason in enumerate(reasons) if not reason]
    if not accepted_numbers:
        raise none_accepted_error(rejected)
    raw_items = accepted.raw_items()
    return AcceptedItems(
        [accepted.items[number] for number in accepted_numbers],
        b"[" + b",".join(bytes(raw_items[number]) for number in accepted_numbers) + b"]",
        [accepted.indexes[number] for number in accepted_numbers],
        rejected,
        accepted.ignored,
        accepted.shortened - {reject.index for reject in new_rejects},
    )


def rejection_reason(item: Item, target_import: Import, now_ms: int) -> str | None:
    """Why an item is rejected; None if it is valid."""
    if item.website_id not in (None, target_import.website_id):
        return WEBSITE_OUT_OF_REACH
    if item.timestamp is None:
        return TIMESTAMP_REQUIRED
    time_ms = instant_ms(item.timestamp)
    if time_ms is None or not MIN_EVENT_TIME_MS <= time_ms <= now_ms + MAX_FUTURE_MS:
        return TIMESTAMP_OUT_OF_RANGE
    return None


def import_envelope(
    accepted: AcceptedItems, target_import: Import, now_ms: int, privacy: Privacy
) -> bytes:
    """The envelope of the request, without address and user agent: they are not the visitor's."""
    array = accepted.array
    if (of_history := import_filter(privacy)) is not None:
        pairs = zip(accepted.items, accepted.raw_items(), strict=True)
        array = join_items([of_history.filtered(item, bytes(raw)) for item, raw in pairs])
    return encode_envelope(
        Envelope(
            target_import.website_id,
            target_import.organization_id,
            now_ms,
            len(accepted.items),
            array,
            trusted=True,
            import_id=target_import.id,
            mask_texts=privacy.mask_texts,
            locate=privacy.location != "none",
        )
    )


def partition_key(target_import: Import) -> int:
    """The same key for all requests of an import."""
    return zlib.crc32(target_import.id.encode())


def import_success_body(accepted: AcceptedItems) -> bytes:
    """Status, type and count; `rejected` only when items were rejected."""
    body: dict[str, object] = {
        "status": "success",
        "type": IMPORTED_EVENT.name,
        "count": len(accepted.items),
    }
    if accepted.rejected:
        body["rejected"] = accepted.rejected
    return encode_json(body | remarks(accepted.ignored, adjusted=len(accepted.shortened)))


IMPORT_ENDPOINT = CollectorEndpoint((IMPORT_OPERATION,), import_events)
