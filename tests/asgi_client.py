"""ASGI client: calls an application in this process, one request and its response."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message

from tests.http_client import Reply, header_lines

ADDRESS = "203.0.113.7"


def request_once(
    app: ASGIApp,
    method: str,
    url: str,
    body: object = None,
    headers: Mapping[str, str] | None = None,
    address: str = ADDRESS,
) -> Reply:
    """One request; `body` is JSON unless it is bytes."""
    payload = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    return asyncio.run(send_request(app, method, url, [payload or b""], headers, address))


async def send_request(
    app: ASGIApp,
    method: str,
    url: str,
    pieces: Sequence[bytes] = (b"",),
    headers: Mapping[str, str] | None = None,
    address: str = ADDRESS,
) -> Reply:
    """The same inside a running loop, with a body that comes in pieces."""
    scope = http_scope(method, url, headers, address)
    coming = [
        {"type": "http.request", "body": piece, "more_body": piece is not pieces[-1]}
        for piece in pieces
    ]
    messages: list[Message] = []

    async def receive() -> Message:
        if not coming:
            await asyncio.Event().wait()  # the client stays for the whole answer
        return coming.pop(0)

    async def send(message: Message) -> None:
        messages.append(message)

    await app(scope, receive, send)
    reply_headers = header_lines(
        (name.decode(), value.decode("latin-1")) for name, value in messages[0]["headers"]
    )
    whole = b"".join(message.get("body", b"") for message in messages[1:])
    return Reply(messages[0]["status"], reply_headers, whole)


def http_scope(
    method: str, url: str, headers: Mapping[str, str] | None = None, address: str = ADDRESS
) -> dict[str, Any]:
    """What a server tells an application about a request.

    A header that is to come in several lines has them as the lines of its value.
    """
    parts = urlsplit(url)
    lines = [(k, line) for k, v in (headers or {}).items() for line in v.split("\n")]
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "scheme": "http",
        "server": ("127.0.0.1", 80),
        "client": (address, 51234),
        "method": method,
        "path": parts.path,
        "raw_path": parts.path.encode(),
        "root_path": "",
        "query_string": parts.query.encode(),
        "headers": [(name.lower().encode(), line.encode()) for name, line in lines],
    }
