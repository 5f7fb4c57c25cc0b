"""HTTP client of the tests: one request on a connection of its own."""

import json
from collections.abc import Iterable, Mapping
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from schemas.receipts import unverified


class Reply(Struct, frozen=True):
    """Status, headers and body of an answer.

    Headers by lower-case name; the lines of a value are headers of one name.
    """

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
        return Reply(response.status, header_lines(response.getheaders()), response.read())
    finally:
        connection.close()


def is_ready(url: str) -> bool:
    """Whether a service listens there and says that it is ready."""
    try:
        return call("GET", f"{url}/health/ready").status == 200
    except OSError:
        return False


def header_lines(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Headers by lower-case name; several of one name are lines of one value."""
    lines: dict[str, list[str]] = {}
    for name, value in pairs:
        lines.setdefault(name.lower(), []).append(value)
    return {name: "\n".join(values) for name, values in lines.items()}


def accepted_body(reply: Reply) -> dict[str, Any]:
    """What the collector says that it took; the receipt, which must be there, left out."""
    body: dict[str, Any] = reply.json
    unverified(body.pop("receipt"))
    return body
