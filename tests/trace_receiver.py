"""A receiver of traces: OTLP over HTTP, decoded by the types of the protocol's own package."""

import gzip
import threading
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from msgspec import Struct
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.installation import free_port


class ReceivedSpan(Struct, frozen=True):
    """One span, with ids as hexadecimal text."""

    name: str
    service: str
    trace: str
    id: str
    parent: str
    links: Sequence[str]
    """Trace id and span id, joined by a dash."""
    attributes: Mapping[str, Any]
    failed: bool
    kind: int

    @property
    def link(self) -> str:
        """How others link to it."""
        return f"{self.trace}-{self.id}"


class TraceReceiver:
    """Receives in threads; `pause` lets requests wait without an answer."""

    def __init__(self) -> None:
        self.spans: list[ReceivedSpan] = []
        self.bodies: list[bytes] = []
        self.port = free_port()
        self._answering = threading.Event()
        self._answering.set()
        self._server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> Self:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver._answering.wait(60)
                receiver.take(self.path, gzip.decompress(body))
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                """Write no access log."""

        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def stop(self) -> None:
        """Refuse connections until it is started again."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def pause(self) -> None:
        """Take requests and answer none of them."""
        self._answering.clear()

    def resume(self) -> None:
        self._answering.set()

    def take(self, path: str, body: bytes) -> None:
        assert path == "/v1/traces"
        self.bodies.append(body)
        for of_process in ExportTraceServiceRequest.FromString(body).resource_spans:
            resource = {a.key: value(a.value) for a in of_process.resource.attributes}
            for scope in of_process.scope_spans:
                self.spans += [received(span, resource["service.name"]) for span in scope.spans]

    def of_trace(self, trace: str) -> dict[str, ReceivedSpan]:
        """The spans of a trace by name, which each of them has alone."""
        return {span.name: span for span in list(self.spans) if span.trace == trace}

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.resume()
        self.stop()


def received(span: Any, service: str) -> ReceivedSpan:
    return ReceivedSpan(
        span.name,
        service,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        [f"{link.trace_id.hex()}-{link.span_id.hex()}" for link in span.links],
        {a.key: value(a.value) for a in span.attributes},
        span.status.code == 2,
        span.kind,
    )


def value(any_value: Any) -> Any:
    return getattr(any_value, any_value.WhichOneof("value"))
