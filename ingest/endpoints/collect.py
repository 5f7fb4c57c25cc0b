"""The one endpoint: identify, admit, decode, seal, count, send, answer."""

from typing import Annotated

from msgspec import Meta
from starlette.types import ASGIApp, Receive, Scope, Send

from ingest.decoding.auth import authenticate, authenticate_by_website
from ingest.decoding.body import receive_body
from ingest.decoding.decoder import Decoder
from ingest.decoding.limits import MAX_ITEMS
from ingest.decoding.request_head import read_request_head
from ingest.dependencies import Dependencies
from ingest.endpoints.debug_log import record_rejects
from ingest.endpoints.item_schemas import SECURITY, WEBSITE_PARAMETERS, documented_item
from ingest.endpoints.rate_limits import admit_request, charge_rejects, count_request
from ingest.endpoints.responses import COLLECT_ERRORS, CollectResponse
from ingest.publishing.envelopes import EncodedRequest, EnvelopeHeader, encode_request
from schemas.errors import MethodNotAllowed
from schemas.http.asgi import send_json
from schemas.http.error_bodies import encode_json
from schemas.http.openapi import Operation, Response
from schemas.kinds import Kind

EXAMPLES: dict[str, dict[str, object]] = {
    "/track": {
        "one event": {
            "name": "signup",
            "properties": {"plan": "pro"},
            "anonymousId": "a1",
            "sessionId": "s1",
        },
        "a page view and a click that leaves": [
            {"name": "screen_view", "path": "https://shop.example/", "sessionId": "s1"},
            {"name": "outbound_click", "href": "https://x.example/", "text": "more"},
        ],
    },
    "/vitals": {
        "one measurement": [
            {"path": "https://shop.example/", "metricName": "LCP", "metricValue": 1800.5}
        ]
    },
    "/errors": {
        "one error": [
            {"path": "https://shop.example/", "message": "x is undefined", "lineno": 3, "colno": 7}
        ]
    },
    "/engagement": {
        "one page, left": [
            {
                "path": "https://shop.example/",
                "exitType": "unload",
                "timeOnPage": 40,
                "clickCount": 3,
            }
        ]
    },
    "/identify": {
        "a visitor who signed in": {
            "profileId": "user-7",
            "anonymousId": "a1",
            "traits": {"plan": "pro"},
        }
    },
}


def collect_operation(kind: Kind) -> Operation:
    item = documented_item(kind.item)
    many = Annotated[list[item], Meta(min_length=1, max_length=MAX_ITEMS)]  # type: ignore[valid-type]
    return Operation(
        method="POST",
        path=kind.path,
        operation_id=kind.path[1:],
        tag="Collect",
        summary=f"Send items of the kind {kind.name}",
        description=f"At most {MAX_ITEMS} in one request. Success means that they are kept. "
        "An item with an eventId that was sent before is kept once.",
        parameters=WEBSITE_PARAMETERS,
        body=many if kind.batch_only else item | many,
        examples=EXAMPLES[kind.path],
        responses=(Response(200, "taken", CollectResponse),),
        errors=COLLECT_ERRORS,
        security=SECURITY,
    )


def collect(kind: Kind, desk: Dependencies) -> ASGIApp:
    """The endpoint that takes in items of `kind`."""
    decoder = Decoder(kind)
    edge = desk.middleware

    async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            raise MethodNotAllowed("POST")
        registry, now = desk.registry.snapshot, desk.clock()
        head = read_request_head(scope)
        sender = authenticate(head, registry, now)
        network = edge.client_network(scope)
        buckets = admit_request(desk, scope, sender, network, now)
        body = await receive_body(scope, receive, head)
        accepted = decoder.decode(body)
        if sender is None:
            sender = authenticate_by_website(accepted.items[0].website_id, registry, head)
        cover = EnvelopeHeader(sender, head, network, now, desk.anonymous_ids)
        sealed = encode_request(accepted, cover, registry)
        count_request(desk, scope, sender, network, buckets, len(body), sealed.count)
        receipt = await desk.publisher.publish(kind.topic, sealed, registry.receipts)
        if sealed.rejected:
            record_rejects(desk, sender.subject_id, kind.path, sealed.rejected)
            charge_rejects(desk, sender, network, len(sealed.rejected))
        await send_json(send, 200, success_body(kind, sealed, receipt))

    return endpoint


def success_body(kind: Kind, sealed: EncodedRequest, receipt: str) -> bytes:
    """`status`, `type`, `count` and the receipt; `rejected` only when items were rejected."""
    body: dict[str, object] = {
        "status": "success",
        "type": kind.name,
        "count": sealed.count,
        "receipt": receipt,
    }
    if sealed.rejected:
        body["rejected"] = sealed.rejected
    return encode_json(body)
