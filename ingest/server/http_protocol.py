"""The collector's HTTP protocol: the shared one plus a fast path for complete POST requests.

Nearly all requests are a POST to a collect route that arrives in one piece. For these the same ASGI
application is called with the buffered body, and the response is written once instead of twice; on
loopback a write that wakes its reader costs more than decoding the event. Where a connection
repeats its head, `direct_collect` may accept the usual request at once, without the application.
All other requests take uvicorn's default path.
"""

import logging
from typing import Any

from ingest.decoding.request_head import SHARED_BY_HEAD
from ingest.endpoints.direct_collect import DIRECT, DirectCollect
from ingest.endpoints.mixed import MIXED_ROUTES
from ingest.server.fast_path import DirectCycle, FastPathCycle, KnownHead
from schemas.http.asgi import WHOLE_BODY_KEY
from schemas.http.protocol import IDLE, PARSE_SLICE_BYTES, HttpProtocol
from schemas.kinds import KINDS
from schemas.telemetry.instruments import DIRECT_FAILURES

log = logging.getLogger(__name__)

POST_PATHS = [
    *(kind.path for kind in KINDS if kind.path),
    *(route.operation.path for route in MIXED_ROUTES if route.operation.method == "POST"),
]
FAST_PATHS = {path.encode(): path for path in POST_PATHS}


class CollectorProtocol(HttpProtocol):
    """One client connection."""

    fast_body: list[bytes] | None = None
    """Pieces of the body while the request may still take the fast path."""

    known_head: KnownHead | None = None
    """The head of the last request, if it took the fast path."""
    last_request: tuple[bytes, dict[str, Any]] | None = None
    """Body and scope of the request that was just parsed on the fast path, unless it is the last
    one of the connection."""

    def data_received(self, data: bytes) -> None:
        known = self.known_head
        if known is not None and len(data) <= PARSE_SLICE_BYTES and self._is_idle():
            body = known.body_of(data)
            if body is not None:
                self.since = self.open_connections.now
                direct: DirectCollect | None = known.shared.get(DIRECT)
                if direct is None or not self._accepted(known, direct, body):
                    self._run(known.new_scope(len(body)), body, keep_alive=True)
                return
        idle = self.stage == IDLE and len(data) <= PARSE_SLICE_BYTES and not self.unparsed
        self.last_request = None
        super().data_received(data)
        if self.fast_body is not None:
            self._fall_back()
        elif self.last_request is not None and idle:
            self.known_head = known = KnownHead.of(data, *self.last_request)
            if known is not None:  # this request runs later, and shares what it reads
                self.scope[SHARED_BY_HEAD] = known.shared

    def _accepted(self, known: KnownHead, direct: DirectCollect, body: bytes) -> bool:
        """Whether the request was accepted at once."""
        if self.open_connections.drain.begun:
            return False  # its response closes the connection
        try:
            request = direct.accept(body)
        except Exception:  # a bug there must not cost the request, which the endpoint may accept
            DIRECT_FAILURES.inc()
            log.exception("request could not be accepted directly")
            return False
        if request is None:
            return False
        cycle: Any = DirectCycle(self, known, request)
        self.cycle = self.active_cycle = cycle
        cycle.run()
        return True

    def respond_to_error(self, failed: DirectCycle, error: Exception) -> None:
        """Respond to a request that was accepted at once, and failed."""
        cycle: Any = FastPathCycle(
            self.transport, failed.keep_alive, self.on_response_complete, self.tasks
        )
        parsed_last: object = self.cycle
        if parsed_last is failed:
            self.cycle = cycle  # else another request waits behind it
        if not failed.disconnected:
            self.active_cycle = cycle
        cycle.disconnected = failed.disconnected
        cycle.start(failed.request.error_response(error), failed.known.new_scope(0))

    def _is_idle(self) -> bool:
        """Whether a request may begin on the fast path: as in `_fits_fast_path`."""
        return (
            self.stage == IDLE
            and not self.discarding
            and not self.unparsed
            and not self.pipeline
            and (self.cycle is None or self.cycle.response_complete)
            and not self.flow.write_paused
        )

    def on_message_begin(self) -> None:
        self.known_head = self.last_request = None
        super().on_message_begin()

    def begin_request(self) -> None:
        if self._fits_fast_path():
            self.fast_body = []
        else:
            super().begin_request()

    def on_body(self, body: bytes) -> None:
        if self.fast_body is not None:
            self.fast_body.append(body)
            self.credit_framing(len(body))
        else:
            super().on_body(body)

    def end_request(self) -> None:
        if self.fast_body is None:
            super().end_request()
            return
        body, self.fast_body = b"".join(self.fast_body), None
        path, _, query = self.url.partition(b"?")
        scope: Any = self.scope
        scope["method"] = "POST"
        scope["path"] = FAST_PATHS[path]
        scope["raw_path"] = path
        scope["query_string"] = query
        keep_alive = self.parser.get_http_version() != "1.0" and self.parser.should_keep_alive()
        if keep_alive:
            self.last_request = body, scope.copy()
        self._run(scope, body, keep_alive)

    def _run(self, scope: Any, body: bytes, keep_alive: bool) -> None:
        """Run the application for a whole request."""
        scope[WHOLE_BODY_KEY] = body
        keep_alive = keep_alive and not self.open_connections.drain.begun
        cycle: Any = FastPathCycle(
            self.transport, keep_alive, self.on_response_complete, self.tasks
        )
        self.cycle = self.active_cycle = cycle
        # Not at once: the parser is in the middle of what the connection sent.
        self.loop.call_soon(cycle.run, self.app, scope)

    def abandon(self) -> bool:
        if self.fast_body is None:
            return super().abandon()
        self.fast_body = None  # no task was started for it
        return True

    def _fits_fast_path(self) -> bool:
        """Whether it is a POST to a collect route, and no other request is open here."""
        return (
            self.url.partition(b"?")[0] in FAST_PATHS
            and self.parser.get_method() == b"POST"
            and (self.cycle is None or self.cycle.response_complete)
            and b"wait" not in self.url  # waits for tables, in a task
            and not self.expect_100_continue
            and not self.flow.write_paused
        )

    def _fall_back(self) -> None:
        """The body did not arrive in one piece: continue on the default path."""
        assert self.fast_body is not None  # noqa: S101 - for the type checker
        pieces, self.fast_body = self.fast_body, None
        super().begin_request()
        for piece in pieces:
            super().on_body(piece)
