"""Dependencies of the endpoints (publisher, registry, clock, …), and how endpoints are declared."""

from collections.abc import Callable, Collection
from typing import Protocol

from msgspec import Struct
from starlette.types import ASGIApp, Scope

from ingest.peers.messages import Peers
from ingest.publishing.anonymous_id import AnonymousIds
from ingest.publishing.click_queue import ClickQueue
from ingest.publishing.clock_offsets import ClockOffsets
from ingest.publishing.publish import Publisher
from ingest.publishing.storage_watch import StorageWatch
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


Claims = Callable[[Scope], bool]
"""Whether a request is for an endpoint, by its method, query string and headers."""


class CollectorEndpoint(Struct, frozen=True):
    """A route: the operations with its path and OpenAPI description, and its ASGI application."""

    operations: tuple[Operation, ...]
    app: Callable[[Dependencies], ASGIApp]
    also: tuple[str, ...] = ()
    """Further paths."""
    documented: bool = True
    """Whether the OpenAPI document has it; other products describe their routes themselves."""
    claims: Claims | None = None
    """Which requests are for it, of those to further paths that are another endpoint's."""
    claims_body: Callable[[bytes], bool] | None = None
    """Which of these are for it by their body; None: all."""

    @property
    def path(self) -> str:
        """The path, up to its first variable; the endpoint then serves every path below."""
        return self.operations[0].path.partition("{")[0]

    @property
    def paths(self) -> tuple[str, ...]:
        """All its paths, up to their variable."""
        return (self.path, *(path.partition("{")[0] for path in self.also))

    @property
    def serves_paths_below(self) -> bool:
        """Whether its path has a variable."""
        return self.path != self.operations[0].path
