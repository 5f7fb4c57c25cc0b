"""Desk: what every endpoint of the collector works with, and the two things it is handed."""

from collections.abc import Sequence
from typing import Protocol

import msgspec
from msgspec import Struct

from ingest.publishing.acknowledged_counts import Acknowledgements
from ingest.publishing.partition_queue import Ticket
from ingest.publishing.recent_requests import Recent
from ingest.visitor import Visitors
from schemas.http.middleware import Edge
from schemas.registry import Snapshot
from schemas.runtime.clock import Clock


class Outbox(Protocol):
    """Where sealed requests go."""

    @property
    def refusing(self) -> str | None:
        """Why nothing is taken; None when all is well."""

    def put(self, topic: str, place: int, envelopes: Sequence[bytes], items: int) -> Ticket:
        """Unavailable when nothing is taken; else what becomes of it, in bounded time."""


class Registry(Protocol):
    """Whatever holds the newest snapshot."""

    @property
    def snapshot(self) -> Snapshot: ...

    @property
    def trouble(self) -> str | None:
        """Why the last look at the database failed; None when it did not."""


class Desk(Struct, frozen=True):
    """What every endpoint works with."""

    edge: Edge
    outbox: Outbox
    registry: Registry
    clock: Clock
    visitors: Visitors
    acknowledged: Acknowledgements
    epoch: int = 1
    """Which making of the topics offsets count in; receipts say it."""
    recent: Recent = msgspec.field(default_factory=Recent)
    """The last requests of each website."""
