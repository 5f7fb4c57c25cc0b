"""CORS: echoes the exact origin so that credentialed beacons pass.

With `Access-Control-Allow-Origin: *` Chromium silently drops a JSON `sendBeacon`, which always
sends credentials.
"""

from functools import lru_cache

from starlette.types import Scope

from schemas.http.asgi import header, headers_by_name
from schemas.http.limits import Headers

EXPOSED_HEADERS = (
    b"X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, X-Request-Id"
)
CACHED_ORIGIN_LENGTH = 128
"""Longer origins are rare, and not kept."""
MAX_AGE_SECONDS = b"86400"
ALL_METHODS = "GET, POST, PUT, PATCH, DELETE"


def cors_headers(scope: Scope, credentials: bool) -> Headers:
    """Response headers for a cross-origin request; none without `Origin`."""
    origin = headers_by_name(scope).get(b"origin")
    return _headers(origin, credentials) if origin else []


def cors_lines(scope: Scope, credentials: bool) -> bytes:
    """The same headers as bytes of a response."""
    origin = headers_by_name(scope).get(b"origin")
    if not origin:
        return b""
    prepared = _lines if len(origin) <= CACHED_ORIGIN_LENGTH else _lines.__wrapped__
    return prepared(origin, credentials)


def _headers(origin: bytes, credentials: bool) -> Headers:
    headers: Headers = [
        (b"access-control-allow-origin", origin),
        (b"access-control-expose-headers", EXPOSED_HEADERS),
        (b"timing-allow-origin", origin),
        (b"vary", b"Origin"),
    ]
    if credentials:
        headers.append((b"access-control-allow-credentials", b"true"))
    return headers


@lru_cache(maxsize=4096)
def _lines(origin: bytes, credentials: bool) -> bytes:
    return b"".join([b"%b: %b\r\n" % pair for pair in _headers(origin, credentials)])


def preflight_headers(scope: Scope, methods: str) -> Headers:
    """Further headers of a preflight response: methods and requested headers, cached for a day."""
    requested = header(scope, b"access-control-request-headers") or "content-type"
    return [
        (b"access-control-allow-methods", f"{methods}, OPTIONS".encode()),
        (b"access-control-allow-headers", requested.encode("latin-1")),
        (b"access-control-max-age", MAX_AGE_SECONDS),
    ]
