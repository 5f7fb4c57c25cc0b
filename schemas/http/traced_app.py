"""TracedApp: a span for each HTTP request that is recorded, around the whole application.

It is put around the application only where traces are on.
"""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from schemas.http.asgi import WRITE_KEY, WriteWhole, headers_by_name
from schemas.http.health import HEALTH_PATHS
from schemas.http.http_requests import RouteOf
from schemas.http.middleware import REQUEST_ID_KEY
from schemas.telemetry.spans import CURRENT_SPAN, Span, Tracer
from schemas.telemetry.traceparent import HEADER

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
OTHER_METHOD = "_OTHER"
TRACEPARENT = HEADER.encode()


class TracedApp:
    """Wraps an ASGI application; `route_of` is the route of a path, one of few."""

    def __init__(self, app: ASGIApp, tracer: Tracer, route_of: RouteOf) -> None:
        self._app, self._tracer, self._route_of = app, tracer, route_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in HEALTH_PATHS:
            await self._app(scope, receive, send)
            return
        traceparent = headers_by_name(scope).get(TRACEPARENT)
        if not self._tracer.records(traceparent):
            await self._app(scope, receive, send)
            return
        span = self._begin(scope, traceparent)
        # Not reset: the context is the request's own, and who closes the coroutine is in another.
        CURRENT_SPAN.set(span)
        statuses: list[int] = []
        try:
            await self._app(scope, receive, noting_status(scope, send, statuses))
        finally:
            status = {"http.response.status_code": statuses[0]} if statuses else {}
            request_id = scope.get(REQUEST_ID_KEY, b"").decode()
            span.note({"tidemark.request_id": request_id, **status})
            span.end(failure(statuses))

    def _begin(self, scope: Scope, traceparent: bytes | None) -> Span:
        method = scope["method"] if scope["method"] in METHODS else OTHER_METHOD
        route = self._route_of(scope["path"])
        attributes = {"http.request.method": method, "http.route": route}
        return self._tracer.request(f"{method} {route}", traceparent, attributes)


def noting_status(scope: Scope, send: Send, statuses: list[int]) -> Send:
    """`send`, and the writer of whole responses in the scope, that note the status as well."""
    write: WriteWhole | None = scope.get(WRITE_KEY)

    async def send_noting(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])
        await send(message)

    def write_noting(status: int, lines: bytes, body: bytes) -> None:
        statuses.append(status)
        if write is not None:
            write(status, lines, body)

    if write is not None:
        scope[WRITE_KEY] = write_noting
    return send_noting


def failure(statuses: list[int]) -> str:
    """The kind of failure: an error of ours, or no response; empty for errors of the caller."""
    if not statuses:
        return "no_response"
    return str(statuses[0]) if statuses[0] >= 500 else ""


def traced(app: ASGIApp, tracer: Tracer | None, route_of: RouteOf) -> ASGIApp:
    """The application with spans; itself where traces are off."""
    return app if tracer is None else TracedApp(app, tracer, route_of)
