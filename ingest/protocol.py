"""The collector's HTTP protocol: uvicorn's, with what that leaves open, and a short road.

uvicorn has no time-out for a head that never comes and no limit for one that never ends, and it
answers in plain text what is no HTTP at all.

The short road is for the requests that are nearly all: a POST to the route of a kind that came
whole in one piece. It is the same ASGI application, called with the body at hand and answered with
one write instead of two; on loopback a write that wakes its reader costs more than decoding the
event. Everything else takes uvicorn's own road.
"""

import asyncio
import logging
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from ingest.cycle import ShortCycle
from ingest.routes import MIXED
from schemas.clock import now_ms
from schemas.edge.allowances import WINDOW_MS, Allowance
from schemas.edge.asgi import WHOLE_BODY
from schemas.edge.bodies import encode, of_collect
from schemas.edge.wear import PUBLIC_LIMIT
from schemas.failures import Malformed
from schemas.kinds import KINDS

HEAD_SECONDS = 10.0
HEAD_BYTES = 16 * 1024
LINGER_SECONDS = 5.0

POSTS = [
    *(kind.path for kind in KINDS if kind.path),
    *(route.path for route in MIXED if route.method == "POST"),
]
HOT = {path.encode(): path for path in POSTS}

NO_HTTP = f"This is no valid HTTP request, or its head has more than {HEAD_BYTES:,} bytes"

# A client that sends rubbish is answered; it need not fill the log too.
logging.getLogger("uvicorn.error").addFilter(
    lambda record: record.msg != "Invalid HTTP request received."
)


class LongHead(Exception):
    """The head of a request has more than HEAD_BYTES."""


class CollectorProtocol(HttpToolsProtocol):
    """One connection of a client."""

    head_timer: asyncio.TimerHandle | None = None
    in_head = False
    fed = 0
    """Bytes that came since the present head began."""
    hot: list[bytes] | None = None
    """Pieces of a body that may still take the short road."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_came()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self.fed = self.fed + len(data) if self.in_head else len(data)
        super().data_received(data)
        if self.transport.is_closing():
            self.hot = None
            return
        if self.hot is not None:
            self._take_the_long_road()
        if self.head_timer is None and (self.in_head or self._idle()):
            self._await_head()
        if self.in_head and self.fed > HEAD_BYTES:
            self.send_400_response(NO_HTTP)

    def on_message_begin(self) -> None:
        self.in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self.in_head = False
        if self.head_timer is not None:
            self._head_came()
        if self.fed > HEAD_BYTES and self._head_size() > HEAD_BYTES:
            raise LongHead  # the parser stops, and uvicorn sends its 400
        if self._may_be_short():
            self.hot = []
        else:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if self.hot is not None:
            self.hot.append(body)
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if self.hot is None:
            super().on_message_complete()
            return
        body, self.hot = b"".join(self.hot), None
        path, _, query = self.url.partition(b"?")
        scope: Any = self.scope
        scope["method"] = "POST"
        scope["path"] = HOT[path]
        scope["raw_path"] = path
        scope["query_string"] = query
        scope[WHOLE_BODY] = body
        kept = self.parser.get_http_version() != "1.0" and self.parser.should_keep_alive()
        cycle: Any = ShortCycle(self.transport, kept, self.on_response_complete)
        self.cycle = cycle
        task = self.loop.create_task(cycle.run(self.app, scope))
        task.add_done_callback(self.tasks.discard)
        self.tasks.add(task)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete and self.cycle.more_body:
            # Answered before the body was whole. What comes is read away for a while, because
            # closing at once could reset the connection before the client has read the answer.
            self.loop.call_later(LINGER_SECONDS, self.transport.close)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - ours says more
        body = encode(of_collect(Malformed(NO_HTTP)))
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
            (b"connection", b"close"),
            *Allowance(PUBLIC_LIMIT, PUBLIC_LIMIT, now_ms() + WINDOW_MS).headers(),
        ]
        lines = b"".join([b"%b: %b\r\n" % header for header in headers])
        self.transport.write(STATUS_LINE[400] + lines + b"\r\n" + body)
        self.transport.close()

    def _may_be_short(self) -> bool:
        """A POST to the route of a kind, when nothing else is under way on this connection."""
        return (
            self.url.partition(b"?")[0] in HOT
            and self.parser.get_method() == b"POST"
            and (self.cycle is None or self.cycle.response_complete)
            and not self.expect_100_continue
            and not self.parser.should_upgrade()
        )

    def _take_the_long_road(self) -> None:
        """The body did not come in one piece: let uvicorn wait for the rest of it."""
        assert self.hot is not None  # noqa: S101 - for the type checker
        pieces, self.hot = self.hot, None
        super().on_headers_complete()
        for piece in pieces:
            super().on_body(piece)

    def _await_head(self) -> None:
        self.head_timer = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _head_came(self) -> None:
        if self.head_timer is not None:
            self.head_timer.cancel()
            self.head_timer = None

    def _idle(self) -> bool:
        """Whether nothing is being answered and no time-out of uvicorn's runs."""
        done: Any = self.cycle is None or self.cycle.response_complete
        return bool(done) and self.timeout_keep_alive_task is None

    def _head_size(self) -> int:
        return len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
