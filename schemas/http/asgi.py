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
    found = headers_by_name(scope).get(name)
    return None if found is None else str(found, "latin-1")


def headers_by_name(scope: Scope) -> dict[bytes, bytes]:
    """All headers, each read as `header` reads it; sorted once for a request."""
    known: dict[bytes, bytes] | None = scope.get(BY_NAME)
    if known is not None:
        return known
    lines = scope["headers"]
    given = scope[BY_NAME] = dict(lines)
    if len(given) < len(lines):
        given.clear()
        for name, value in lines:
            given[name] = given[name] + b", " + value if name in given else value
    return given


async def read_body(scope: Scope, receive: Receive, most: int, seconds: float) -> bytes:
    """The whole body; TooLarge beyond `most` bytes, TooSlow when it takes longer than `seconds`."""
    whole: bytes | None = scope.get(WHOLE_BODY_KEY)
    if whole is not None:
        return _check_size(whole, most)
    declared = header(scope, b"content-length")
    if declared is not None and declared.isdigit() and int(declared) > most:
        raise PayloadTooLarge(f"The body may have at most {most:,} bytes")
    try:
        async with asyncio.timeout(seconds):
            message = await receive()
            if message["type"] == "http.request" and not message.get("more_body"):
                return _check_size(message.get("body", b""), most)
            return await _read_rest(message, receive, most)
    except TimeoutError:
        raise RequestTimeout(f"The body did not arrive within {seconds:g} seconds") from None


async def _read_rest(message: Any, receive: Receive, most: int) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while True:
        if message["type"] == "http.disconnect":
            raise ClientDisconnected
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > most:
            raise PayloadTooLarge(f"The body may have at most {most:,} bytes")
        if not message.get("more_body"):
            return b"".join(pieces)
        message = await receive()


def _check_size(body: bytes, most: int) -> bytes:
    if len(body) > most:
        raise PayloadTooLarge(f"The body may have at most {most:,} bytes")
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
