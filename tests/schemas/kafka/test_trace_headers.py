"""What a sender writes into the headers of a message is what a worker reads."""

import pytest

from schemas.kafka.trace_headers import MAX_REQUESTS, sender_and_requests, spans_of, trace_headers
from schemas.telemetry.traceparent import render

SENDER, REQUESTS = render(1, 2), [render(1, 3), render(4, 5)]


def test_the_spans_of_a_message_are_read_as_they_were_written() -> None:
    headers = [("tidemark-request-ids", b"a b"), *trace_headers(SENDER, REQUESTS)]

    assert sender_and_requests(spans_of(headers)) == (SENDER, REQUESTS)


@pytest.mark.parametrize("headers", [[], [("tidemark-request-ids", b"a b")]])
def test_a_message_without_a_sender_has_none(headers: list[tuple[str, bytes]]) -> None:
    assert spans_of(headers) == b""


def test_no_more_requests_are_read_than_a_collector_writes() -> None:
    many = [render(1, number) for number in range(1, 1000)]

    _, requests = sender_and_requests(spans_of(trace_headers(SENDER, many)))

    assert list(requests) == many[:MAX_REQUESTS]
