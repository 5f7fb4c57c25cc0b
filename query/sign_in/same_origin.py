"""Whether a request comes from a page of this service, not from another site.

Browsers set `Sec-Fetch-Site` and `Origin` themselves; no script can change them. A form of another
site cannot send `X-Tidemark-Request`, and a script of another site needs a preflight for it.
"""

from urllib.parse import urlsplit

from starlette.requests import Request

from schemas.errors import Forbidden
from schemas.http.asgi import header

REQUEST_HEADER = "x-tidemark-request"
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
FROM_ELSEWHERE = (
    "A sign-in of a browser is valid for requests of its own page only: send "
    "'X-Tidemark-Request: 1' from the origin of this service; elsewhere use an API key"
)


def require_same_origin(request: Request) -> None:
    """Forbidden unless the request proves that it comes from this origin.

    Reads need no proof, but none may come from another site.
    """
    if request.method in SAFE_METHODS:
        if _fetch_site(request) in ("cross-site", "same-site"):
            raise Forbidden(FROM_ELSEWHERE)
    elif header(request.scope, REQUEST_HEADER.encode()) != "1" or not _is_same_origin(request):
        raise Forbidden(FROM_ELSEWHERE)


def _is_same_origin(request: Request) -> bool:
    """By Sec-Fetch-Site; browsers do not send it over plain http to other machines."""
    site = _fetch_site(request)
    if site is not None:
        return site == "same-origin"
    origin, host = header(request.scope, b"origin"), header(request.scope, b"host")
    if not origin or not host:
        return False
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()


def _fetch_site(request: Request) -> str | None:
    return header(request.scope, b"sec-fetch-site")
