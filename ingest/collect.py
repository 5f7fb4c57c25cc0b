"""The one endpoint: identify, admit, decode, seal, send, answer."""

from starlette.types import ASGIApp, Receive, Scope, Send

from ingest.bounds import BODY_BYTES, BODY_SECONDS
from ingest.decode import Decoder
from ingest.desk import Desk
from ingest.head import Head, read_head
from ingest.identify import by_website, identify
from ingest.lanes import Outcome
from ingest.seal import Sealed, seal_request
from ingest.unpack import unpack
from schemas.edge.address import cut
from schemas.edge.asgi import answer, read_body
from schemas.edge.bodies import encode
from schemas.failures import Unavailable, Unconfirmed, WrongMethod
from schemas.kinds import Kind
from schemas.plans import Group

NOT_SENT = "Kafka took too long; nothing was taken"
UNKNOWN = "Kafka did not acknowledge in time; whether the items were stored is not known"


def collect(kind: Kind, desk: Desk) -> ASGIApp:
    """The endpoint that takes in items of `kind`."""
    decoder = Decoder(kind)
    edge, outbox = desk.edge, desk.outbox

    async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            raise WrongMethod("POST")
        registry, now = desk.registry.snapshot, desk.clock()
        head = read_head(scope)
        sender = identify(head, registry, now)
        if sender is not None:
            edge.admit(scope, sender.organization, Group.COLLECT)
        accepted = decoder.decode(await take_body(scope, receive, head))
        if sender is None:
            sender = by_website(accepted.items[0].website_id, registry)
            edge.admit(scope, sender.organization, Group.COLLECT)
        address = cut(edge.address(scope))
        sealed = seal_request(accepted, sender, head, registry, address, now)
        confirm(await outbox.put(kind.topic, sealed.place, sealed.envelopes))
        await answer(send, 200, success(kind, sealed))

    return endpoint


async def take_body(scope: Scope, receive: Receive, head: Head) -> bytes:
    """The body, arrived in time and unpacked within its limit."""
    body = await read_body(scope, receive, BODY_BYTES, BODY_SECONDS)
    return unpack(body, head.encoding, BODY_BYTES)


def confirm(outcome: Outcome) -> None:
    """Return only when Kafka has acknowledged."""
    if outcome is Outcome.NOT_SENT:
        raise Unavailable(NOT_SENT)
    if outcome is Outcome.UNKNOWN:
        raise Unconfirmed(UNKNOWN)


def success(kind: Kind, sealed: Sealed) -> bytes:
    """Interface 2.5; `rejected` only when some were."""
    body: dict[str, object] = {"status": "success", "type": kind.name, "count": sealed.count}
    if sealed.rejected:
        body["rejected"] = sealed.rejected
    return encode(body)
