"""Desk: what every endpoint of the query service works with."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from math import inf
from typing import Any, TypeVar

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from query.engine.damaged_files import DamagedFiles
from query.engine.export_limits import ExportLimiter
from query.engine.freshness import FreshnessTracker
from query.engine.quarantine import LostMessages
from query.engine.snapshots import SnapshotCache
from query.engine.table_offsets import TableOffsets
from query.engine.tenant_limits import TenantLimiter
from query.response.large_response import cancel_on_disconnect
from query.response.response_budget import ResponseBudget, ResponseMemory
from schemas.errors import Unavailable
from schemas.http.asgi import header
from schemas.http.auth import read_api_key, require_key
from schemas.http.middleware import HttpMiddleware
from schemas.plans import Group
from schemas.registry import (
    DatabaseError,
    Key,
    RegistryFollower,
    RegistryStore,
    Snapshot,
    first_line,
)
from schemas.runtime.clock import Clock

log = logging.getLogger(__name__)

T = TypeVar("T")

STALE_REGISTRY = "The registry could not be read for so long that no key is believed any more"


class QueryDependencies(Struct, frozen=True):
    """Collaborators, handed in once."""

    store: RegistryStore
    follower: RegistryFollower
    snapshots: SnapshotCache
    table_offsets: TableOffsets
    lost_messages: LostMessages
    freshness: FreshnessTracker
    standard_limiter: TenantLimiter
    custom_limiter: TenantLimiter
    damaged_files: DamagedFiles
    export_limiter: ExportLimiter
    timeout_seconds: float
    response_memory: ResponseMemory
    clock: Clock
    app_schemes: Sequence[str] = ()
    """Schemes of apps to which links may lead."""
    stale_seconds: float = inf
    """How long keys are believed while the registry cannot be read."""

    @property
    def registry(self) -> Snapshot:
        return self.follower.snapshot

    def store_for(self, key: Key) -> RegistryStore:
        """The registry, whose trail names this key for what is written."""
        return self.store.with_actor(f"key:{key.id}")

    async def in_registry(self, work: Callable[[], T]) -> T:
        """Read or write the registry itself; Unavailable while it is away."""
        try:
            return await asyncio.to_thread(work)
        except DatabaseError as away:
            log.warning("registry refuses", extra={"reason": first_line(away)})
            raise Unavailable("The registry cannot be reached at the moment") from None

    async def refresh_registry(self) -> None:
        """Let this process see at once what it wrote; the others follow within a second."""
        with suppress(DatabaseError):  # it is written; whoever follows will say what is wrong
            await asyncio.to_thread(self.follower.refresh)

    def authorize(self, request: Request, scope: str, group: Group, *others: str) -> Key:
        """The key that asks, counted against its organization's allowance.

        It needs the scope, or one of the others.
        """
        key = self.authenticate(request, scope, *others)
        self.count_request(request, key, group)
        return key

    def authenticate(self, request: Request, scope: str, *others: str) -> Key:
        """The live key that asks; it needs the scope, or one of the others."""
        if self.follower.stale_seconds > self.stale_seconds:
            raise Unavailable(STALE_REGISTRY)
        text = read_api_key(lambda name: header(request.scope, name.encode()))
        return require_key(self.registry, text, scope, self.clock(), *others)

    async def run_within_budget(
        self,
        request: Request,
        tenant: str,
        work: Callable[[ResponseBudget], Coroutine[Any, Any, Response]],
    ) -> Response:
        """What the work answers within one budget; it is stopped when the client leaves.

        The body of the request must have been read. The answer closes the budget.
        """
        budget = ResponseBudget(self.response_memory, tenant, self.timeout_seconds)
        try:
            return await cancel_on_disconnect(request.receive, work(budget))
        except BaseException:
            budget.close()
            raise

    def admit_public(self, request: Request) -> None:
        """A request that needs no key, counted against the public allowance of its address."""
        edge: HttpMiddleware = request.scope["app"]
        edge.admit_anonymous(request.scope)

    def count_request(self, request: Request, key: Key, group: Group, cost: int = 1) -> None:
        """Count one more request of the key's organization; LimitExceeded when none is left."""
        edge: HttpMiddleware = request.scope["app"]
        edge.admission.count_with_key(
            request.scope, self.registry.organizations[key.organization_id], group, cost
        )
