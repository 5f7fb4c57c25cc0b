"""ASGI helpers: read a header, read a bounded body, send JSON, an application as an endpoint."""

import asyncio
from collections.abc import Callable
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from schemas.errors import PayloadTooLarge, RequestTimeout
from schemas.http.error_bodies import encode_json
from schemas.http.limits import Headers

WHOLE_BODY_KEY = "tidemark.body"
"""Key of the ASGI scope: the body, once it was read or if our protocol received it in one piece."""

WRITE_KEY = "tidemark.write"
"""Key of the ASGI scope: writes a whole response, where our protocol can do that (`WriteWhole`)."""

WriteWhole = Callable[[int, bytes, bytes], None]
"""Writes status, header lines and body of a response at once."""

BY_NAME = "tidemark.headers"
"""Key of the ASGI scope: the headers by name, once one was read."""


class ClientDisconnected(Exception):
    """The client closed the connection before its body was complete."""


def header(scope: Scope, name: bytes) -> str | None:
    """The header of that lower-case name; repeated headers are joined to one list (RFC 9110 5.3).

    Readers of a single value treat a list as an invalid value: the service does not guess which
    one a proxy meant.
    """
    value = headers_by_name(scope).get(name)
    return None if value is None else str(value, "latin-1")


def headers_by_name(scope: Scope) -> dict[bytes, bytes]:
    """All headers by name, joined as in `header`; computed once per request."""
    cached: dict[bytes, bytes] | None = scope.get(BY_NAME)
    if cached is not None:
        return cached
    lines = scope["headers"]
    headers = scope[BY_NAME] = dict(lines)
    if len(headers) < len(lines):
        headers.clear()
        for name, value in lines:
            headers[name] = headers[name] + b", " + value if name in headers else value
    return headers


async def read_body(scope: Scope, receive: Receive, max_bytes: int, seconds: float) -> bytes:
    """Read the body; PayloadTooLarge beyond `max_bytes`, RequestTimeout after `seconds`."""
    complete: bytes | None = scope.get(WHOLE_BODY_KEY)
    if complete is None:
        complete = scope[WHOLE_BODY_KEY] = await _receive_body(scope, receive, max_bytes, seconds)
    return _check_size(complete, max_bytes)


async def _receive_body(scope: Scope, receive: Receive, max_bytes: int, seconds: float) -> bytes:
    declared = header(scope, b"content-length")
    if declared is not None and declared.isdigit() and int(declared) > max_bytes:
        raise PayloadTooLarge(f"The body may have at most {max_bytes:,} bytes")
    try:
        async with asyncio.timeout(seconds):
            message = await receive()
            if message["type"] == "http.request" and not message.get("more_body"):
                return bytes(message.get("body", b""))
            return await _read_rest(message, receive, max_bytes)
    except TimeoutError:
        raise RequestTimeout(f"The body did not arrive within {seconds:g} seconds") from None


async def _read_rest(message: Any, receive: Receive, max_bytes: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        if message["type"] == "http.disconnect":
            raise ClientDisconnected
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > max_bytes:
            raise PayloadTooLarge(f"The body may have at most {max_bytes:,} bytes")
        if not message.get("more_body"):
            return b"".join(parts)
        message = await receive()


def _check_size(body: bytes, max_bytes: int) -> bytes:
    if len(body) > max_bytes:
        raise PayloadTooLarge(f"The body may have at most {max_bytes:,} bytes")
    return body


async def send_json(send: Send, status: int, body: object, headers: Headers | None = None) -> None:
    """Send a JSON response; a body of bytes is JSON already."""
    payload = body if isinstance(body, bytes) else encode_json(body)
    await send_body(send, status, "application/json", payload, headers)


async def send_body(
    send: Send, status: int, media_type: str, body: bytes, headers: Headers | None = None
) -> None:
    """Send a response of any media type; a 204 has no body."""
    base: Headers = [
        (b"content-type", media_type.encode()),
        (b"content-length", b"%d" % len(body)),
    ]
    if status == 204:
        base, body = [], b""
    await send({"type": "http.response.start", "status": status, "headers": base + (headers or [])})
    await send({"type": "http.response.body", "body": body})


class AsgiEndpoint:
    """Wraps an ASGI endpoint: Starlette treats instances as ASGI, functions as handlers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)
