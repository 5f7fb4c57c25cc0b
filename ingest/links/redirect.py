"""GET /l/{slug}: the visitor goes on, whatever Kafka does, and the click is recorded beside it.

All that an answer needs is in the registry's snapshot, in memory.
"""

import zlib

import msgspec
from starlette.types import ASGIApp, Receive, Scope, Send

from ingest.decoding.request_head import RequestHead, read_request_head
from ingest.dependencies import Dependencies
from ingest.links.click_queue import ClickQueue, EncodedClick
from ingest.links.error_pages import (
    EXPIRED_LINK_PAGE,
    HTML_HEADERS,
    RATE_LIMITED_PAGE,
    UNKNOWN_LINK_PAGE,
)
from ingest.links.link_previews import has_preview, is_preview_bot, preview_page
from ingest.links.qr_codes import QrCodes
from ingest.links.targets import choose_target, location_header, with_visitor_query
from schemas.envelope import Envelope, encode_envelope
from schemas.errors import ApiError, MethodNotAllowed, NotFound, RateLimitExceeded
from schemas.http.asgi import header
from schemas.http.client_ip import truncate_ip
from schemas.http.openapi import Operation, Parameter, Response
from schemas.http.rate_limit_headers import Headers
from schemas.items import Click
from schemas.plans import Group
from schemas.registry import Link

LINKS_PATH = "/l/"
QR_CODE_SUFFIX = "/qr.svg"
METHODS = ("GET", "HEAD")
MAX_REFERRER_LENGTH = 2048
MAX_HOST_LENGTH = 255

NO_INDEX = (b"x-robots-tag", b"noindex")
REVALIDATE = (b"cache-control", b"private, no-cache")
"""A browser may keep where it was sent, and asks each time; so each click is seen."""

SLUG_PARAMETER = Parameter("slug", "the link's last part", required=True, location="path")

LINK_OPERATIONS = (
    Operation(
        method="GET",
        path="/l/{slug}",
        operation_id="follow",
        tag="Links",
        summary="Follow a short link, and count the click",
        description="Parameters are passed on to the target, but for those that it has itself. A "
        "HEAD is "
        "answered alike and not counted. Who accepts text/html gets a page instead of JSON.",
        parameters=(SLUG_PARAMETER,),
        responses=(
            Response(302, "to where it leads", headers=("Location", "ETag")),
            Response(304, "to where it led before", headers=("ETag",)),
            Response(
                200, "to programs that preview links: what it shows", media_types=("text/html",)
            ),
        ),
        errors=(NotFound, RateLimitExceeded),
        security=({},),
    ),
    Operation(
        method="GET",
        path="/l/{slug}/qr.svg",
        operation_id="code",
        tag="Links",
        summary="A QR code that leads to the link",
        description="It holds the address at which it was asked for.",
        parameters=(SLUG_PARAMETER,),
        responses=(Response(200, "the picture", media_types=("image/svg+xml",)),),
        errors=(NotFound, RateLimitExceeded),
        security=({},),
    ),
)


def redirect_endpoint(desk: Dependencies, clicks: ClickQueue) -> ASGIApp:
    """The endpoint of every path under /l/."""
    codes = QrCodes()

    async def endpoint(scope: Scope, _receive: Receive, send: Send) -> None:
        if scope["method"] not in METHODS:
            raise MethodNotAllowed(", ".join(METHODS))
        slug: str = scope["path"][len(LINKS_PATH) :]
        code = slug.endswith(QR_CODE_SUFFIX)
        link = desk.registry.snapshot.links_by_slug.get(
            slug.removesuffix(QR_CODE_SUFFIX) if code else slug
        )
        try:
            _admit(desk, link, scope)
        except RateLimitExceeded as exceeded:
            await _send_error(scope, send, RATE_LIMITED_PAGE, exceeded)
            return
        if link is None:
            await _send_error(scope, send, UNKNOWN_LINK_PAGE, NotFound("No such link"))
        elif code:
            await _qr_code(desk, codes, link, scope, send)
        else:
            await _redirect(desk, clicks, link, scope, send)

    return endpoint


