"""The one endpoint: identify, admit, decode, seal, count, send, answer."""

from starlette.types import ASGIApp, Receive, Scope, Send

from ingest.decoding.auth import by_website, identify
from ingest.decoding.body import unpack
from ingest.decoding.decoder import Decoder
from ingest.decoding.limits import BODY_BYTES, BODY_SECONDS
from ingest.decoding.request_head import Head, read_head
from ingest.dependencies import Desk
from ingest.endpoints.debug_log import note_rejects
from ingest.endpoints.rate_limits import admit, charge, count
from ingest.publishing.envelopes import Cover, Sealed, seal_request
from ingest.publishing.publish import send_surely
from schemas.errors import WrongMethod
from schemas.http.admission import BODY_SIZE
from schemas.http.asgi import answer, read_body
from schemas.http.error_bodies import encode
from schemas.kinds import Kind


def collect(kind: Kind, desk: Desk) -> ASGIApp:
    """The endpoint that takes in items of `kind`."""
    decoder = Decoder(kind)
    edge = desk.edge

    async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            raise WrongMethod("POST")
        registry, now = desk.registry.snapshot, desk.clock()
        head = read_head(scope)
        sender = identify(head, registry, now)
        network = edge.network(scope)
        buckets = admit(desk, scope, sender, network, now)
        body = await take_body(scope, receive, head)
        accepted = decoder.decode(body)
        if sender is None:
            sender = by_website(accepted.items[0].website_id, registry, head)
        cover = Cover(sender, head, network, now, desk.visitors)
        sealed = seal_request(accepted, cover, registry)
        count(desk, scope, sender, network, buckets, len(body), sealed.count)
        receipt = await send_surely(desk, kind.topic, sealed)
        if sealed.rejected:
            note_rejects(desk, sender.subject_id, kind.path, sealed.rejected)
            charge(desk, sender, network, len(sealed.rejected))
        await answer(send, 200, success(kind, sealed, receipt))

    return endpoint


async def take_body(scope: Scope, receive: Receive, head: Head) -> bytes:
    """The body, arrived in time and unpacked within its limit."""
    body = await read_body(scope, receive, BODY_BYTES, BODY_SECONDS)
    scope[BODY_SIZE] = len(body)
    if not head.encoding:
        return body
    parts, unpacked = [], 0
    for part in unpack(body, head.encoding, BODY_BYTES):
        parts.append(part)
        unpacked += len(part)
        scope[BODY_SIZE] = max(unpacked, len(body))  # who sent it pays for what was unpacked
    scope[BODY_SIZE] = unpacked
    return b"".join(parts)


def success(kind: Kind, sealed: Sealed, receipt: str) -> bytes:
    """Interface 2.5, and the receipt; `rejected` only when some were."""
    body: dict[str, object] = {
        "status": "success",
        "type": kind.name,
        "count": sealed.count,
        "receipt": receipt,
    }
    if sealed.rejected:
        body["rejected"] = sealed.rejected
    return encode(body)
