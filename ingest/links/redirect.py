"""GET /l/{slug}: redirects the visitor from memory and queues the click.

Links are read from the registry snapshot in memory, so a redirect needs neither database nor Kafka.
"""

import zlib

import msgspec
from starlette.types import ASGIApp, Receive, Scope, Send

from ingest.decoding.request_head import RequestHead, read_link_head
from ingest.dependencies import CollectorEndpoint, Dependencies
from ingest.links.link_previews import has_preview, is_preview_bot, preview_page
from ingest.links.qr_codes import QrCodes
from ingest.links.targets import choose_target, location_header, with_visitor_query
from ingest.publishing.click_queue import EncodedClick
from schemas.envelope import Envelope, encode_envelope
from schemas.errors import ApiError, MethodNotAllowed, NotFound, RateLimitExceeded
from schemas.http.admission import LimitHolder
from schemas.http.asgi import header
from schemas.http.client_ip import truncate_ip
from schemas.http.limits import Headers
from schemas.http.openapi import Operation, Parameter, Response
from schemas.http.unknown_records import snapshot_with_link
from schemas.plans import Group
from schemas.registry import Link
from schemas.tables.clicks import Click

HTML_HEADERS: Headers = [
    (b"content-type", b"text/html; charset=utf-8"),
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    ),
    (b"cache-control", b"no-store"),
]

_STYLE = (
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:0 1rem;"
    "color:#222;background:#fff}@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}}"
)


def error_page(title: str, advice: str) -> bytes:
    """An HTML page; title and advice are our own text and not escaped."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title>{title}</title>
<style>{_STYLE}</style>
</head>
<body><h1>{title}</h1><p>{advice}</p></body>
</html>
""".encode()


UNKNOWN_LINK_PAGE = error_page(
    "Link not found", "Check the address, or ask the sender for the correct link."
)
EXPIRED_LINK_PAGE = error_page("This link has expired", "Ask the sender for a new link.")
RATE_LIMITED_PAGE = error_page("Too many requests for this link", "Try again in a minute.")


LINKS_PATH = "/l/"
QR_CODE_SUFFIX = "/qr.svg"
METHODS = ("GET", "HEAD")
MAX_REFERRER_LENGTH = 2048
MAX_HOST_LENGTH = 255

NO_INDEX = (b"x-robots-tag", b"noindex")
REVALIDATE = (b"cache-control", b"private, no-cache")
"""Browsers may cache the redirect and must revalidate it, so every click is recorded."""

SLUG_PARAMETER = Parameter("slug", "the last part of the link", required=True, location="path")

LINK_OPERATIONS = (
    Operation(
        method="GET",
        path=LINKS_PATH + "{slug}",
        operation_id="follow",
        tag="Links",
        summary="Redirect to the link's target and record a click",
        description="Query parameters are added to the target, except those that it has already. A "
        "HEAD request records no click. Errors are a page for clients that accept text/html.",
        parameters=(SLUG_PARAMETER,),
        responses=(
            Response(302, "redirect to the target", headers=("Location", "ETag")),
            Response(304, "not modified", headers=("ETag",)),
            Response(200, "link preview page, for preview bots", media_types=("text/html",)),
        ),
        errors=(NotFound, RateLimitExceeded),
        security=({},),
    ),
    Operation(
        method="GET",
        path=LINKS_PATH + "{slug}" + QR_CODE_SUFFIX,
        operation_id="code",
        tag="Links",
        summary="QR code of the link (SVG)",
        description="It contains the link with the host name of the request.",
        parameters=(SLUG_PARAMETER,),
        responses=(Response(200, "the image", media_types=("image/svg+xml",)),),
        errors=(NotFound, RateLimitExceeded),
        security=({},),
    ),
)


def redirect_endpoint(dependencies: Dependencies) -> ASGIApp:
    """The endpoint of every path under /l/."""
    qr_codes = QrCodes()

    async def endpoint(scope: Scope, _receive: Receive, send: Send) -> None:
        if scope["method"] not in METHODS:
            raise MethodNotAllowed(", ".join(METHODS))
        # Mail programs and people add a slash.
        slug: str = scope["path"][len(LINKS_PATH) :].rstrip("/")
        wants_qr_code = slug.endswith(QR_CODE_SUFFIX)
        slug = slug.removesuffix(QR_CODE_SUFFIX)
        link = dependencies.registry.snapshot.links_by_slug.get(slug)
        try:
            await _admit(dependencies, link, scope)
        except RateLimitExceeded as exceeded:
            await _send_error(scope, send, RATE_LIMITED_PAGE, exceeded)
            return
        if link is None:
            link = (await snapshot_with_link(dependencies.registry, slug)).links_by_slug.get(slug)
        if link is None:
            await _send_error(scope, send, UNKNOWN_LINK_PAGE, NotFound("No such link"))
        elif wants_qr_code:
            await _qr_code(dependencies, qr_codes, link, scope, send)
        else:
            await _redirect(dependencies, link, scope, send)

    return endpoint


