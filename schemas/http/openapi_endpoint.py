"""GET /openapi.json, with an ETag."""

from collections.abc import Callable
from functools import cache

from starlette.types import ASGIApp, Receive, Scope, Send

from schemas.errors import MethodNotAllowed
from schemas.http.asgi import header
from schemas.http.openapi import ApiDescription, encode_document

OPENAPI_PATH = "/openapi.json"


def openapi_endpoint(service: Callable[[], ApiDescription]) -> ASGIApp:
    """The endpoint; the document is built for the first request and cached."""

    @cache
    def document() -> tuple[bytes, str]:
        return encode_document(service())

    async def endpoint(scope: Scope, _receive: Receive, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            raise MethodNotAllowed("GET")
        body, tag = document()
        unchanged = tag in (header(scope, b"if-none-match") or "")
        headers = [
            (b"etag", tag.encode()),
            (b"cache-control", b"no-cache"),
            (b"content-type", b"application/json"),
        ]
        if not unchanged:
            headers.append((b"content-length", b"%d" % len(body)))
        status = 304 if unchanged else 200
        await send({"type": "http.response.start", "status": status, "headers": headers})
        sent = b"" if unchanged or scope["method"] == "HEAD" else body
        await send({"type": "http.response.body", "body": sent})

    return endpoint
