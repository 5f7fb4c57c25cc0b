"""HTTP client of the tests: one request on a connection of its own."""

import json
from collections.abc import Mapping
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from schemas.receipts import unverified


class Reply(Struct, frozen=True):
    """Status, headers (lower case) and body of an answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def call(
    method: str,
    url: str,
    body: object = None,
    headers: Mapping[str, str] | None = None,
    seconds: float = 15,
) -> Reply:
    """One request on a connection of its own; `body` is JSON unless it is bytes."""
    parts = urlsplit(url)
    payload = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=seconds)
    try:
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        connection.request(method, target, payload, dict(headers or {}))
        response = connection.getresponse()
        reply_headers = {name.lower(): value for name, value in response.getheaders()}
        return Reply(response.status, reply_headers, response.read())
    finally:
        connection.close()


def accepted_body(reply: Reply) -> dict[str, Any]:
    """What the collector says that it took; the receipt, which must be there, left out."""
    body: dict[str, Any] = reply.json
    unverified(body.pop("receipt"))
    return body
