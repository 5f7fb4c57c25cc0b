"""Desk: what every endpoint of the collector works with, and the two things it is handed."""

from collections.abc import Sequence
from typing import Protocol

import msgspec
from msgspec import Struct

from ingest.publishing.acknowledged_counts import AcknowledgedCounter
from ingest.publishing.partition_queue import PendingDelivery
from ingest.publishing.recent_requests import RecentRequests
from ingest.visitor import AnonymousIds
from schemas.http.middleware import HttpMiddleware
from schemas.registry import Snapshot
from schemas.runtime.clock import Clock


class Producer(Protocol):
    """Where sealed requests go."""

    @property
    def unavailable_reason(self) -> str | None:
        """Why nothing is taken; None when all is well."""

    def enqueue(
        self, topic: str, place: int, envelopes: Sequence[bytes], items: int
    ) -> PendingDelivery:
        """Unavailable when nothing is taken; else what becomes of it, in bounded time."""


class SnapshotSource(Protocol):
    """Whatever holds the newest snapshot."""

    @property
    def snapshot(self) -> Snapshot: ...

    @property
    def error(self) -> str | None:
        """Why the last look at the database failed; None when it did not."""


class Dependencies(Struct, frozen=True):
    """What every endpoint works with."""

    middleware: HttpMiddleware
    producer: Producer
    registry: SnapshotSource
    clock: Clock
    anonymous_ids: AnonymousIds
    acknowledged_counter: AcknowledgedCounter
    epoch: int = 1
    """Which making of the topics offsets count in; receipts say it."""
    recent_requests: RecentRequests = msgspec.field(default_factory=RecentRequests)
    """The last requests of each website."""
