"""One request on the short road: its body is at hand, its answer is one write."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from starlette.types import Message

from schemas.http.raw_responses import STATUS_LINES


class _NullEvent:
    """Stands for the event on which uvicorn's own cycle waits for more of a body."""

    def set(self) -> None:
        """The body is here already."""


NULL_EVENT = _NullEvent()


class FastPathCycle:
    """One request on the short road, with the attributes that uvicorn asks any cycle for."""

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
        """As uvicorn's `run_asgi`; the edge answers every failure, so what is left is a bug."""
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
