"""Static contents: bytes that are the same for everybody, compressed once, with an ETag.

Anybody may request them, so each response counts against the public limit of its client network, by
its size: a request of 100 bytes must not make a service send megabytes without end.
"""

import gzip
import re
from hashlib import sha256
from typing import Self

from msgspec import Struct
from starlette.types import Scope, Send

from schemas.http.admission import BYTES_PER_REQUEST
from schemas.http.asgi import header
from schemas.http.limits import Headers
from schemas.http.middleware import HttpMiddleware

WORTHWHILE = 0.9
"""Share of its size below which a compressed content is sent."""


class StaticContent(Struct, frozen=True):
    """One content, plain and compressed."""

    media_type: str
    plain: bytes
    compressed: bytes | None
    """None where gzip saves nothing."""
    etag: bytes

    @classmethod
    def of(cls, plain: bytes, media_type: str) -> Self:
        """The content, compressed and with its ETag."""
        compressed = gzip.compress(plain, mtime=0)
        return cls(
            media_type,
            plain,
            compressed if len(compressed) < WORTHWHILE * len(plain) else None,
            b'"%s"' % sha256(plain).hexdigest()[:24].encode(),
        )


class StaticResponse(Struct, frozen=True):
    """What is sent of a content."""

    status: int
    headers: Headers
    body: bytes


def static_response(scope: Scope, content: StaticContent, headers: Headers) -> StaticResponse:
    """The content, or 304 to a client that has it; RateLimitExceeded beyond the public limit."""
    compressed = content.compressed if accepts_gzip(scope) else None
    body = content.plain if compressed is None else compressed
    is_current = content.etag in (header(scope, b"if-none-match") or "").encode("latin-1")
    sent = b"" if is_current or scope["method"] == "HEAD" else body
    middleware: HttpMiddleware | None = scope.get("app")
    if middleware is not None:
        middleware.admit_anonymous(scope, 1 + len(sent) // BYTES_PER_REQUEST)
    all_headers = [*headers, (b"etag", content.etag)]
    if not any(name == b"vary" for name, _ in headers):
        all_headers.append((b"vary", b"Accept-Encoding"))
    if not is_current:
        all_headers += [
            (b"content-type", content.media_type.encode()),
            (b"content-length", b"%d" % len(body)),
        ]
        if compressed is not None:
            all_headers.append((b"content-encoding", b"gzip"))
    return StaticResponse(304 if is_current else 200, all_headers, sent)


async def send_static(scope: Scope, send: Send, content: StaticContent, headers: Headers) -> None:
    """Send the content; see `static_response`."""
    made = static_response(scope, content, headers)
    start = {"type": "http.response.start", "status": made.status, "headers": made.headers}
    await send(start)
    await send({"type": "http.response.body", "body": made.body})


def accepts_gzip(scope: Scope) -> bool:
    """Whether the client takes gzip; `gzip;q=0` says that it does not."""
    for part in (header(scope, b"accept-encoding") or "").lower().split(","):
        name, _, weight = part.strip().partition(";")
        if name.strip() == "gzip":
            return not re.fullmatch(r"\s*q=0(\.0*)?\s*", weight)
    return False
