"""HTTP/1.1 protocol: uvicorn's httptools protocol with limits on heads, bodies and pipelining.

Bounded here, beyond uvicorn: heads (bytes, fields, seconds), trailers and chunk extensions,
pipelined requests, clients that send nothing or read nothing, and the number of connections.
Trailers are dropped (RFC 9110 6.5.1), `Upgrade` is ignored (7.8), a half-closed client gets its
response, and error responses come after the responses that are due.

A client that closed its sending half and waits for its response looks like one that is gone, until
something is written to it. Both get their response; when it takes long, an interim `100 Continue`
detects the client that is gone, so that its request is cancelled.

Nothing is logged here, so that clients cannot fill the log.
"""

import asyncio
import fcntl
import re
import socket
import struct
import termios
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import httptools
from uvicorn import Config
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)
from uvicorn.server import ServerState

from schemas.errors import (
    ApiError,
    HeadersTooLarge,
    Malformed,
    PayloadTooLarge,
    RequestTimeout,
    Unavailable,
)
from schemas.http.asgi import BY_NAME
from schemas.http.connection_limits import OpenConnections
from schemas.http.error_bodies import ErrorShape, encode_json
from schemas.http.limits import WINDOW_MS, Headers, RateLimitStatus
from schemas.http.middleware import PUBLIC_REQUESTS
from schemas.runtime.clock import now_ms
from schemas.runtime.library_names import require_names

NOSNIFF_HEADER = (b"x-content-type-options", b"nosniff")
"""On every response, so that no browser treats stored text as a page."""

STATUS_LINES = {
    status: line + b"%b: %b\r\n" % NOSNIFF_HEADER for status, line in STATUS_LINE.items()
}
"""Status lines, each with the header that every response has."""


def error_response(error: ApiError, shape: ErrorShape) -> bytes:
    """The error response as bytes; the connection is closed after it."""
    body = encode_json(shape(error))
    headers: Headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"connection", b"close"),
        *RateLimitStatus(PUBLIC_REQUESTS, PUBLIC_REQUESTS, now_ms() + WINDOW_MS).headers(),
    ]
    if error.retry_after is not None:
        headers.append((b"retry-after", b"%d" % error.retry_after))
    lines = b"".join([b"%b: %b\r\n" % header for header in headers])
    return STATUS_LINES[error.status] + lines + b"\r\n" + body


LARGE_READ_BYTES = 64 * 1024
"""Bytes of a read after which other connections are read first."""
DISCARD_PAUSE_SECONDS = 0.05
"""Pause between reads of discarded input, which bounds it to 5 MB/s."""
LINGER_ZERO = struct.pack("ii", 1, 0)
"""SO_LINGER of a connection that is closed with RST."""


class ReadFlowControl(FlowControl):
    """Pauses reading while pipelined requests wait, and after a large read.

    A client that always has more to send would otherwise keep all others waiting.
    """

    def __init__(self, transport: asyncio.Transport, waiting: deque[Any]) -> None:
        super().__init__(transport)
        self._waiting = waiting
        self._suspended = False

    def resume_reading(self) -> None:
        if self.read_paused and not self._waiting:
            self.read_paused = False
            if not self._suspended:
                self._transport.resume_reading()

    def pause_for(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        """Read nothing for some seconds; 0: until all other connections were read."""
        if not self._suspended and not self._transport.is_closing():
            self._suspended = True
            self._transport.pause_reading()
            loop.call_later(seconds, self._resume)

    def _resume(self) -> None:
        self._suspended = False
        if not self.read_paused and not self._transport.is_closing():
            self._transport.resume_reading()


def unread_bytes(transport: asyncio.Transport) -> int:
    """Bytes that the client has not read: in our buffer and in the kernel's."""
    buffered = transport.get_write_buffer_size()
    if not buffered:
        return 0
    try:
        queued = fcntl.ioctl(
            transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, bytes(4)
        )
    except OSError:
        return buffered
    return buffered + int(struct.unpack("i", queued)[0])


def reset_connection(transport: asyncio.Transport) -> None:
    """Close at once with RST; unsent bytes are dropped."""
    with suppress(OSError):
        transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, LINGER_ZERO
        )
    transport.abort()


IDLE, HEAD, BODY, UPGRADE = range(4)
"""Parser stages; UPGRADE: the head is parsed again without its `Upgrade` header."""

