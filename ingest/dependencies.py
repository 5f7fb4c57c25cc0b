"""Dependencies: what every endpoint is handed at start (publisher, registry, clock, …)."""

from typing import Protocol

from msgspec import Struct

from ingest.publishing.anonymous_id import AnonymousIds
from ingest.publishing.publish import Publisher
from schemas.http.middleware import HttpMiddleware
from schemas.registry import Snapshot
from schemas.runtime.clock import Clock


class SnapshotSource(Protocol):
    """Source of the newest registry snapshot."""

    @property
    def snapshot(self) -> Snapshot: ...

    @property
    def error(self) -> str | None:
        """Why the last read of the database failed; None when it succeeded."""


class Dependencies(Struct, frozen=True):
    """What every endpoint of the collector works with."""

    middleware: HttpMiddleware
    registry: SnapshotSource
    clock: Clock
    anonymous_ids: AnonymousIds
    publisher: Publisher
