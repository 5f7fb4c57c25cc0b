"""Spans in the headers of a Kafka message: of its sender, and of its requests."""

from collections.abc import Iterable, Sequence

from schemas.kafka.request_ids import Headers
from schemas.telemetry.traceparent import HEADER

REQUESTS_HEADER = "tidemark-request-spans"
MAX_REQUESTS = 8
"""A chunk names the spans of its first recorded requests."""


def trace_headers(sender: bytes, requests: Sequence[bytes]) -> Headers:
    """The headers of a message that the span `sender` sends; each is a `traceparent`."""
    return [(HEADER, sender), (REQUESTS_HEADER, b" ".join(requests))]


def spans_of(headers: Iterable[tuple[str, bytes]]) -> bytes:
    """The sender and the requests of a message, separated by spaces; empty without a sender."""
    sender = requests = b""
    for name, value in headers:
        if name == HEADER:
            sender = value
        elif name == REQUESTS_HEADER:
            requests = value
    return b"%b %b" % (sender, requests) if sender else b""


def sender_and_requests(spans: bytes) -> tuple[bytes, Sequence[bytes]]:
    """What `spans_of` joined."""
    sender, *requests = spans.split(b" ")
    return sender, [each for each in requests[:MAX_REQUESTS] if each]