def _admit(desk: Dependencies, link: Link | None, scope: Scope) -> None:
    """Count the request as the owner's; as a stranger's when nobody owns such a link."""
    if link is None:
        desk.middleware.admit_anonymous(scope)
        return
    owner = desk.registry.snapshot.organizations[link.organization_id]
    admission, network, now = (
        desk.middleware.admission,
        desk.middleware.client_network(scope),
        desk.clock(),
    )
    buckets = admission.anonymous_buckets(network, owner, Group.REDIRECTS, owner.id, now)
    admission.count_anonymous(scope, buckets, now)


async def _redirect(
    desk: Dependencies, clicks: ClickQueue, link: Link, scope: Scope, send: Send
) -> None:
    """Send the visitor on; a HEAD is not a click."""
    head, now = read_request_head(scope), desk.clock()
    target = choose_target(link, head.user_agent, now)
    if target is None:
        await _send_error(scope, send, EXPIRED_LINK_PAGE, NotFound("This link has expired"))
        return
    if scope["method"] == "GET":
        clicks.record(
            _encode_click(desk, link, head, truncate_ip(desk.middleware.client_ip(scope)), now)
        )
    if has_preview(link) and is_preview_bot(head.user_agent):
        await _respond(scope, send, 200, [*HTML_HEADERS, NO_INDEX], preview_page(link, target))
        return
    where = location_header(with_visitor_query(target, scope["query_string"]))
    tag = b'"%08x"' % zlib.crc32(where)
    same = tag.decode() in (header(scope, b"if-none-match") or "")
    headers: Headers = [(b"etag", tag), REVALIDATE, NO_INDEX]
    if not same:
        headers.append((b"location", where))
    await _respond(scope, send, 304 if same else 302, headers, b"")


async def _qr_code(
    desk: Dependencies, codes: QrCodes, link: Link, scope: Scope, send: Send
) -> None:
    """The QR code of the link, at the address at which it was asked for."""
    host = header(scope, b"host") or ""
    if not 0 < len(host) <= MAX_HOST_LENGTH:
        raise NotFound("The request names no host for the code to lead to")
    image = await codes.get(f"{desk.middleware.scheme(scope)}://{host}{LINKS_PATH}{link.slug}")
    headers: Headers = [
        (b"content-type", b"image/svg+xml"),
        (b"cache-control", b"public, max-age=3600"),
        (b"content-security-policy", b"default-src 'none'"),
        NO_INDEX,
    ]
    await _respond(scope, send, 200, headers, image)


async def _send_error(scope: Scope, send: Send, page: bytes, failure: ApiError) -> None:
    """A page for people, the usual refusal for programs."""
    if "text/html" not in (header(scope, b"accept") or ""):
        raise failure
    headers: Headers = [*HTML_HEADERS, NO_INDEX]
    if failure.retry_after is not None:
        headers.append((b"retry-after", b"%d" % failure.retry_after))
    await _respond(scope, send, failure.status, headers, page)


async def _respond(scope: Scope, send: Send, status: int, headers: Headers, body: bytes) -> None:
    if status != 304:
        headers = [*headers, (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    sent = body if scope["method"] == "GET" else b""
    await send({"type": "http.response.body", "body": sent})


def _encode_click(
    desk: Dependencies, link: Link, head: RequestHead, address: str, now: int
) -> EncodedClick:
    visitor = desk.anonymous_ids.for_links(link.organization_id, address, head.user_agent, now)
    click = Click(
        slug=link.slug,
        timestamp=now,
        anonymous_id=visitor,
        referrer=head.headers.get("referer", "")[:MAX_REFERRER_LENGTH] or None,
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
    return EncodedClick(zlib.crc32(f"{link.id}\0{visitor}".encode()), encode_envelope(envelope))
