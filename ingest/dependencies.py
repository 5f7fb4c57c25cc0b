"""Dependencies of the endpoints (publisher, registry, clock, …), and how endpoints are declared."""

from collections.abc import Callable, Collection
from typing import Protocol

from msgspec import Struct
from starlette.types import ASGIApp

from ingest.peers.messages import Peers
from ingest.protocols.protocol import Claim
from ingest.publishing.anonymous_id import AnonymousIds
from ingest.publishing.click_queue import ClickQueue
from ingest.publishing.clock_offsets import ClockOffsets
from ingest.publishing.publish import Publisher
from ingest.publishing.storage_watch import StorageWatch
from ingest.publishing.tee import Tee
from ingest.publishing.throttle import CpuThrottle
from schemas.http.middleware import HttpMiddleware
from schemas.http.openapi import Operation
from schemas.registry import Snapshot
from schemas.runtime.clock import Clock


class SnapshotSource(Protocol):
    """Source of the newest registry snapshot."""

    @property
    def snapshot(self) -> Snapshot: ...

    @property
    def error(self) -> str | None:
        """Why the last read of the database failed; None when it succeeded."""

    async def newer_than(self, snapshot: Snapshot, ids: Collection[str]) -> bool:
        """Whether there is a newer snapshot, after a read for ids that this one does not have."""


class Dependencies(Struct, frozen=True):
    """What every endpoint of the collector works with."""

    middleware: HttpMiddleware
    registry: SnapshotSource
    clock: Clock
    anonymous_ids: AnonymousIds
    clock_offsets: ClockOffsets
    publisher: Publisher
    clicks: ClickQueue
    storage_watch: StorageWatch
    peers: Peers
    tee: Tee
    import_throttle: CpuThrottle
    """Of historical events."""


class CollectorEndpoint(Struct, frozen=True):
    """A route: its paths with their OpenAPI description, and its ASGI application."""

    operations: tuple[Operation, ...]
    """All with the same path; none for the routes of other products, who describe them."""
    app: Callable[[Dependencies], ASGIApp]
    undocumented_paths: tuple[str, ...] = ()
    """Paths that the OpenAPI document does not have."""
    claim: Claim | None = None
    """Which requests it is sent, of those to a path that is another endpoint's too."""

    @property
    def paths(self) -> tuple[str, ...]:
        """All paths, up to their variable; the endpoint then serves every path below."""
        return tuple(path.partition("{")[0] for path in self._declared_paths)

    @property
    def serves_paths_below(self) -> bool:
        """Whether its paths have a variable."""
        return any("{" in path for path in self._declared_paths)

    @property
    def _declared_paths(self) -> tuple[str, ...]:
        return (*(one.path for one in self.operations[:1]), *self.undocumented_paths)
