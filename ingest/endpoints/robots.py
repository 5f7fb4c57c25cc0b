"""GET /robots.txt: programs may look at links, to preview them; none has anything else to find."""

from starlette.types import Receive, Scope, Send

from schemas.errors import WrongMethod
from schemas.http.openapi import Answer, Operation

ROBOTS = "/robots.txt"
OPERATIONS = (
    Operation(
        method="GET",
        path=ROBOTS,
        name="robots",
        group="Links",
        meaning="What programs that index may look at: short links, to preview them",
        answers=(Answer(200, "the rules", files=("text/plain",)),),
        failures=(),
        keys=({},),
    ),
)
TEXT = b"User-agent: *\nAllow: /l/\nDisallow: /\n"


async def robots(scope: Scope, _receive: Receive, send: Send) -> None:
    """What is under /l/ says itself, in a header, that no index should hold it."""
    if scope["method"] not in ("GET", "HEAD"):
        raise WrongMethod("GET, HEAD")
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"cache-control", b"public, max-age=86400"),
        (b"content-length", b"%d" % len(TEXT)),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    sent = TEXT if scope["method"] == "GET" else b""
    await send({"type": "http.response.body", "body": sent})
