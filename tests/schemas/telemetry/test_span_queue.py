"""SpanQueue: bounded, counted, and never in the way of who ends a span."""

import threading
import time
from collections.abc import Iterator, Sequence

import pytest

from schemas.telemetry.instruments import REGISTRY
from schemas.telemetry.opentelemetry_tracer import MAX_SENT_AT_ONCE, SpanQueue
from tests.installation import eventually


class Receiver:
    """Takes spans while it is open; a call waits until then."""

    def __init__(self) -> None:
        self.batches: list[Sequence[int]] = []
        self.open = threading.Event()
        self.open.set()
        self.takes = True

    def send(self, spans: Sequence[int]) -> bool:
        self.open.wait(10)
        self.batches.append(spans)
        return self.takes

    @property
    def spans(self) -> list[int]:
        return [span for batch in self.batches for span in batch]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.open.set()


def counted(outcome: str) -> float:
    return REGISTRY.get_sample_value("tidemark_spans_total", {"outcome": outcome}) or 0.0


def test_spans_are_sent_in_order_and_counted(receiver: Receiver) -> None:
    before = counted("sent")
    queue = SpanQueue(receiver.send, interval_seconds=0.01)

    for span in range(3):
        queue.put(span)
    eventually(lambda: receiver.spans == [0, 1, 2])
    queue.close(5)

    assert counted("sent") == before + 3


def test_many_spans_are_sent_in_parts(receiver: Receiver) -> None:
    queue = SpanQueue(receiver.send, interval_seconds=5)

    for span in range(3 * MAX_SENT_AT_ONCE + 1):
        queue.put(span)
    queue.close(5)

    assert receiver.spans == list(range(3 * MAX_SENT_AT_ONCE + 1))
    assert max(map(len, receiver.batches)) <= MAX_SENT_AT_ONCE


def test_a_full_queue_drops_spans_at_once_and_counts_them(receiver: Receiver) -> None:
    receiver.open.clear()
    queue = SpanQueue(receiver.send, limit=10, interval_seconds=0.01)
    queue.put(-1)
    eventually(lambda: not queue._waiting)  # the thread waits for the receiver now
    before, began = counted("dropped"), time.perf_counter()

    for span in range(1000):
        queue.put(span)

    assert time.perf_counter() - began < 0.5
    assert len(queue._waiting) == 10
    assert counted("dropped") == before + 990


def test_what_the_receiver_refuses_is_counted_and_not_sent_again(receiver: Receiver) -> None:
    receiver.takes = False
    before = counted("failed")
    queue = SpanQueue(receiver.send, interval_seconds=0.01)

    queue.put(1)
    eventually(lambda: counted("failed") == before + 1)
    receiver.takes = True
    queue.put(2)
    eventually(lambda: receiver.spans == [1, 2])
    queue.close(5)


def test_an_exception_of_the_sender_does_not_end_the_thread() -> None:
    sent: list[int] = []

    def send(spans: Sequence[int]) -> bool:
        if 1 in spans:
            raise RuntimeError("the library failed")
        sent.extend(spans)
        return True

    queue = SpanQueue(send, interval_seconds=0.01)
    queue.put(1)
    eventually(lambda: not queue._waiting)
    queue.put(2)
    eventually(lambda: sent == [2])
    queue.close(5)


def test_closing_takes_no_longer_than_it_may(receiver: Receiver) -> None:
    receiver.open.clear()
    queue = SpanQueue(receiver.send, interval_seconds=0.01)
    queue.put(1)
    eventually(lambda: not queue._waiting)
    queue.put(2)
    before, began = counted("dropped"), time.perf_counter()

    queue.close(0.2)

    assert time.perf_counter() - began < 2
    assert counted("dropped") == before + 1
