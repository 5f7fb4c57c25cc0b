"""DirectCycle: a request that waits for its acknowledgement without a coroutine."""

import asyncio
from typing import Any, Protocol

from ingest.endpoints.direct_collect import DirectRequest
from ingest.publishing.partition_queue import DeliveryReport
from ingest.server.fast_path import NULL_EVENT
from ingest.server.known_head import KnownHead


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
