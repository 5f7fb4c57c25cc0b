"""GET /robots.txt: crawlers may fetch short links for previews, and nothing else."""

from starlette.types import Receive, Scope, Send

from ingest.dependencies import CollectorEndpoint
from schemas.errors import MethodNotAllowed
from schemas.http.openapi import Operation, Response

ROBOTS_OPERATION = Operation(
    method="GET",
    path="/robots.txt",
    operation_id="robots",
    tag="Links",
    summary="Rules for crawlers",
    responses=(Response(200, "the rules", media_types=("text/plain",)),),
    errors=(),
    security=({},),
)
ROBOTS_TXT = b"User-agent: *\nAllow: /l/\nDisallow: /\n"


async def robots(scope: Scope, _receive: Receive, send: Send) -> None:
    """The endpoint; responses under /l/ have a `noindex` header of their own."""
    if scope["method"] not in ("GET", "HEAD"):
        raise MethodNotAllowed("GET, HEAD")
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"cache-control", b"public, max-age=86400"),
        (b"content-length", b"%d" % len(ROBOTS_TXT)),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    body = ROBOTS_TXT if scope["method"] == "GET" else b""
    await send({"type": "http.response.body", "body": body})


ROBOTS_ENDPOINT = CollectorEndpoint((ROBOTS_OPERATION,), lambda _dependencies: robots)
