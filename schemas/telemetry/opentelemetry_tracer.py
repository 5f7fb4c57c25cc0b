"""OpenTelemetry: records spans and sends them by OTLP over HTTP. The only module that imports it.

Whether a request is recorded is decided before a span is made: one that is not costs a random
number. A caller's `traceparent` decides for its request, up to MAX_CONTINUED a second, as anyone
can send one.

Ended spans wait for the receiver in bounded memory: a full queue drops a span, and spans that the
receiver refuses are not sent again. Both are counted.
"""

import logging
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Generic, TypeVar

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)
from opentelemetry.trace import Span as SdkSpan
from opentelemetry.trace import Tracer as SdkTracer

from schemas.runtime.log_setup import silence
from schemas.runtime.settings import Settings
from schemas.telemetry.instruments import SPANS
from schemas.telemetry.spans import Attributes
from schemas.telemetry.traceparent import SpanId, parse, render

log = logging.getLogger(__name__)

MAX_QUEUED = 8_192
MAX_SENT_AT_ONCE = 512
INTERVAL_SECONDS = 1.0
LOG_INTERVAL_SECONDS = 60.0

Ended = TypeVar("Ended")


class SpanQueue(Generic[Ended]):
    """Sends spans from a thread, at least every second while there are any."""

    def __init__(
        self,
        send: Callable[[Sequence[Ended]], bool],
        limit: int = MAX_QUEUED,
        interval_seconds: float = INTERVAL_SECONDS,
    ) -> None:
        self._send = send
        """Sends spans, in bounded time; whether the receiver took them."""
        self._limit = limit
        self._interval_seconds = interval_seconds
        self._waiting: deque[Ended] = deque()
        self._wake, self._empty = threading.Event(), threading.Event()
        self._closed = False
        self._logged = float("-inf")
        self._thread = threading.Thread(target=self._run, name="traces", daemon=True)
        self._thread.start()

    def put(self, span: Ended) -> None:
        """Queue a span that has ended; drops it when the queue is full."""
        if self._closed or len(self._waiting) >= self._limit:
            SPANS.labels("dropped").inc()
            return
        self._waiting.append(span)
        if len(self._waiting) >= MAX_SENT_AT_ONCE:
            self._wake.set()

    def close(self, seconds: float) -> None:
        """Send what is queued, for at most `seconds`; drop the rest."""
        self._closed = True
        self._wake.set()
        self._thread.join(seconds)
        if self._waiting:
            SPANS.labels("dropped").inc(len(self._waiting))

    def _run(self) -> None:
        while not self._closed:
            self._wake.wait(self._interval_seconds)
            self._wake.clear()
            self._send_waiting()

    def _send_waiting(self) -> None:
        while self._waiting:
            count = min(len(self._waiting), MAX_SENT_AT_ONCE)
            spans = [self._waiting.popleft() for _ in range(count)]
            if self._try_send(spans):
                SPANS.labels("sent").inc(count)
            else:
                SPANS.labels("failed").inc(count)
                if self._closed:
                    return

    def _try_send(self, spans: Sequence[Ended]) -> bool:
        try:
            if self._send(spans):
                return True
            reason = "the receiver does not take them"
        except Exception as error:  # a library's; the thread must go on
            reason = repr(error)
        if time.monotonic() - self._logged >= LOG_INTERVAL_SECONDS:
            self._logged = time.monotonic()
            log.warning("spans not sent", extra={"spans": len(spans), "reason": reason})
        return False


PATH = "/v1/traces"
SEND_SECONDS = 5.0
MAX_LINKS = 32
"""Requests that the span of a batch links to."""
MAX_CONTINUED = 200
"""Requests of a second that are recorded because their caller records them."""
NOTHING = Context()
"""No span is above: the one that begins is the first of its trace."""


