"""The one endpoint: identify, admit, decode, seal, count, send, answer."""

from starlette.types import ASGIApp, Receive, Scope, Send

from ingest.decoding.auth import authenticate, authenticate_by_website
from ingest.decoding.body import decompress
from ingest.decoding.decoder import Decoder
from ingest.decoding.limits import BODY_TIMEOUT_SECONDS, MAX_BODY_BYTES
from ingest.decoding.request_head import RequestHead, read_request_head
from ingest.dependencies import Dependencies
from ingest.endpoints.debug_log import record_rejects
from ingest.endpoints.rate_limits import admit_request, charge_rejects, count_request
from ingest.publishing.envelopes import EncodedRequest, EnvelopeHeader, encode_request
from ingest.publishing.publish import publish
from schemas.errors import MethodNotAllowed
from schemas.http.admission import BODY_SIZE_KEY
from schemas.http.asgi import read_body, send_json
from schemas.http.error_bodies import encode_json
from schemas.kinds import Kind


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
        receipt = await publish(desk, kind.topic, sealed)
        if sealed.rejected:
            record_rejects(desk, sender.subject_id, kind.path, sealed.rejected)
            charge_rejects(desk, sender, network, len(sealed.rejected))
        await send_json(send, 200, success_body(kind, sealed, receipt))

    return endpoint


async def receive_body(scope: Scope, receive: Receive, head: RequestHead) -> bytes:
    """The body, arrived in time and unpacked within its limit."""
    body = await read_body(scope, receive, MAX_BODY_BYTES, BODY_TIMEOUT_SECONDS)
    scope[BODY_SIZE_KEY] = len(body)
    if not head.encoding:
        return body
    parts, unpacked = [], 0
    for part in decompress(body, head.encoding, MAX_BODY_BYTES):
        parts.append(part)
        unpacked += len(part)
        scope[BODY_SIZE_KEY] = max(unpacked, len(body))  # who sent it pays for what was unpacked
    scope[BODY_SIZE_KEY] = unpacked
    return b"".join(parts)


def success_body(kind: Kind, sealed: EncodedRequest, receipt: str) -> bytes:
    """Interface 2.5, and the receipt; `rejected` only when some were."""
    body: dict[str, object] = {
        "status": "success",
        "type": kind.name,
        "count": sealed.count,
        "receipt": receipt,
    }
    if sealed.rejected:
        body["rejected"] = sealed.rejected
    return encode_json(body)
