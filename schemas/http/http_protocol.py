"""HTTP/1.1 protocol: uvicorn's httptools protocol with limits on heads, bodies and pipelining.

Bounded here, beyond uvicorn: heads (bytes, fields, seconds), trailers and chunk extensions,
pipelined requests, clients that send nothing or read nothing, and the number of connections.
Trailers are dropped (RFC 9110 6.5.1), `Upgrade` is ignored (7.8), a half-closed client gets its
response, and error responses come after the responses that are due.

Nothing is logged here, so that clients cannot fill the log.
"""

import re
from collections.abc import Iterable, Mapping

import httptools

from schemas.errors import ApiError, HeadersTooLarge, Malformed, PayloadTooLarge, Unavailable
from schemas.http.asgi import BY_NAME
from schemas.http.flow_control import DISCARD_PAUSE_SECONDS, LARGE_READ_BYTES
from schemas.http.http_connection import BODY, HEAD, IDLE, UPGRADE, HttpConnection

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