async def _admit(dependencies: Dependencies, link: Link | None, scope: Scope) -> None:
    """Count against the organization of the link; against the client network if it is unknown."""
    if link is None:
        dependencies.middleware.admit_anonymous(scope)
        return
    organization = dependencies.registry.snapshot.organizations[link.organization_id]
    middleware = dependencies.middleware
    holder = LimitHolder(organization, Group.REDIRECTS, organization.id)
    ticket = await middleware.admission.admit(scope, holder, middleware.client_network(scope))
    await ticket.charge()


async def _redirect(dependencies: Dependencies, link: Link, scope: Scope, send: Send) -> None:
    """Redirect the visitor; a HEAD request is not a click."""
    head, now = read_link_head(scope), dependencies.clock()
    target = choose_target(link, head.user_agent, now)
    if target is None:
        await _send_error(scope, send, EXPIRED_LINK_PAGE, NotFound("This link has expired"))
        return
    if scope["method"] == "GET":
        dependencies.clicks.record(
            _encode_click(
                dependencies, link, head, truncate_ip(dependencies.middleware.client_ip(scope)), now
            )
        )
    if has_preview(link) and is_preview_bot(head.user_agent):
        await _respond(scope, send, 200, [*HTML_HEADERS, NO_INDEX], preview_page(link, target))
        return
    location = location_header(with_visitor_query(target, scope["query_string"]))
    etag = b'"%08x"' % zlib.crc32(location)
    unchanged = etag.decode() in (header(scope, b"if-none-match") or "")
    headers: Headers = [(b"etag", etag), REVALIDATE, NO_INDEX]
    if not unchanged:
        headers.append((b"location", location))
    await _respond(scope, send, 304 if unchanged else 302, headers, b"")


async def _qr_code(
    dependencies: Dependencies, qr_codes: QrCodes, link: Link, scope: Scope, send: Send
) -> None:
    """The QR code of the link, with the host name of the request."""
    host = header(scope, b"host") or ""
    if not 0 < len(host) <= MAX_HOST_LENGTH:
        raise NotFound("The request has no valid Host header for the QR code")
    image = await qr_codes.get(
        f"{dependencies.middleware.scheme(scope)}://{host}{LINKS_PATH}{link.slug}"
    )
    headers: Headers = [
        (b"content-type", b"image/svg+xml"),
        (b"cache-control", b"public, max-age=3600"),
        (b"content-security-policy", b"default-src 'none'"),
        NO_INDEX,
    ]
    await _respond(scope, send, 200, headers, image)


async def _send_error(scope: Scope, send: Send, page: bytes, error: ApiError) -> None:
    """An HTML page for browsers, the usual error body for other clients."""
    if "text/html" not in (header(scope, b"accept") or ""):
        raise error
    headers: Headers = [*HTML_HEADERS, NO_INDEX]
    if error.retry_after is not None:
        headers.append((b"retry-after", b"%d" % error.retry_after))
    await _respond(scope, send, error.status, headers, page)


async def _respond(scope: Scope, send: Send, status: int, headers: Headers, body: bytes) -> None:
    if status != 304:
        headers = [*headers, (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body if scope["method"] == "GET" else b""})


def _encode_click(
    dependencies: Dependencies, link: Link, head: RequestHead, address: str, now: int
) -> EncodedClick:
    visitor = dependencies.anonymous_ids.for_links(
        link.organization_id, address, head.user_agent, now
    )
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
        client_network=address,
        user_agent=head.user_agent,
        headers=head.headers,
    )
    return EncodedClick(zlib.crc32(f"{link.id}\0{visitor}".encode()), encode_envelope(envelope))


LINKS_ENDPOINT = CollectorEndpoint(LINK_OPERATIONS, redirect_endpoint)
