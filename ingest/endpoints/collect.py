"""POST /track, /vitals, …: authenticate, admit, decode, encode, charge, publish, respond."""

from functools import partial
from typing import Annotated

from msgspec import Meta
from starlette.types import ASGIApp, Receive, Scope, Send

from ingest.decoding.auth import authenticate, authenticate_by_website
from ingest.decoding.body import receive_body
from ingest.decoding.decoder import Decoder
from ingest.decoding.ignored_parameters import IgnoredParameters
from ingest.decoding.limits import MAX_ITEMS
from ingest.decoding.request_head import read_request_head
from ingest.dependencies import CollectorEndpoint, Dependencies
from ingest.endpoints.debug import record_drift, record_rejects
from ingest.endpoints.direct_collect import remember_direct
from ingest.endpoints.item_schemas import SECURITY, WEBSITE_PARAMETERS, documented_item
from ingest.endpoints.responses import COLLECT_ERRORS, CollectResponse, remarks
from ingest.endpoints.wait_for_storage import waiting_endpoint
from ingest.publishing.envelopes import EncodedRequest, EnvelopeHeader, encode_request
from schemas.errors import MethodNotAllowed
from schemas.http.error_bodies import encode_json
from schemas.http.openapi import Operation, Response
from schemas.http.unknown_records import snapshot_with_websites
from schemas.kinds import Kind


def collect_endpoint(kind: Kind) -> CollectorEndpoint:
    """The endpoint of the route of `kind`."""
    return waiting_endpoint(collect_operation(kind), partial(collect, kind))


def collect_operation(kind: Kind) -> Operation:
    """The OpenAPI description of the route of `kind`."""
    item = documented_item(kind.item)
    many = Annotated[list[item], Meta(min_length=1, max_length=MAX_ITEMS)]  # type: ignore[valid-type]
    return Operation(
        method="POST",
        path=kind.path,
        operation_id=kind.path[1:],
        tag="Collect",
        summary=f"Track items of kind {kind.name}",
        description=f"At most {MAX_ITEMS} per request. Success means that Kafka has acknowledged "
        "them. An item with an eventId is stored once when it is sent again within 24 hours.",
        parameters=WEBSITE_PARAMETERS,
        body=many if kind.batch_only else item | many,
        examples=kind.examples,
        responses=(Response(200, "accepted", CollectResponse),),
        errors=COLLECT_ERRORS,
        security=SECURITY,
    )


def collect(kind: Kind, dependencies: Dependencies) -> ASGIApp:
    """The endpoint that accepts items of `kind`."""
    decoder = Decoder(kind)
    middleware = dependencies.middleware

    async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            raise MethodNotAllowed("POST")
        registry, now = dependencies.registry.snapshot, dependencies.clock()
        head = read_request_head(scope)
        sender = authenticate(head, registry, now)
        client_network = middleware.client_network(scope)
        ticket = await middleware.admission.admit(
            scope, sender.holder if sender else None, client_network
        )
        body = await receive_body(scope, receive, head)
        accepted = decoder.decode(body)
        if sender is None or sender.trusted:
            websites = {item.website_id for item in accepted.items}
            registry = await snapshot_with_websites(dependencies.registry, websites)
        if sender is None:
            sender = authenticate_by_website(accepted.items[0].website_id, registry, head)
            ticket.holder = sender.holder
        header = EnvelopeHeader(sender, head, client_network, now, dependencies.anonymous_ids)
        header = header.with_clock_offset(dependencies.clock_offsets, accepted.items)
        encoded = encode_request(accepted, header, registry)
        await ticket.charge(len(body), encoded.count, len(encoded.rejected))
        receipt = await dependencies.publisher.publish(kind.topic, encoded, registry.receipt_key)
        if encoded.rejected:
            record_rejects(dependencies, sender.subject_id, kind.path, encoded.rejected)
        if encoded.drift:
            record_drift(dependencies, kind.path, encoded.drift)
        answer = success_body(kind, encoded, receipt, head.ignored_parameters)
        await middleware.send_success(scope, send, answer)
        remember_direct(kind, decoder, dependencies, registry, scope, header)

    return endpoint


def success_body(
    kind: Kind, encoded: EncodedRequest, receipt: str, parameters: IgnoredParameters | None = None
) -> bytes:
    """Status, type, count and receipt; what was rejected, ignored, … where any was."""
    body: dict[str, object] = {
        "status": "success",
        "type": kind.name,
        "count": encoded.count,
        "receipt": receipt,
    }
    if encoded.rejected:
        body["rejected"] = encoded.rejected
    if encoded.ignored or encoded.adjusted or parameters or encoded.drift:
        body |= remarks(encoded.ignored, encoded.adjusted, parameters, encoded.drift)
    return encode_json(body)
