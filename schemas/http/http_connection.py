"""HttpConnection: timeouts, pipelining, error responses and graceful close of one connection.

A client that closed its sending half and waits for its response looks like one that is gone, until
something is written to it. Both get their response; when it takes long, an interim `100 Continue`
detects the client that is gone, so that its request is cancelled.
"""

import asyncio
from typing import Any

from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from schemas.errors import ApiError, RequestTimeout, Unavailable
from schemas.http.connection_limits import OpenConnections
from schemas.http.flow_control import (
    DISCARD_PAUSE_SECONDS,
    ReadFlowControl,
    reset_connection,
    unread_bytes,
)
from schemas.http.raw_responses import error_response

IDLE, HEAD, BODY, UPGRADE = range(4)
"""Parser stages; UPGRADE: the head is parsed again without its `Upgrade` header."""

MAX_PROBES = 2
CLOSE_DELAY_SECONDS = 0.05
"""Between an error response and the close: it paces a client that reconnects at once."""
CONTINUE_RESPONSE = b"HTTP/1.1 100 Continue\r\n\r\n"
TOO_MANY_CONNECTIONS = "Too many connections, in total or from this address; retry later"


class HttpConnection(HttpToolsProtocol):
    """One connection of a client; subclasses parse its bytes."""

    flow: ReadFlowControl
    stage = IDLE
    since = 0.0
    """When the current stage began, or the last response was complete."""
    unparsed = b""
    """Bytes that were read and not parsed yet, because too many requests wait."""
    discarding = False
    """Whether input is discarded."""
    eof_at: float | None = None
    """When the client closed its sending half."""
    active_cycle: Any = None
    """The request that is being served; `cycle` is the one that was parsed last."""
    pending_error: ApiError | None = None
    """Error to send once the current responses are complete; nothing more is parsed."""
    body_bytes = 0
    """Bytes received of an incomplete body."""
    accepts_body = True
    """Whether more bytes of the body are accepted."""
    _drained = 0
    """Bytes that were discarded."""
    _probes = 0
    _unread_bytes = 0
    _unread_changed_at = 0.0

    def __init__(
        self,
        shared: OpenConnections,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.open_connections = shared
        self.limits = shared.limits

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = ReadFlowControl(transport, self.pipeline)
        if self.open_connections.admit(self, self.client[0] if self.client else ""):
            self.since = self.open_connections.now
        else:
            error = Unavailable(TOO_MANY_CONNECTIONS, retry_after=5)
            transport.write(error_response(error, self.open_connections.error_shape))
            self._half_close()
            self.open_connections.linger(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.release_body()
        self.open_connections.remove(self)
        self.discarding = True
        self.pipeline.clear()
        if self.active_cycle is not None and not self.active_cycle.response_complete:
            self.active_cycle.disconnected = True
            self.active_cycle.message_event.set()
        super().connection_lost(exc)
        self.cycle = self.active_cycle = None  # type: ignore[assignment] # break the reference cycle

    def eof_received(self) -> bool:  # type: ignore[override]
        """A half-closed client still gets its response."""
        if self.eof_at is None:
            self.eof_at = self.open_connections.now
        if self.stage == BODY and not self.discarding:
            self.abandon()
        return self._has_active_request()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self.active_cycle = cycle
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        self.server_state.total_requests += 1
        self.since = self.open_connections.now
        if self.transport.is_closing():
            return
        if self.pipeline:
            self.open_connections.pipelines.start_or_queue(self)
        elif self.pending_error is not None:
            self._send_error(self.pending_error)
        elif self.eof_at is not None:
            self.transport.close()
        elif self.flow.read_paused:
            self.flow.resume_reading()

    def begin_next(self) -> None:
        """Start the next pipelined request."""
        if self.pipeline and not self.transport.is_closing():
            self._start_asgi_task(*self.pipeline.pop())
            if not self.pipeline and not self.discarding:
                self._parse_rest()

    def _parse_rest(self) -> None:
        rest, self.unparsed = self.unparsed, b""
        if rest:
            self.data_received(rest)
        self.flow.resume_reading()

    def reject(self, error: ApiError) -> None:
        """Send the error after the responses that are due; nothing more is parsed."""
        self.discarding = True
        if self.stage == BODY and not self.abandon():
            return
        self.pending_error = error
        if self._has_active_request():
            self.flow.pause_reading()
        else:
            self._send_error(error)

    def abandon(self) -> bool:
        """Cancel the request with a broken or late body; whether it has no response yet."""
        self.release_body()
        cycle = self.cycle
        if self.pipeline and self.pipeline[0][0] is cycle:
            self.pipeline.popleft()
            return True
        if cycle.response_complete:
            self._half_close()
            return False
        if cycle.response_started:
            cycle.keep_alive = False
            return False
        cycle.disconnected = True
        cycle.message_event.set()
        return True

    def release_body(self) -> None:
        """Stop counting the body: it is complete or dropped."""
        self.open_connections.release_body(self, self.body_bytes)
        self.body_bytes = 0

    def _has_active_request(self) -> bool:
        running = self.active_cycle
        return bool(self.pipeline) or (
            running is not None and not (running.response_complete or running.disconnected)
        )

    def _send_error(self, error: ApiError) -> None:
        """Send the error at once, but close a little later.

        Otherwise a client that sends invalid bytes on one connection after the other, as fast as
        they are closed, would take the event loop from everybody else.
        """
        self.discarding = True
        self.transport.write(error_response(error, self.open_connections.error_shape))
        self.loop.call_later(CLOSE_DELAY_SECONDS, self._half_close)

    def _half_close(self) -> None:
        """Close the sending half, and discard further input.

        Closing both halves could reset the connection before the client has read its response.
        """
        self.discarding = True
        self.since = self.open_connections.now
        if self.eof_at is not None:
            self.transport.close()
        elif not self.transport.is_closing():
            self.transport.write_eof()
            self.flow.resume_reading()

    def discard_input(self, size: int) -> None:
        """Count discarded bytes; beyond the limit reading stops."""
        self._drained += size
        if self._drained > self.limits.drained_bytes:
            self.flow.pause_reading()
        else:
            self.flow.pause_for(self.loop, DISCARD_PAUSE_SECONDS)

    def check_timeouts(self, now: float, crowded: bool) -> None:
        """Close the connection when it has been idle, or stalled, for too long."""
        if self._stalled(now):
            reset_connection(self.transport)
            return
        if self.transport.is_closing():
            return
        if self._has_active_request() and self.eof_at is not None:
            self._probe(now)
        timeout = self._stage_timeout(crowded)
        if timeout is None or now - self.since < timeout:
            return
        if self.discarding or self.stage == IDLE:
            self.transport.close()
        else:
            what = "head" if self.stage == HEAD else "body"
            self.reject(RequestTimeout(f"The {what} did not arrive within {timeout:g} seconds"))

    def is_responding(self) -> bool:
        """Whether a complete request is being served, or its response has begun."""
        running = self.active_cycle
        return self._has_active_request() and (
            self.stage != BODY
            or self.cycle is not running
            or self.flow.read_paused
            or running.response_started
        )

    def evict(self) -> None:
        """Reject an incomplete request, or close an idle connection."""
        if self.discarding or self.stage == IDLE or self.transport.is_closing():
            self.terminate()
        else:
            self.reject(Unavailable(TOO_MANY_CONNECTIONS, retry_after=5))

    def terminate(self) -> None:
        """Close without waiting for the client."""
        self.release_body()
        if self.transport.get_write_buffer_size():
            reset_connection(self.transport)
        else:
            self.transport.close()

    def _stage_timeout(self, crowded: bool) -> float | None:
        """Timeout of the current stage; None while the service itself is working."""
        limits = self.limits
        if self.discarding:
            return None if self._has_active_request() else limits.linger_seconds
        if self.responded_early():
            return limits.linger_seconds
        if self.flow.read_paused or (self.stage == IDLE and self._has_active_request()):
            return None
        if self.stage == BODY:
            return limits.body_seconds
        if crowded:
            return limits.crowded_seconds
        first = self.stage == HEAD or self.cycle is None
        return limits.head_seconds if first else limits.keep_alive_seconds

    def responded_early(self) -> bool:
        """Whether the request has its response although its body is incomplete."""
        return self.stage == BODY and self.cycle is not None and self.cycle.response_complete

    def _stalled(self, now: float) -> bool:
        """Whether the client has read nothing of its response for too long."""
        unread = unread_bytes(self.transport)
        if unread == 0 or unread != self._unread_bytes:
            self._unread_bytes, self._unread_changed_at = unread, now
            return False
        return now - self._unread_changed_at >= self.limits.stalled_seconds

    def _probe(self, now: float) -> None:
        """Send an interim response to a half-closed client, which fails if the client is gone."""
        cycle = self.active_cycle
        if (
            isinstance(cycle, RequestResponseCycle)
            and not cycle.response_started
            and cycle.scope["http_version"] == "1.1"
            and self._probes < MAX_PROBES
            and self.eof_at is not None
            and now - self.eof_at >= self.limits.probe_seconds
        ):
            self._probes += 1
            self.transport.write(CONTINUE_RESPONSE)
