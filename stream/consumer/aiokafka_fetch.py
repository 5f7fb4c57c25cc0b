"""How much a fetch of aiokafka brings, and whether the broker responds at once or gathers first.

A fetch takes a millisecond of CPU or more however few messages it brings: it names every assigned
partition, and Faust passes through two threads for it. Messages of events that arrive one by one
are small and many, and would each be a fetch.

Faust has no setting for either, and aiokafka takes both only when a consumer is made: here they are
set on the running one.
"""

import time
from collections.abc import Callable, Mapping, Sequence

from aiokafka import AIOKafkaConsumer
from aiokafka.consumer.fetcher import Fetcher
from msgspec import Struct

TESTED_AIOKAFKA = "0.14.0"
PRIVATE_NAMES: Mapping[type, Sequence[str]] = {
    AIOKafkaConsumer: ("_fetch_max_bytes", "_fetcher"),
    Fetcher: ("_fetch_min_bytes", "_fetch_max_wait_ms"),
}
MAX_FETCH_BYTES = 8 << 20
"""Bytes in one response of the broker at most (`fetch.max.bytes`); one message may be larger."""


class FetchWait(Struct, frozen=True):
    """The broker responds as soon as it has so many bytes, or after so long (milliseconds)."""

    min_bytes: int
    """`fetch.min.bytes`."""
    max_ms: int
    """`fetch.max.wait.ms`."""


AT_ONCE = FetchWait(1, 250)
"""While little arrives. Messages of partitions that a fetch does not name wait for its response."""
GATHERED = FetchWait(1 << 20, 80)
"""While messages arrive: some 12 fetches a second, and none of a backlog waits."""
RECENT_SECONDS = 0.2
"""For so long after a fetch that brought messages the next ones gather."""


class FetchPace:
    """Chooses the wait of the next fetch from when messages came last."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._brought_at = float("-inf")

    def next_wait(self) -> FetchWait:
        """The wait of the next fetch."""
        is_recent = self._monotonic() - self._brought_at < RECENT_SECONDS
        return GATHERED if is_recent else AT_ONCE

    def note_messages(self) -> None:
        """Note that a fetch brought messages."""
        self._brought_at = self._monotonic()


def limit_fetches(consumer: AIOKafkaConsumer) -> None:
    """Limit the bytes of each response; before the consumer starts."""
    consumer._fetch_max_bytes = MAX_FETCH_BYTES


def set_wait(consumer: AIOKafkaConsumer, wait: FetchWait) -> None:
    """Set the wait of the next fetch of a started consumer."""
    consumer._fetcher._fetch_min_bytes = wait.min_bytes
    consumer._fetcher._fetch_max_wait_ms = wait.max_ms
