"""The span of a batch, with links to the requests whose items it holds."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from schemas.kafka.trace_headers import sender_and_requests
from schemas.telemetry.spans import Span, Traces, note, running
from stream.rows.kafka_message import KafkaMessage
from stream.writing.batch_writer import WriteResult


def batch_span(topic: str, messages: Sequence[KafkaMessage]) -> AbstractContextManager[Span | None]:
    """The span of messages that are stored together; none where no request is recorded.

    It continues the trace of the first message that is, and links to the requests of all.
    """
    tracer = Traces.tracer
    if tracer is None:
        return nullcontext()
    sent = [sender_and_requests(message.spans) for message in messages if message.spans]
    links = [request for _, requests in sent for request in requests]
    span = tracer.batch(f"store {topic}", [sender for sender, _ in sent], links)
    if span is not None:
        span.note(
            {
                "messaging.system": "kafka",
                "messaging.destination.name": topic,
                "messaging.batch.message_count": len(messages),
                "tidemark.items": sum(message.items for message in messages),
                "tidemark.requests.recorded": len(links),
            }
        )
    return running(span)


def note_result(result: WriteResult) -> None:
    """Add what became of the items to the span of the batch."""
    note(
        {
            "tidemark.rows": result.rows,
            "tidemark.duplicates": result.duplicates,
            "tidemark.quarantined": result.quarantined,
        }
    )
