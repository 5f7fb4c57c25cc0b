"""The collector's HTTP protocol: that of both services, and a short road.

The short road is for the requests that are nearly all: a POST to the route of a kind that came
whole in one piece. It is the same ASGI application, called with the body at hand and answered with
one write instead of two; on loopback a write that wakes its reader costs more than decoding the
event. Everything else takes uvicorn's own road.
"""

from typing import Any

from ingest.endpoints.mixed_routes import MIXED_ROUTES
from ingest.server.fast_path import FastPathCycle
from schemas.http.asgi import WHOLE_BODY_KEY
from schemas.http.http_protocol import HttpProtocol
from schemas.kinds import KINDS

POST_PATHS = [
    *(kind.path for kind in KINDS if kind.path),
    *(route.operation.path for route in MIXED_ROUTES if route.operation.method == "POST"),
]
FAST_PATHS = {path.encode(): path for path in POST_PATHS}


class CollectorProtocol(HttpProtocol):
    """One connection of a client."""

    fast_body: list[bytes] | None = None
    """Pieces of a body that may still take the short road."""

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.fast_body is not None:
            self._fall_back()

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
        scope[WHOLE_BODY_KEY] = body
        kept = self.parser.get_http_version() != "1.0" and self.parser.should_keep_alive()
        cycle: Any = FastPathCycle(self.transport, kept, self.on_response_complete)
        self.cycle = self.active_cycle = cycle
        task = self.loop.create_task(cycle.run(self.app, scope))
        task.add_done_callback(self.tasks.discard)
        self.tasks.add(task)

    def abandon(self) -> bool:
        if self.fast_body is None:
            return super().abandon()
        self.fast_body = None  # nobody was told of it
        return True

    def _fits_fast_path(self) -> bool:
        """A POST to the route of a kind, when nothing else is under way on this connection."""
        return (
            self.url.partition(b"?")[0] in FAST_PATHS
            and self.parser.get_method() == b"POST"
            and (self.cycle is None or self.cycle.response_complete)
            and not self.expect_100_continue
            and not self.flow.write_paused
        )

    def _fall_back(self) -> None:
        """The body did not come in one piece: let uvicorn wait for the rest of it."""
        assert self.fast_body is not None  # noqa: S101 - for the type checker
        pieces, self.fast_body = self.fast_body, None
        super().begin_request()
        for piece in pieces:
            super().on_body(piece)
