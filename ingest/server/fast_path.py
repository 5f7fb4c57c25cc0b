"""Fast path: the body is already buffered, the response is written once, and no task runs it.

A task is an object, a callback to start, one to resume and one when it is done, for each request.
Here the coroutine of the application is resumed by the future that it waits for, which is nearly
always the acknowledgement that a whole chunk shares. Without a task nothing may ask for the current
one: `asyncio.timeout` and task groups belong into tasks that the application starts.

A head that a connection repeats byte by byte, with another length of the body at most, is parsed
once (`KnownHead`): the parser has accepted it. The usual request with it waits for its
acknowledgement without a coroutine (`DirectCycle`).
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any, Protocol, Self

from starlette.types import Message

from ingest.decoding.request_head import SHARED_BY_HEAD
from ingest.endpoints.direct_collect import DirectRequest
from ingest.publishing.partition_queue import DeliveryReport
from schemas.http.asgi import BY_NAME, WRITE_KEY
from schemas.http.protocol import STATUS_LINES

LENGTH = b"content-length"
HEAD_END = b"\r\n\r\n"
MAX_DIGITS = 9
MAX_HEAD_BYTES = 4_096
"""Longer heads are not remembered, because every open connection keeps one."""

Headers = list[tuple[bytes, bytes]]


class KnownHead:
    """One head, split at the digits of its length, and the ASGI scope that it became."""

    __slots__ = ("_after", "_after_size", "_before", "_headers", "_scope", "_start", "shared")

    def __init__(self, before: bytes, after: bytes, scope: dict[str, Any]) -> None:
        self._before = before
        self._after = after
        """Begins with the end of its line."""
        self._start, self._after_size = len(before), len(after)
        self._headers: Headers = scope["headers"]
        self._scope = scope
        self.shared: dict[str, Any] = {}
        """What requests with this head have in common."""
        scope[SHARED_BY_HEAD] = self.shared

    @classmethod
    def of(cls, data: bytes, body: bytes, scope: dict[str, Any]) -> Self | None:
        """The head of a request that was the whole of `data`; None if it cannot be sure of that.

        Only a head with one plain length: not of a body in chunks, and with no name twice.
        """
        by_name: dict[bytes, bytes] | None = scope.get(BY_NAME)
        head = data[: len(data) - len(body)]
        if not body or by_name is None or b"transfer-encoding" in by_name:
            return None
        if len(head) > MAX_HEAD_BYTES:
            return None
        digits = b"%d" % len(body)
        if by_name.get(LENGTH) != digits or not head.endswith(HEAD_END) or HEAD_END in head[:-4]:
            return None
        start = head.lower().find(b"\r\n" + LENGTH + b": " + digits + b"\r\n")
        if start < 0:
            return None
        start += len(LENGTH) + 4
        return cls(head[:start], head[start + len(digits) :], scope)

    def body_of(self, data: bytes) -> bytes | None:
        """The body, if `data` is one whole request with this head; else None."""
        if not data.startswith(self._before):
            return None
        start = self._start
        end = data.find(b"\r", start, start + MAX_DIGITS + 1)
        if end < 0 or not data.startswith(self._after, end):
            return None
        body = data[end + self._after_size :]
        return body if data[start:end] == b"%d" % len(body) else None

    def new_scope(self, length: int) -> dict[str, Any]:
        """The scope of another request with this head."""
        scope = self._scope.copy()
        digits = b"%d" % length
        if scope[BY_NAME][LENGTH] != digits:
            headers = [(n, digits if n == LENGTH else value) for n, value in self._headers]
            scope["headers"], scope[BY_NAME] = headers, dict(headers)
        return scope


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


class DirectConnection(Protocol):
    """The connection that a request came from."""

    transport: Any
    tasks: set[Any]

    def on_response_complete(self) -> None: ...

    def respond_to_error(self, failed: "DirectCycle", error: Exception) -> None:
        """Respond with an error instead, which is counted also if the client has left."""


class DirectCycle:
    """One such request, with the attributes that uvicorn expects of a cycle and of a task."""

    keep_alive = True
    message_event = NULL_EVENT
    disconnected = False
    response_complete = False
    is_cancelled = False

    def __init__(
        self, connection: DirectConnection, known: KnownHead, request: DirectRequest
    ) -> None:
        self._connection = connection
        self.known = known
        self.request = request

    def run(self) -> None:
        """Queue the request; its acknowledgement ends it."""
        try:
            delivery = self.request.publish()
        except Exception as error:  # what is no ApiError is logged, and is 500
            self._connection.respond_to_error(self, error)
        else:
            self._connection.tasks.add(self)
            delivery.report.add_done_callback(self._finish)

    def cancel(self, msg: object = None) -> None:  # noqa: ARG002 - as of a task
        """Give up the response."""
        self.is_cancelled = True
        self._connection.tasks.discard(self)

    def _finish(self, report: "asyncio.Future[DeliveryReport]") -> None:
        if self.is_cancelled:
            return
        connection = self._connection
        connection.tasks.discard(self)
        try:
            response = self.request.response(report.result())
        except Exception as error:  # as above
            connection.respond_to_error(self, error)
        else:
            if not self.disconnected:
                self._respond(connection, response)

    def _respond(self, connection: DirectConnection, response: bytes) -> None:
        if not self.keep_alive:  # a shutdown began meanwhile
            response = response.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n", 1)
        connection.transport.write(response)
        self.response_complete = True
        if not self.keep_alive:
            connection.transport.close()
        connection.on_response_complete()
