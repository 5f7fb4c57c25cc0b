"""`?wait=stored`: hold the response until the items are in the table or the timeout expires.

What to wait for is read from the receipts in the response, so it works for every endpoint that
returns receipts.
"""

from collections.abc import Awaitable, Callable, Iterator
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qs

import msgspec
from msgspec.structs import replace
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ingest.decoding.limits import BODY_TIMEOUT_SECONDS, MAX_BODY_BYTES
from ingest.decoding.request_head import AWAITED_KEY
from ingest.dependencies import CollectorEndpoint, Dependencies
from ingest.publishing.publish import RECEIPT_HEADER
from ingest.publishing.storage_watch import StorageWatch
from schemas.errors import Malformed
from schemas.http.asgi import WHOLE_BODY_KEY, read_body
from schemas.http.error_bodies import encode_json
from schemas.http.openapi import Operation, Parameter
from schemas.receipts import Receipt, unverified

STORED_HEADER = b"tidemark-stored"
"""Header with the same value as `stored` in the body."""

DEFAULT_TIMEOUT_SECONDS = 10.0
MAX_TIMEOUT_SECONDS = 15.0
"""Less than the shutdown timeout, so that no request is left without a response."""

WAIT_PARAMETERS = (
    Parameter(
        "wait",
        "respond when the items are visible to queries",
        {"type": "string", "enum": ["stored"]},
    ),
    Parameter(
        "timeout",
        "maximum seconds to wait",
        {
            "type": "number",
            "exclusiveMinimum": 0,
            "maximum": MAX_TIMEOUT_SECONDS,
            "default": DEFAULT_TIMEOUT_SECONDS,
        },
    ),
)


def waiting_endpoint(
    operation: Operation, app: Callable[[Dependencies], ASGIApp]
) -> CollectorEndpoint:
    """An endpoint with support for `?wait=stored`."""
    return CollectorEndpoint(
        (with_wait(operation),),
        lambda dependencies: wait_for_storage(app(dependencies), dependencies.storage_watch),
    )


def with_wait(operation: Operation) -> Operation:
    """The operation with the parameters and responses of `wait`."""
    not_stored = replace(
        operation.responses[0], status=202, description="accepted; not stored within the timeout"
    )
    return replace(
        operation,
        parameters=(*operation.parameters, *WAIT_PARAMETERS),
        responses=(*operation.responses, not_stored),
    )


def wait_for_storage(app: ASGIApp, storage_watch: StorageWatch) -> ASGIApp:
    """The endpoint with support for `?wait=stored`."""

    # No coroutine of its own for requests without `wait`: nearly all are.
    def endpoint(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        handler = respond_when_stored if b"wait" in scope["query_string"] else app
        return handler(scope, receive, send)

    async def respond_when_stored(scope: Scope, receive: Receive, send: Send) -> None:
        seconds = wait_timeout(scope["query_string"])
        if seconds is None:
            await app(scope, receive, send)
            return
        if scope["method"] == "POST":  # read the body first: a slow client takes no slot
            scope[WHOLE_BODY_KEY] = await read_body(
                scope, receive, MAX_BODY_BYTES, BODY_TIMEOUT_SECONDS
            )
        scope[AWAITED_KEY] = True
        async with storage_watch.slot():
            held_response = _HeldResponse()
            await app(scope, receive, held_response.send)
            receipts = held_response.receipts()
            with_items = [one for one in receipts if one.dropped < one.count]
            is_read = not with_items or await storage_watch.wait_for(with_items, seconds)
        if not receipts:
            await held_response.release(send)
            return
        await held_response.release_with(
            send, is_read, bool(with_items), sum(one.dropped for one in receipts)
        )

    return endpoint


@lru_cache(maxsize=1024)
def wait_timeout(query: bytes) -> float | None:
    """Seconds to wait; None without `wait`; Malformed for other values."""
    fields = parse_qs(query.decode("latin-1"), keep_blank_values=True)
    if "wait" not in fields:
        return None
    if fields["wait"] != ["stored"]:
        raise Malformed("'wait' must be 'stored'")
    [text] = fields.get("timeout", [str(DEFAULT_TIMEOUT_SECONDS)])[:1]
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= MAX_TIMEOUT_SECONDS:
        raise Malformed(
            f"'timeout' must be a number of seconds above 0 and at most {MAX_TIMEOUT_SECONDS:g}"
        )
    return seconds


class _HeldResponse:
    """A response that is held back."""

    def __init__(self) -> None:
        self._start: Message = {}
        self._body = b""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = message
        else:
            self._body += message.get("body", b"")

    def receipts(self) -> list[Receipt]:
        """The receipts in the response; none if it is an error."""
        return (
            [unverified(text) for text in self._receipt_texts()]
            if self._start["status"] == 200
            else []
        )

    def _receipt_texts(self) -> Iterator[str]:
        headers = dict(self._start["headers"])
        if RECEIPT_HEADER in headers:
            yield headers[RECEIPT_HEADER].decode()
        elif (body := self._json_body()) is not None:
            yield from body.get("receipts", {}).values()
            if "receipt" in body:
                yield body["receipt"]

    def _json_body(self) -> dict[str, Any] | None:
        if dict(self._start["headers"]).get(b"content-type") != b"application/json":
            return None
        body = msgspec.json.decode(self._body)
        return body if isinstance(body, dict) else None

    async def release(self, send: Send) -> None:
        """Send the response as it is."""
        await self._send(send, self._start["status"], self._body)

    async def release_with(self, send: Send, is_read: bool, has_items: bool, dropped: int) -> None:
        """Send the response with what became of the items: 202 if they are not stored yet.

        Of a request whose items are all dropped nothing is stored.
        """
        stored = is_read and has_items
        self._start["headers"].append((STORED_HEADER, b"true" if stored else b"false"))
        body = self._json_body()
        if body is not None:
            fate = {"stored": stored, **({"dropped": dropped} if dropped else {})}
            self._body = encode_json({**body, **fate})
        await self._send(send, 200 if is_read else 202, self._body)

    async def _send(self, send: Send, status: int, body: bytes) -> None:
        headers = [pair for pair in self._start["headers"] if pair[0] != b"content-length"]
        headers.append((b"content-length", b"%d" % len(body)))
        await send({**self._start, "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})
