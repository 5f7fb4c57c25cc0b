"""GET /openapi.json, compressed and with an ETag."""

from collections.abc import Callable
from functools import cache

from starlette.types import ASGIApp, Receive, Scope, Send

from schemas.errors import MethodNotAllowed
from schemas.http.openapi import ApiDescription, encode_document
from schemas.http.static_content import StaticContent, send_static

OPENAPI_PATH = "/openapi.json"


def openapi_endpoint(service: Callable[[], ApiDescription]) -> ASGIApp:
    """The endpoint; the document is built for the first request and cached."""

    @cache
    def document() -> StaticContent:
        return StaticContent.of(encode_document(service()), "application/json")

    async def endpoint(scope: Scope, _receive: Receive, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            raise MethodNotAllowed("GET")
        await send_static(scope, send, document(), [(b"cache-control", b"no-cache")])

    return endpoint
