"""Fast path: the body is already buffered, the response is written once."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from starlette.types import Message

from schemas.http.raw_responses import STATUS_LINES


class _NullEvent:
    """Replaces the event on which uvicorn's own cycle waits for more of the body."""

    def set(self) -> None:
        """Do nothing: the body is complete."""


NULL_EVENT = _NullEvent()


class FastPathCycle:
    """One request on the fast path, with the attributes that uvicorn expects of a cycle."""

    __slots__ = (
        "_done",
        "_start",
        "_transport",
        "body",
        "disconnected",
        "keep_alive",
        "message_event",
        "more_body",
        "response_complete",
    )

    def __init__(
        self, transport: asyncio.Transport, keep_alive: bool, done: Callable[[], None]
    ) -> None:
        self._transport = transport
        self._done = done
        self._start: Message | None = None
        self.keep_alive = keep_alive
        self.body = b""
        self.more_body = False
        self.disconnected = False
        self.response_complete = False
        self.message_event = NULL_EVENT

    async def run(self, app: Any, scope: dict[str, Any]) -> None:
        """Like uvicorn's `run_asgi`; the middleware handles errors, so an exception is a bug."""
        try:
            await app(scope, self.receive, self.send)
        except Exception:
            logging.getLogger("uvicorn.error").exception("Exception in ASGI application")
            self._transport.close()

    async def receive(self) -> Message:
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if self._start is None:
            self._start = message
            return
        if self.disconnected:
            return
        self._transport.write(self._response_bytes(self._start, message["body"]))
        self.response_complete = True
        if not self.keep_alive:
            self._transport.close()
        self._done()

    def _response_bytes(self, start: Message, body: bytes) -> bytes:
        lines = [b"%b: %b\r\n" % header for header in start["headers"]]
        if not self.keep_alive:
            lines.append(b"connection: close\r\n")
        return b"".join([STATUS_LINES[start["status"]], *lines, b"\r\n", body])
