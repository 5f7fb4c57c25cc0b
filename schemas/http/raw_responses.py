"""Error responses as bytes, for connections that never become an ASGI request."""

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from schemas.errors import ApiError
from schemas.http.error_bodies import ErrorShape, encode_json
from schemas.http.limits import WINDOW_MS, Headers, RateLimitStatus
from schemas.http.middleware import PUBLIC_REQUESTS
from schemas.runtime.clock import now_ms

NOSNIFF_HEADER = (b"x-content-type-options", b"nosniff")
"""On every response, so that no browser treats stored text as a page."""

STATUS_LINES = {
    status: line + b"%b: %b\r\n" % NOSNIFF_HEADER for status, line in STATUS_LINE.items()
}
"""Status lines, each with the header that every response has."""


def error_response(error: ApiError, shape: ErrorShape) -> bytes:
    """The error response as bytes; the connection is closed after it."""
    body = encode_json(shape(error))
    headers: Headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"connection", b"close"),
        *RateLimitStatus(PUBLIC_REQUESTS, PUBLIC_REQUESTS, now_ms() + WINDOW_MS).headers(),
    ]
    if error.retry_after is not None:
        headers.append((b"retry-after", b"%d" % error.retry_after))
    lines = b"".join([b"%b: %b\r\n" % header for header in headers])
    return STATUS_LINES[error.status] + lines + b"\r\n" + body