class OpenTelemetrySpan:
    """A span that is recorded."""

    __slots__ = ("_counts", "_links", "_span", "_tracer")

    def __init__(self, tracer: SdkTracer, span: SdkSpan, links: Sequence[Link] = ()) -> None:
        self._tracer, self._span, self._links = tracer, span, links
        self._counts: dict[str, int] = {}

    @property
    def traceparent(self) -> bytes:
        context = self._span.get_span_context()
        return render(context.trace_id, context.span_id)

    def note(self, attributes: Attributes) -> None:
        self._span.set_attributes(attributes)

    def count(self, name: str, number: int) -> None:
        self._counts[name] = self._counts.get(name, 0) + number
        self._span.set_attribute(name, self._counts[name])

    def child(
        self, name: str, attributes: Attributes, links: Sequence[bytes] = (), sends: bool = False
    ) -> "OpenTelemetrySpan":
        to = links_to(links) or self._links
        kind = SpanKind.PRODUCER if sends else SpanKind.INTERNAL
        context = set_span_in_context(self._span, NOTHING)
        span = self._tracer.start_span(name, context, kind, attributes, to)
        return OpenTelemetrySpan(self._tracer, span, to)

    def end(self, error: str = "") -> None:
        if error:
            self._span.set_attribute("error.type", error)
            self._span.set_status(Status(StatusCode.ERROR))
        self._span.end()


class OpenTelemetryTracer:
    """Begins spans, and queues those that end."""

    def __init__(self, tracer: SdkTracer, queue: SpanQueue[ReadableSpan], share: float) -> None:
        self._tracer, self._queue, self._share = tracer, queue, share
        self._second, self._continued = 0, 0

    def records(self, traceparent: bytes | None) -> bool:
        caller = traceparent and parse(traceparent)
        if not caller:
            return random.random() < self._share  # noqa: S311 - no secret
        return caller.recorded and self._may_continue()

    def request(
        self, name: str, traceparent: bytes | None, attributes: Attributes
    ) -> OpenTelemetrySpan:
        context = below(parse(traceparent))
        span = self._tracer.start_span(name, context, SpanKind.SERVER, attributes)
        return OpenTelemetrySpan(self._tracer, span)

    def batch(
        self, name: str, traceparents: Sequence[bytes], links: Sequence[bytes]
    ) -> OpenTelemetrySpan | None:
        callers = (parse(each) for each in traceparents)
        first = next((each for each in callers if each and each.recorded), None)
        if first is None:
            return None
        to = links_to(links)
        span = self._tracer.start_span(name, below(first), SpanKind.CONSUMER, None, to)
        return OpenTelemetrySpan(self._tracer, span, to)

    def close(self, seconds: float) -> None:
        self._queue.close(seconds)

    def _may_continue(self) -> bool:
        second = int(time.monotonic())
        if second != self._second:
            self._second, self._continued = second, 0
        self._continued += 1
        return self._continued <= MAX_CONTINUED


class _Queued(SpanProcessor):
    """Queues each span when it ends."""

    def __init__(self, queue: SpanQueue[ReadableSpan]) -> None:
        self._queue = queue

    def on_end(self, span: ReadableSpan) -> None:
        self._queue.put(span)


def remote_context(ids: SpanId) -> SpanContext:
    return SpanContext(ids.trace, ids.span, True, TraceFlags(TraceFlags.SAMPLED))


def below(caller: SpanId | None) -> Context:
    """Where a span of this process begins: below a span of another one, or a trace of its own."""
    if caller is None:
        return NOTHING
    return set_span_in_context(NonRecordingSpan(remote_context(caller)), NOTHING)


def links_to(traceparents: Sequence[bytes]) -> Sequence[Link]:
    """Links to the spans with these ids, the first MAX_LINKS."""
    ids = (parse(each) for each in traceparents[:MAX_LINKS])
    return [Link(remote_context(each)) for each in ids if each]


def open_tracer(settings: Settings, service: str, process: str) -> OpenTelemetryTracer:
    """The tracer of one process."""
    silence("opentelemetry")  # the queue counts and logs what is not sent
    exporter = OTLPSpanExporter(
        settings.traces.rstrip("/") + PATH, timeout=SEND_SECONDS, compression=Compression.Gzip
    )
    queue: SpanQueue[ReadableSpan] = SpanQueue(
        lambda spans: exporter.export(spans) is SpanExportResult.SUCCESS
    )
    resource = Resource.create(
        {
            "service.name": f"tidemark-{service}",
            "service.instance.id": process,
            "service.version": version("tidemark"),
        }
    )
    provider = TracerProvider(ALWAYS_ON, resource, shutdown_on_exit=False)
    provider.add_span_processor(_Queued(queue))
    return OpenTelemetryTracer(provider.get_tracer("tidemark"), queue, settings.traces_share)
