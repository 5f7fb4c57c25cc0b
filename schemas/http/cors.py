"""CORS: echoes the exact origin so that credentialed beacons pass.

With `Access-Control-Allow-Origin: *` Chromium silently drops a JSON `sendBeacon`, which always
sends credentials.
"""

from starlette.types import Scope

from schemas.http.asgi import header, headers_by_name
from schemas.http.rate_limit_headers import Headers

EXPOSED_HEADERS = (
    b"X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, X-Request-Id"
)
MAX_AGE_SECONDS = b"86400"
ALL_METHODS = "GET, POST, PUT, PATCH, DELETE"


def cors_headers(scope: Scope, credentials: bool) -> Headers:
    """Response headers for a cross-origin request; none without `Origin`."""
    origin = headers_by_name(scope).get(b"origin")
    if not origin:
        return []
    headers: Headers = [
        (b"access-control-allow-origin", origin),
        (b"access-control-expose-headers", EXPOSED_HEADERS),
        (b"timing-allow-origin", origin),
        (b"vary", b"Origin"),
    ]
    if credentials:
        headers.append((b"access-control-allow-credentials", b"true"))
    return headers


def preflight_headers(scope: Scope, methods: str) -> Headers:
    """Further headers of a preflight response: methods and requested headers, cached for a day."""
    requested = header(scope, b"access-control-request-headers") or "content-type"
    return [
        (b"access-control-allow-methods", f"{methods}, OPTIONS".encode()),
        (b"access-control-allow-headers", requested.encode("latin-1")),
        (b"access-control-max-age", MAX_AGE_SECONDS),
    ]
