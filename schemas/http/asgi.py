"""ASGI helpers: read a header, read a bounded body, send JSON."""

import asyncio
from typing import Any

from starlette.types import Receive, Scope, Send

from schemas.errors import PayloadTooLarge, RequestTimeout
from schemas.http.error_bodies import encode_json
from schemas.http.rate_limit_headers import Headers

WHOLE_BODY_KEY = "tidemark.body"
"""Where a protocol of ours leaves a body that came in one piece."""

BY_NAME = "tidemark.headers"
"""In the scope: the headers by name, once somebody asked for one."""


class ClientDisconnected(Exception):
    """The client closed the connection before its body was complete; there is no one to answer."""


def header(scope: Scope, name: bytes) -> str | None:
    """The header of that lower-case name; several lines of it are one list (RFC 9110 5.3).

    Who takes one value only refuses or ignores the list, as any other wrong value: which of two a
    proxy meant is not guessed.
    """
    value = headers_by_name(scope).get(name)
    return None if value is None else str(value, "latin-1")


def headers_by_name(scope: Scope) -> dict[bytes, bytes]:
    """All headers, each read as `header` reads it; sorted once for a request."""
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
    """The whole body; TooLarge beyond `most` bytes, TooSlow when it takes longer than `seconds`."""
    complete: bytes | None = scope.get(WHOLE_BODY_KEY)
    if complete is not None:
        return _check_size(complete, max_bytes)
    declared = header(scope, b"content-length")
    if declared is not None and declared.isdigit() and int(declared) > max_bytes:
        raise PayloadTooLarge(f"The body may have at most {max_bytes:,} bytes")
    try:
        async with asyncio.timeout(seconds):
            message = await receive()
            if message["type"] == "http.request" and not message.get("more_body"):
                return _check_size(message.get("body", b""), max_bytes)
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
    """A JSON answer; `body` may be bytes that are JSON already."""
    payload = body if isinstance(body, bytes) else encode_json(body)
    base: Headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(payload)),
    ]
    await send({"type": "http.response.start", "status": status, "headers": base + (headers or [])})
    await send({"type": "http.response.body", "body": payload})
