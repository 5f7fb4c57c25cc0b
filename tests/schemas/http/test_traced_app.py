"""TracedApp: one span for a request, whatever becomes of it, and none where traces are off."""

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import Any

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from schemas.http.asgi import WRITE_KEY
from schemas.http.http_requests import routes
from schemas.http.middleware import REQUEST_ID_KEY
from schemas.http.traced_app import TracedApp, traced
from schemas.telemetry.opentelemetry_tracer import OpenTelemetryTracer
from schemas.telemetry.spans import CURRENT_SPAN
from tests.trace_receiver import ReceivedSpan, TraceReceiver

ROUTE_OF = routes(["/track", "/v1/links/{link_id}"])


def scope(path: str = "/track", method: str = "POST", **more: Any) -> Scope:
    return {"type": "http", "path": path, "method": method, "headers": [], **more}


def run(app: ASGIApp, scope: Scope) -> list[Message]:
    """What the application sends."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    asyncio.run(_run(app, scope, receive, send))
    return sent


async def _run(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    await app(scope, receive, send)


def responding(status: int) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        scope[REQUEST_ID_KEY] = b"r1"
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    return app


Received = Callable[[], ReceivedSpan]


@pytest.fixture
def received(tracer: OpenTelemetryTracer, receiver: TraceReceiver) -> Received:
    """The one span that was sent."""

    def only() -> ReceivedSpan:
        tracer.close(5)
        [span] = receiver.spans
        return span

    return only


def test_without_a_tracer_the_application_itself_is_served() -> None:
    app = responding(200)

    assert traced(app, None, ROUTE_OF) is app


@pytest.mark.parametrize(
    ("status", "failed"), [(200, False), (400, False), (429, False), (500, True), (503, True)]
)
def test_the_span_has_route_status_and_request_id(
    tracer: OpenTelemetryTracer, received: Received, status: int, failed: bool
) -> None:
    sent = run(TracedApp(responding(status), tracer, ROUTE_OF), scope("/v1/links/secret", "PATCH"))

    span = received()
    assert len(sent) == 2
    assert (span.name, span.failed) == ("PATCH /v1/links/{link_id}", failed)
    assert span.attributes["http.response.status_code"] == status
    assert span.attributes["tidemark.request_id"] == "r1"


def test_a_method_or_path_of_a_caller_is_no_name(
    tracer: OpenTelemetryTracer, received: Received
) -> None:
    run(TracedApp(responding(404), tracer, ROUTE_OF), scope("/secret", "SECRET"))

    assert received().name == "_OTHER other"


def test_a_response_that_is_written_at_once_counts_as_well(
    tracer: OpenTelemetryTracer, received: Received
) -> None:
    written: list[tuple[int, bytes, bytes]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        scope[WRITE_KEY](200, b"lines", b"body")

    def write(*response: Any) -> None:
        written.append(response)

    run(TracedApp(app, tracer, ROUTE_OF), {**scope(), WRITE_KEY: write})

    assert written == [(200, b"lines", b"body")]
    assert received().attributes["http.response.status_code"] == 200


def test_a_request_that_is_closed_from_elsewhere_ends_its_span(
    tracer: OpenTelemetryTracer, received: Received
) -> None:
    """The fast path closes the coroutine of a request that takes too long to shut down."""
    seen = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(CURRENT_SPAN.get())
        await asyncio.get_running_loop().create_future()

    async def start_and_close() -> None:
        request: Any = TracedApp(app, tracer, ROUTE_OF)(scope(), run, run)  # type: ignore[arg-type]
        Context().run(request.send, None)
        request.close()

    asyncio.run(start_and_close())

    span = received()
    assert seen[0] is not None
    assert (span.failed, span.attributes["error.type"]) == (True, "no_response")
    assert CURRENT_SPAN.get() is None


@pytest.mark.parametrize("path", ["/health", "/health/ready"])
def test_health_checks_are_not_recorded(
    tracer: OpenTelemetryTracer, receiver: TraceReceiver, path: str
) -> None:
    run(TracedApp(responding(200), tracer, ROUTE_OF), scope(path, "GET"))
    tracer.close(5)

    assert receiver.spans == []