MAX_PROBES = 2
CLOSE_DELAY_SECONDS = 0.05
"""Between an error response and the close: it paces a client that reconnects at once."""
CONTINUE_RESPONSE = b"HTTP/1.1 100 Continue\r\n\r\n"
TOO_MANY_CONNECTIONS = "Too many connections, in total or from this address; retry later"


TESTED_UVICORN = "0.54.0"
"""As the locks pin it."""


def check_uvicorn() -> None:
    """UnsupportedLibrary if an attribute is gone that the connection overrides or reads."""
    require_names(
        "uvicorn",
        TESTED_UVICORN,
        {
            HttpToolsProtocol: [
                *("_start_asgi_task", "cycle", "expect_100_continue", "flow", "headers", "on_url"),
                *("on_response_complete", "parser", "pipeline", "scope", "server_state", "tasks"),
            ],
            RequestResponseCycle: [
                *("disconnected", "keep_alive", "message_event"),
                *("response_complete", "response_started"),
            ],
            FlowControl: ["_transport", "read_paused", "write_paused"],
        },
    )


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


PARSE_SLICE_BYTES = 16 * 1024
"""Bytes that are parsed at once, to bound the requests that one read can start."""
CONTENT_PER_FRAMING = 8
"""Bytes of content that allow one more byte of chunk framing: parsing a chunk costs as much as some
hundred bytes of content, so bodies of tiny chunks are rejected."""

INVALID_HTTP = "Invalid HTTP request"
BODIES_FULL = "Too many request bodies in transit, in total or from this address; retry later"
CONNECT_NOT_SUPPORTED = "CONNECT is not supported"
ONE_HOST = "A request by HTTP/1.1 must have exactly one Host header"
NO_HOST = "The Host header must be the name or address of a host, with or without a port"
VERSIONS = "The version of HTTP must be 1.0 or 1.1"

HOST = re.compile(rb"(?:[\w.~!$&'()*+,;=%-]*|\[[\w.~!$&'()*+,;=:-]+\])(?::[0-9]*)?")
"""A host as RFC 3986 3.2.2 has it, and a port; empty for a target that has none (RFC 9110 7.2)."""


class RequestRefused(Exception):
    """Stops the parser; the error is in `pending_error`."""


