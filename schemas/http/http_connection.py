"""HttpConnection: timeouts, pipelining, error responses and graceful close of one connection.

Two sorts of clients look alike until they are written to: one that closed its sending half and
waits for its answer, and one that is gone. Both are answered; when an answer takes long, an interim
`100 Continue` finds out, so that nobody works for a client that left.
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
"""What is being parsed; UPGRADE is a head that is parsed again without its wish to upgrade."""

MAX_PROBES = 2
CONTINUE_RESPONSE = b"HTTP/1.1 100 Continue\r\n\r\n"
TOO_MANY_CONNECTIONS = "Too many connections, in total or from this address; retry later"


class HttpConnection(HttpToolsProtocol):
    """One connection of a client, apart from what its bytes mean."""

    flow: ReadFlowControl
    stage = IDLE
    since = 0.0
    """When the present stage began; when the last answer was complete."""
    unparsed = b""
    """What was read and waits until fewer requests do."""
    discarding = False
    """Whether what comes is read away."""
    eof_at: float | None = None
    """When the client closed its sending half."""
    active_cycle: Any = None
    """The request that is being answered; `cycle` is the one that was begun last."""
    pending_error: ApiError | None = None
    """Why nothing more is parsed; told once what is under way is answered."""
    body_bytes = 0
    """Bytes that are here of a body that has not come whole."""
    accepts_body = True
    """Whether more of it may come."""
    _drained = 0
    """Bytes that were read away."""
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
            self._send_error(Unavailable(TOO_MANY_CONNECTIONS, retry_after=5))
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
        self.cycle = self.active_cycle = None  # type: ignore[assignment] # no cycle of references stays

    def eof_received(self) -> bool:  # type: ignore[override]
        """A client that has only ended its own half is still answered."""
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
            self.open_connections.turns.take(self)
        elif self.pending_error is not None:
            self._send_error(self.pending_error)
        elif self.eof_at is not None:
            self.transport.close()
        elif self.flow.read_paused:
            self.flow.resume_reading()

    def begin_next(self) -> None:
        """Begin the request that came behind the one that was answered."""
        if self.pipeline and not self.transport.is_closing():
            self._start_asgi_task(*self.pipeline.pop())
            if not self.pipeline and not self.discarding:
                self._parse_rest()

    def _parse_rest(self) -> None:
        rest, self.unparsed = self.unparsed, b""
        if rest:
            self.data_received(rest)
        self.flow.resume_reading()

    def refuse(self, error: ApiError) -> None:
        """Answer so once what was asked before is answered; nothing more is read."""
        self.discarding = True
        if self.stage == BODY and not self.abandon():
            return
        self.pending_error = error
        if self._has_active_request():
            self.flow.pause_reading()
        else:
            self._send_error(error)

    def abandon(self) -> bool:
        """Give up the request whose body is broken or does not come; whether it is unanswered."""
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
        """The body has come whole, or is not waited for."""
        self.open_connections.release_body(self, self.body_bytes)
        self.body_bytes = 0

    def _has_active_request(self) -> bool:
        running = self.active_cycle
        return bool(self.pipeline) or (
            running is not None and not (running.response_complete or running.disconnected)
        )

    def _send_error(self, error: ApiError) -> None:
        self.transport.write(error_response(error, self.open_connections.error_shape))
        self._half_close()

    def _half_close(self) -> None:
        """Say that nothing more is sent, and read away what still comes.

        Closing at once could reset the connection before the client has read its answer.
        """
        self.discarding = True
        self.since = self.open_connections.now
        if self.eof_at is not None:
            self.transport.close()
        elif not self.transport.is_closing():
            self.transport.write_eof()
            self.flow.resume_reading()

    def discard_input(self, size: int) -> None:
        """So many bytes came that nobody looks at; who sends without end is not read for ever."""
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
            self.refuse(RequestTimeout(f"The {what} did not arrive within {timeout:g} seconds"))

    def is_responding(self) -> bool:
        """Whether a request that is here whole is being answered, or its answer has begun."""
        running = self.active_cycle
        return self._has_active_request() and (
            self.stage != BODY
            or self.cycle is not running
            or self.flow.read_paused
            or running.response_started
        )

    def evict(self) -> None:
        """Refuse what has come in part, or close what is idle."""
        if self.discarding or self.stage == IDLE or self.transport.is_closing():
            self.terminate()
        else:
            self.refuse(Unavailable(TOO_MANY_CONNECTIONS, retry_after=5))

    def terminate(self) -> None:
        """Close without waiting for the client."""
        self.release_body()
        if self.transport.get_write_buffer_size():
            reset_connection(self.transport)
        else:
            self.transport.close()

    def _stage_timeout(self, crowded: bool) -> float | None:
        """Seconds that the present stage may take; None while it is we who take them."""
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
        """Whether the request whose body still comes has its answer."""
        return self.stage == BODY and self.cycle is not None and self.cycle.response_complete

    def _stalled(self, now: float) -> bool:
        """Whether an answer lies here of which the client takes nothing."""
        unread = unread_bytes(self.transport)
        if unread == 0 or unread != self._unread_bytes:
            self._unread_bytes, self._unread_changed_at = unread, now
            return False
        return now - self._unread_changed_at >= self.limits.stalled_seconds

    def _probe(self, now: float) -> None:
        """Write to a client that sends nothing more: if it is gone altogether, that shows it."""
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
