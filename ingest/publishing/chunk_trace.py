"""ChunkTrace: the span of a chunk on its way to Kafka, and those of its requests."""

from schemas.kafka.request_ids import Headers
from schemas.kafka.trace_headers import MAX_REQUESTS, trace_headers
from schemas.telemetry.spans import CURRENT_SPAN, Attributes, Span


class ChunkTrace:
    """The requests of one chunk that are recorded; the first MAX_REQUESTS of them by name."""

    def __init__(self) -> None:
        self._requests: list[Span] = []
        self._recorded = 0
        self._span: Span | None = None

    def add(self, request: Span) -> None:
        """A request of the chunk, whose span is running."""
        self._recorded += 1
        if len(self._requests) < MAX_REQUESTS:
            self._requests.append(request)

    def begin(self, topic_partition: str, items: int, size: int) -> Headers:
        """Begin the span below that of the first request; the headers that name all."""
        links = [request.traceparent for request in self._requests]
        attributes: Attributes = {
            "messaging.system": "kafka",
            "messaging.destination.name": topic_partition.rpartition("/")[0],
            "messaging.destination.partition.id": topic_partition.rpartition("/")[2],
            "messaging.message.body.size": size,
            "tidemark.items": items,
            "tidemark.requests.recorded": self._recorded,
        }
        self._span = self._requests[0].child("produce", attributes, links, sends=True)
        return trace_headers(self._span.traceparent, links)

    def end(self, outcome: str, offset: int) -> None:
        """End it with what became of the message, and its offset where Kafka told one."""
        if self._span is not None:
            self._span.note({"tidemark.outcome": outcome, "messaging.kafka.offset": offset})
            self._span.end("" if outcome == "acknowledged" else outcome)


def trace_request(trace: ChunkTrace | None, items: int) -> ChunkTrace | None:
    """The trace of a chunk with the current request, if that is recorded."""
    request = CURRENT_SPAN.get()
    if request is None:
        return trace
    request.count("tidemark.items", items)
    trace = trace or ChunkTrace()
    trace.add(request)
    return trace
