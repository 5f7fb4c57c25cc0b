"""What the collector takes and refuses, noted for `/debug`."""

from collections.abc import Collection, Iterable, Sequence

from starlette.types import Scope

from ingest.decoding.auth import identify
from ingest.decoding.decoder import Rejected
from ingest.decoding.request_head import named_website, read_head
from ingest.dependencies import Desk
from ingest.publishing.envelopes import Sealed
from ingest.publishing.recent_requests import WEBSITE_BYTES, Recent, Refusal, Seen
from schemas.envelope import open_envelope
from schemas.errors import Failure
from schemas.http.asgi import headers_by_name
from schemas.http.middleware import OnRefusal

LARGEST = WEBSITE_BYTES // 4
"""Bytes of items that are kept of one request."""
REJECTS = 50
"""Refused items that are kept of one request."""
MESSAGE = 256
"""Characters of a reason; some repeat what was sent."""


def refusals(desk: Desk, paths: Collection[str]) -> OnRefusal:
    """Notes what these routes refuse, for the website that the request names."""

    def note_refusal(scope: Scope, failure: Failure) -> None:
        subject_id = _named(scope, desk) if scope["path"] in paths else None
        if subject_id is not None:
            desk.recent.keep(subject_id, _refused(failure, scope["path"], desk.clock()))

    return note_refusal


def note(recent: Recent, topic: str, sealed: Sealed, receipt: str) -> None:
    """Note what was sent on."""
    if len(sealed.envelopes) == 1:
        [envelope] = sealed.envelopes
        recent.keep(sealed.owner, _sent(topic, sealed, envelope, receipt))
        return
    for envelope in sealed.envelopes:
        subject_id = open_envelope(envelope).subject_id
        recent.keep(subject_id, _sent(topic, sealed, envelope, receipt))


def _sent(topic: str, sealed: Sealed, envelope: bytes, receipt: str) -> Seen:
    kept = envelope if len(envelope) <= LARGEST else b""
    return Seen(sealed.received_ms, topic, sealed.count, kept, receipt)


def note_rejects(desk: Desk, subject_id: str, path: str, rejected: Iterable[Rejected]) -> None:
    """Note what was left out of a request that was taken."""
    if named := tuple(rejected):
        kept = _kept(named)
        desk.recent.keep(
            subject_id, Seen(desk.clock(), path, rejected=kept, more=len(named) - len(kept))
        )


def _refused(failure: Failure, path: str, now_ms: int) -> Seen:
    rejected = tuple(failure.more.get("rejected", ()))
    kept = _kept(rejected)
    refusal = Refusal(failure.status, failure.code, failure.message[:MESSAGE])
    return Seen(now_ms, path, rejected=kept, refusal=refusal, more=len(rejected) - len(kept))


def _kept(rejected: Sequence[Rejected]) -> tuple[Rejected, ...]:
    """The first of them, in few words."""
    return tuple(
        Rejected(each.index, each.code, each.message[:MESSAGE]) for each in rejected[:REJECTS]
    )


def _named(scope: Scope, desk: Desk) -> str | None:
    """Whom a refused request was about, as far as its head says; None when nobody is known."""
    registry = desk.registry.snapshot
    try:
        head = read_head(scope)
        sender = identify(head, registry, desk.clock())
    except Failure:  # a wrong key, or none for this website: that is what is to be seen
        sender = None
    if sender is not None:
        return sender.subject_id
    website_id = named_website(scope["query_string"], headers_by_name(scope))
    return website_id if website_id in registry.websites else None
