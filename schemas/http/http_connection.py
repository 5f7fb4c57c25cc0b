"""One HTTP connection: answers in order, refusals behind them, and an end to what does not go on.

Two sorts of clients look alike until they are written to: one that closed its sending half and
waits for its answer, and one that is gone. Both are answered; when an answer takes long, an interim
`100 Continue` finds out, so that nobody works for a client that left.
"""

import asyncio
from typing import Any

from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from schemas.errors import Failure, TooSlow, Unavailable
from schemas.http.connection_limits import Connections
from schemas.http.flow_control import DISCARD_SECONDS, Flow, reset, unread_bytes
from schemas.http.raw_responses import refusal

IDLE, HEAD, BODY, UPGRADE = range(4)
"""What is being parsed; UPGRADE is a head that is parsed again without its wish to upgrade."""

MOST_PROBES = 2
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
CROWDED = "There are too many connections, in all or from this address; come back later"


class HttpConnection(HttpToolsProtocol):
    """One connection of a client, apart from what its bytes mean."""

    flow: Flow
    stage = IDLE
    since = 0.0
    """When the present stage began; when the last answer was complete."""
    rest = b""
    """What was read and waits until fewer requests do."""
    deaf = False
    """Whether what comes is read away."""
    ended: float | None = None
    """When the client closed its sending half."""
    running: Any = None
    """The request that is being answered; `cycle` is the one that was begun last."""
    failure: Failure | None = None
    """Why nothing more is parsed; told once what is under way is answered."""
    held = 0
    """Bytes that are here of a body that has not come whole."""
    room = True
    """Whether more of it may come."""
    _drained = 0
    """Bytes that were read away."""
    _probes = 0
    _unread = 0
    _moved = 0.0

    def __init__(
        self,
        shared: Connections,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.shared = shared
        self.limits = shared.limits

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = Flow(transport, self.pipeline)
        if self.shared.enter(self, self.client[0] if self.client else ""):
            self.since = self.shared.now
        else:
            self._tell(Unavailable(CROWDED, retry_after=5))
            self.shared.linger(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.release()
        self.shared.leave(self)
        self.deaf = True
        self.pipeline.clear()
        if self.running is not None and not self.running.response_complete:
            self.running.disconnected = True
            self.running.message_event.set()
        super().connection_lost(exc)
        self.cycle = self.running = None  # type: ignore[assignment] # no cycle of references stays

    def eof_received(self) -> bool:  # type: ignore[override]
        """A client that has only ended its own half is still answered."""
        if self.ended is None:
            self.ended = self.shared.now
        if self.stage == BODY and not self.deaf:
            self.abandon()
        return self._under_way()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self.running = cycle
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        self.server_state.total_requests += 1
        self.since = self.shared.now
        if self.transport.is_closing():
            return
        if self.pipeline:
            self.shared.turns.take(self)
        elif self.failure is not None:
            self._tell(self.failure)
        elif self.ended is not None:
            self.transport.close()
        elif self.flow.read_paused:
            self.flow.resume_reading()

    def begin_next(self) -> None:
        """Begin the request that came behind the one that was answered."""
        if self.pipeline and not self.transport.is_closing():
            self._start_asgi_task(*self.pipeline.pop())
            if not self.pipeline and not self.deaf:
                self._read_on()

    def _read_on(self) -> None:
        rest, self.rest = self.rest, b""
        if rest:
            self.data_received(rest)
        self.flow.resume_reading()

    def refuse(self, failure: Failure) -> None:
        """Answer so once what was asked before is answered; nothing more is read."""
        self.deaf = True
        if self.stage == BODY and not self.abandon():
            return
        self.failure = failure
        if self._under_way():
            self.flow.pause_reading()
        else:
            self._tell(failure)

    def abandon(self) -> bool:
        """Give up the request whose body is broken or does not come; whether it is unanswered."""
        self.release()
        cycle = self.cycle
        if self.pipeline and self.pipeline[0][0] is cycle:
            self.pipeline.popleft()
            return True
        if cycle.response_complete:
            self._hang_up()
            return False
        if cycle.response_started:
            cycle.keep_alive = False
            return False
        cycle.disconnected = True
        cycle.message_event.set()
        return True

    def release(self) -> None:
        """The body has come whole, or is not waited for."""
        self.shared.release(self, self.held)
        self.held = 0

    def _under_way(self) -> bool:
        running = self.running
        return bool(self.pipeline) or (
            running is not None and not (running.response_complete or running.disconnected)
        )

    def _tell(self, failure: Failure) -> None:
        self.transport.write(refusal(failure, self.shared.shape))
        self._hang_up()

    def _hang_up(self) -> None:
        """Say that nothing more is sent, and read away what still comes.

        Closing at once could reset the connection before the client has read its answer.
        """
        self.deaf = True
        self.since = self.shared.now
        if self.ended is not None:
            self.transport.close()
        elif not self.transport.is_closing():
            self.transport.write_eof()
            self.flow.resume_reading()

    def read_away(self, size: int) -> None:
        """So many bytes came that nobody looks at; who sends without end is not read for ever."""
        self._drained += size
        if self._drained > self.limits.drained_bytes:
            self.flow.pause_reading()
        else:
            self.flow.pause_for(self.loop, DISCARD_SECONDS)

    def look(self, now: float, crowded: bool) -> None:
        """Close the connection when it has been idle, or stalled, for too long."""
        if self._stalled(now):
            reset(self.transport)
            return
        if self.transport.is_closing():
            return
        if self._under_way() and self.ended is not None:
            self._probe(now)
        patience = self._patience(crowded)
        if patience is None or now - self.since < patience:
            return
        if self.deaf or self.stage == IDLE:
            self.transport.close()
        else:
            what = "head" if self.stage == HEAD else "body"
            self.refuse(TooSlow(f"The {what} did not arrive within {patience:g} seconds"))

    def answering(self) -> bool:
        """Whether a request that is here whole is being answered, or its answer has begun."""
        running = self.running
        return self._under_way() and (
            self.stage != BODY
            or self.cycle is not running
            or self.flow.read_paused
            or running.response_started
        )

    def give_way(self) -> None:
        """Refuse what has come in part, or close what is idle."""
        if self.deaf or self.stage == IDLE or self.transport.is_closing():
            self.end()
        else:
            self.refuse(Unavailable(CROWDED, retry_after=5))

    def end(self) -> None:
        """Close without waiting for the client."""
        self.release()
        if self.transport.get_write_buffer_size():
            reset(self.transport)
        else:
            self.transport.close()

    def _patience(self, crowded: bool) -> float | None:
        """Seconds that the present stage may take; None while it is we who take them."""
        limits = self.limits
        if self.deaf:
            return None if self._under_way() else limits.linger_seconds
        if self.answered_early():
            return limits.linger_seconds
        if self.flow.read_paused or (self.stage == IDLE and self._under_way()):
            return None
        if self.stage == BODY:
            return limits.body_seconds
        if crowded:
            return limits.crowded_seconds
        first = self.stage == HEAD or self.cycle is None
        return limits.head_seconds if first else limits.keep_alive_seconds

    def answered_early(self) -> bool:
        """Whether the request whose body still comes has its answer."""
        return self.stage == BODY and self.cycle is not None and self.cycle.response_complete

    def _stalled(self, now: float) -> bool:
        """Whether an answer lies here of which the client takes nothing."""
        unread = unread_bytes(self.transport)
        if unread == 0 or unread != self._unread:
            self._unread, self._moved = unread, now
            return False
        return now - self._moved >= self.limits.stalled_seconds

    def _probe(self, now: float) -> None:
        """Write to a client that sends nothing more: if it is gone altogether, that shows it."""
        cycle = self.running
        if (
            isinstance(cycle, RequestResponseCycle)
            and not cycle.response_started
            and cycle.scope["http_version"] == "1.1"
            and self._probes < MOST_PROBES
            and self.ended is not None
            and now - self.ended >= self.limits.probe_seconds
        ):
            self._probes += 1
            self.transport.write(CONTINUE)
