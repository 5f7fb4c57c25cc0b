"""Fast path: the body is already buffered, the response is written once, and no task runs it.

A task is an object, a callback to start, one to resume and one when it is done, for each request.
Here the coroutine of the application is resumed by the future that it waits for, which is nearly
always the acknowledgement that a whole chunk shares. Without a task nothing may ask for the current
one: `asyncio.timeout` and task groups belong into tasks that the application starts.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any

from starlette.types import Message

from schemas.http.asgi import WRITE_KEY
from schemas.http.raw_responses import STATUS_LINES


class _NullEvent:
    """Replaces the event on which uvicorn's own cycle waits for more of the body."""

    def set(self) -> None:
        """Do nothing: the body is complete."""


NULL_EVENT = _NullEvent()


class FastPathCycle:
    """One request on the fast path, with the attributes that uvicorn expects of a cycle.

    It is also in uvicorn's set of tasks, which a shutdown waits for, and cancels when it took long.
    """

    __slots__ = (
        "_context",
        "_coroutine",
        "_done",
        "_start",
        "_tasks",
        "_transport",
        "body",
        "disconnected",
        "keep_alive",
        "message_event",
        "more_body",
        "response_complete",
    )

    def __init__(
        self,
        transport: asyncio.Transport,
        keep_alive: bool,
        done: Callable[[], None],
        tasks: set[Any],
    ) -> None:
        self._transport = transport
        self._done = done
        self._tasks = tasks
        self._coroutine: Coroutine[Any, Any, None] | None = None
        self._context = Context()
        self._start: Message | None = None
        self.keep_alive = keep_alive
        self.body = b""
        self.more_body = False
        self.disconnected = False
        self.response_complete = False
        self.message_event = NULL_EVENT

    def run(self, app: Any, scope: dict[str, Any]) -> None:
        """Like uvicorn's `run_asgi`; the middleware handles errors, so an exception is a bug."""
        if not (self.disconnected and self._transport.is_closing()):
            self.start(app, scope)

    def start(self, app: Any, scope: dict[str, Any]) -> None:
        """Run the application, also for a client that has left."""
        scope[WRITE_KEY] = self.write
        self._tasks.add(self)
        self._coroutine = app(scope, self.receive, self.send)
        self._resume()

    def _resume(self, _awaited: object = None) -> None:
        """Run the coroutine until it waits or ends."""
        if self._coroutine is None:
            return  # it was cancelled
        try:
            awaited = self._context.run(self._coroutine.send, None)
        except StopIteration:
            self._end()
        except BaseException as error:
            self._end()
            if not isinstance(error, Exception):
                raise
            logging.getLogger("uvicorn.error").exception("Exception in ASGI application")
            self._transport.close()
        else:
            if awaited is None:  # asyncio.sleep(0)
                asyncio.get_running_loop().call_soon(self._resume)
            else:
                awaited._asyncio_future_blocking = False
                awaited.add_done_callback(self._resume)

    def cancel(self, msg: object = None) -> None:  # noqa: ARG002 - as of a task
        """End the request where it waits."""
        coroutine = self._coroutine
        self._end()
        if coroutine is not None:
            coroutine.close()

    def _end(self) -> None:
        self._coroutine = None
        self._tasks.discard(self)

    async def receive(self) -> Message:
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if self._start is None:
            self._start = message
            return
        lines = b"".join([b"%b: %b\r\n" % header for header in self._start["headers"]])
        self.write(self._start["status"], lines, message["body"])

    def write(self, status: int, lines: bytes, body: bytes) -> None:
        """Write a whole response."""
        if self.disconnected:
            return
        end = b"\r\n" if self.keep_alive else b"connection: close\r\n\r\n"
        self._transport.write(b"".join([STATUS_LINES[status], lines, end, body]))
        self.response_complete = True
        if not self.keep_alive:
            self._transport.close()
        self._done()
