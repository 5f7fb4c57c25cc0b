"""GET /l/{slug}: the visitor goes on, whatever Kafka does, and the click is recorded beside it.

All that an answer needs is in the registry's snapshot, in memory.
"""

import zlib

import msgspec
from starlette.types import ASGIApp, Receive, Scope, Send

from ingest.decoding.request_head import Head, read_head
from ingest.dependencies import Desk
from ingest.links.click_queue import Clicks, Sealed
from ingest.links.error_pages import BUSY, EXPIRED, HTML, UNKNOWN
from ingest.links.link_previews import has_preview, is_preview, preview
from ingest.links.qr_codes import Codes
from ingest.links.targets import location, passed_on, target_of
from schemas.envelope import Envelope, seal
from schemas.errors import Failure, LimitExceeded, NotFound, WrongMethod
from schemas.http.asgi import header
from schemas.http.client_ip import cut
from schemas.http.rate_limit_headers import Headers
from schemas.items import Click
from schemas.plans import Group
from schemas.registry import Link

LINKS = "/l/"
CODE = "/qr.svg"
METHODS = ("GET", "HEAD")
REFERRER = 2048
HOST = 255

NO_INDEX = (b"x-robots-tag", b"noindex")
ASK_AGAIN = (b"cache-control", b"private, no-cache")
"""A browser may keep where it was sent, and asks each time; so each click is seen."""


def links(desk: Desk, clicks: Clicks) -> ASGIApp:
    """The endpoint of every path under /l/."""
    codes = Codes()

    async def endpoint(scope: Scope, _receive: Receive, send: Send) -> None:
        if scope["method"] not in METHODS:
            raise WrongMethod(", ".join(METHODS))
        slug: str = scope["path"][len(LINKS) :]
        code = slug.endswith(CODE)
        link = desk.registry.snapshot.links_by_slug.get(slug.removesuffix(CODE) if code else slug)
        try:
            _admit(desk, link, scope)
        except LimitExceeded as exceeded:
            await _refuse(scope, send, BUSY, exceeded)
            return
        if link is None:
            await _refuse(scope, send, UNKNOWN, NotFound("No such link"))
        elif code:
            await _code(desk, codes, link, scope, send)
        else:
            await _lead(desk, clicks, link, scope, send)

    return endpoint


def _admit(desk: Desk, link: Link | None, scope: Scope) -> None:
    """Count the request as the owner's; as a stranger's when nobody owns such a link."""
    if link is None:
        desk.edge.admit_stranger(scope)
        return
    owner = desk.registry.snapshot.organizations[link.organization_id]
    admission, network, now = desk.edge.admission, desk.edge.network(scope), desk.clock()
    buckets = admission.buckets(network, owner, Group.REDIRECTS, owner.id, now)
    admission.anonymous(scope, buckets, now)


async def _lead(desk: Desk, clicks: Clicks, link: Link, scope: Scope, send: Send) -> None:
    """Send the visitor on; a HEAD is not a click."""
    head, now = read_head(scope), desk.clock()
    target = target_of(link, head.user_agent, now)
    if target is None:
        await _refuse(scope, send, EXPIRED, NotFound("This link has expired"))
        return
    if scope["method"] == "GET":
        clicks.record(_click(desk, link, head, cut(desk.edge.address(scope)), now))
    if has_preview(link) and is_preview(head.user_agent):
        await _answer(scope, send, 200, [*HTML, NO_INDEX], preview(link, target))
        return
    where = location(passed_on(target, scope["query_string"]))
    tag = b'"%08x"' % zlib.crc32(where)
    same = tag.decode() in (header(scope, b"if-none-match") or "")
    headers: Headers = [(b"etag", tag), ASK_AGAIN, NO_INDEX]
    if not same:
        headers.append((b"location", where))
    await _answer(scope, send, 304 if same else 302, headers, b"")


async def _code(desk: Desk, codes: Codes, link: Link, scope: Scope, send: Send) -> None:
    """The QR code of the link, at the address at which it was asked for."""
    host = header(scope, b"host") or ""
    if not 0 < len(host) <= HOST:
        raise NotFound("The request names no host for the code to lead to")
    image = await codes.of(f"{desk.edge.scheme(scope)}://{host}{LINKS}{link.slug}")
    headers: Headers = [
        (b"content-type", b"image/svg+xml"),
        (b"cache-control", b"public, max-age=3600"),
        (b"content-security-policy", b"default-src 'none'"),
        NO_INDEX,
    ]
    await _answer(scope, send, 200, headers, image)


async def _refuse(scope: Scope, send: Send, page: bytes, failure: Failure) -> None:
    """A page for people, the usual refusal for programs."""
    if "text/html" not in (header(scope, b"accept") or ""):
        raise failure
    headers: Headers = [*HTML, NO_INDEX]
    if failure.retry_after is not None:
        headers.append((b"retry-after", b"%d" % failure.retry_after))
    await _answer(scope, send, failure.status, headers, page)


async def _answer(scope: Scope, send: Send, status: int, headers: Headers, body: bytes) -> None:
    if status != 304:
        headers = [*headers, (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    sent = body if scope["method"] == "GET" else b""
    await send({"type": "http.response.body", "body": sent})


def _click(desk: Desk, link: Link, head: Head, address: str, now: int) -> Sealed:
    visitor = desk.visitors.of_links(link.organization_id, address, head.user_agent, now)
    click = Click(
        slug=link.slug,
        timestamp=now,
        anonymous_id=visitor,
        referrer=head.headers.get("referer", "")[:REFERRER] or None,
    )
    envelope = Envelope(
        subject_id=link.id,
        organization_id=link.organization_id,
        received_ms=now,
        count=1,
        items=msgspec.json.encode([click]),
        address=address,
        user_agent=head.user_agent,
        headers=head.headers,
    )
    return Sealed(zlib.crc32(f"{link.id}\0{visitor}".encode()), seal(envelope))