class HttpProtocol(HttpConnection):
    """One connection of a client, parsed within limits."""

    slice_bytes = 0
    """Bytes of the current slice."""
    head_bytes = 0
    """Bytes since the slice in which the current head began."""
    framing_budget = 0
    """Bytes of framing that are allowed before the next byte of content."""

    def data_received(self, data: bytes) -> None:
        if self.discarding:
            self.discard_input(len(data))
        elif len(data) <= PARSE_SLICE_BYTES:
            self._feed(data)
        else:
            self._feed_in_slices(data)
            if len(data) > LARGE_READ_BYTES:
                self.flow.pause_for(
                    self.loop, DISCARD_PAUSE_SECONDS if self.responded_early() else 0
                )

    def _feed_in_slices(self, data: bytes) -> None:
        view = memoryview(data)
        for start in range(0, len(data), PARSE_SLICE_BYTES):
            if self.discarding:
                return
            if self.unparsed or len(self.pipeline) > self.limits.pipelined:
                self.unparsed += view[start:]
                return
            self._feed(view[start : start + PARSE_SLICE_BYTES])

    def _feed(self, data: bytes | memoryview) -> None:
        """Parse bytes; what follows an `Upgrade` request goes to a new parser."""
        remaining = self._parsed(data)
        while remaining and not self.discarding:
            if len(self.pipeline) > self.limits.pipelined:
                self.unparsed += remaining
                return
            remaining = self._parsed(remaining)

    def _parsed(self, data: bytes | memoryview) -> memoryview | None:
        """Parse bytes; returns the rest that follows an `Upgrade` request."""
        self.slice_bytes = size = len(data)
        if self.stage == HEAD:
            self.head_bytes += size
        elif self.stage == BODY:
            self.framing_budget -= size
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as wish:
            self._parse_without_upgrade()
            return memoryview(data)[wish.args[0] :]
        except httptools.HttpParserError:
            self.reject(self.pending_error or Malformed(INVALID_HTTP))
        else:
            if self.stage == HEAD and self.head_bytes > self.limits.head_bytes + PARSE_SLICE_BYTES:
                self.reject(self._head_too_large())
            elif self.stage == BODY and (error := self._body_error()):
                self.reject(error)
        return None

    def _body_error(self) -> ApiError | None:
        if self.framing_budget < 0:
            max_bytes = self.limits.framing_bytes
            return PayloadTooLarge(
                f"Chunk heads and trailers: at most {max_bytes:,} bytes beside the content"
            )
        return None if self.accepts_body else Unavailable(BODIES_FULL, retry_after=5)

    # Callbacks of the parser

    def on_message_begin(self) -> None:
        self.stage = HEAD
        self.head_bytes = self.slice_bytes
        self.since = self.open_connections.now
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.stage != HEAD:
            return  # a trailer is not a header (RFC 9110 6.5.1)
        self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        if len(self.headers) > self.limits.head_fields or (
            self.head_bytes > self.limits.head_bytes and self._head_size() > self.limits.head_bytes
        ):
            self.pending_error = self._head_too_large()
            raise RequestRefused
        if self.parser.should_upgrade():
            self.stage = UPGRADE
            return
        self.framing_budget = self.limits.framing_bytes
        by_name = dict(self.headers)
        if len(by_name) == len(self.headers):
            self.scope[BY_NAME] = by_name  # type: ignore[literal-required] # a key of ours
        if problem := self._head_problem(by_name):
            self.pending_error = Malformed(problem)
            raise RequestRefused
        if b"expect" in by_name:
            self.expect_100_continue = any(map(is_continue, self.headers))
        self.begin_request()
        self.stage = BODY

    def _head_problem(self, by_name: Mapping[bytes, bytes]) -> str | None:
        """What is wrong with version or Host, which HTTP/1.0 may omit (RFC 9112 3.2)."""
        version: str = self.parser.get_http_version()
        if version not in ("1.1", "1.0"):
            return VERSIONS
        host = by_name.get(b"host")
        if host is None:
            return None if version == "1.0" else ONE_HOST
        if len(by_name) != len(self.headers) and (
            sum(name == b"host" for name, _ in self.headers) != 1
        ):
            return ONE_HOST
        return None if HOST.fullmatch(host) else NO_HOST

    def begin_request(self) -> None:
        """Start a request: its head is complete."""
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        size = len(body)
        self.credit_framing(size)
        if not self.cycle.response_complete:
            self.body_bytes += size
            self.accepts_body = self.open_connections.hold_body(self, size)
        super().on_body(body)

    def credit_framing(self, content: int) -> None:
        """Count content, which allows further framing."""
        max_bytes = self.limits.framing_bytes
        self.framing_budget = min(
            self.framing_budget + content + content // CONTENT_PER_FRAMING, max_bytes
        )

    def on_message_complete(self) -> None:
        if self.stage == UPGRADE:
            return
        self.stage = IDLE
        if self.body_bytes:
            self.release_body()
        self.end_request()

    def end_request(self) -> None:
        """End a request: its body is complete."""
        super().on_message_complete()

    def _parse_without_upgrade(self) -> None:
        """Give the head to a new parser, without its `Upgrade` header."""
        method = self.parser.get_method()
        if method == b"CONNECT":
            self.reject(Malformed(CONNECT_NOT_SUPPORTED))
            return
        version = self.parser.get_http_version().encode()
        lines = [b"%b %b HTTP/%b" % (method, self.url, version), *without_upgrade(self.headers)]
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self._parsed(b"\r\n".join([*lines, b"", b""]))

    def _head_size(self) -> int:
        fields = sum(len(name) + len(value) + 4 for name, value in self.headers)
        return len(self.url) + fields

    def _head_too_large(self) -> HeadersTooLarge:
        limits = self.limits
        return HeadersTooLarge(
            f"The head of a request may have at most {limits.head_bytes:,} bytes "
            f"and {limits.head_fields} fields"
        )


def is_continue(header: tuple[bytes, bytes]) -> bool:
    """Whether a header asks for an interim response."""
    return header[0] == b"expect" and header[1].lower() == b"100-continue"


def without_upgrade(headers: Iterable[tuple[bytes, bytes]]) -> list[bytes]:
    """The header lines without `Upgrade`."""
    lines = []
    for name, value in headers:
        if name == b"connection":
            kept = [t for t in value.split(b",") if t.strip().lower() != b"upgrade"]
            value = b",".join(kept)
        if name not in (b"upgrade", b"http2-settings"):
            lines.append(b"%b: %b" % (name, value))
    return lines
