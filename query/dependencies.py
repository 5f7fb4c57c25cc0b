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
from query.engine.export_limits import Turns
from query.engine.freshness import Watch
from query.engine.quarantine import Gone
from query.engine.snapshots import Shelf
from query.engine.table_offsets import Positions
from query.engine.tenant_limits import Lanes
from query.response.large_response import unless_gone
from query.response.response_budget import AnswerBudget, AnswerMemory
from schemas.errors import Unavailable
from schemas.http.asgi import header
from schemas.http.auth import key_text, require_key
from schemas.http.middleware import Edge
from schemas.plans import Group
from schemas.registry import DatabaseError, Follower, Key, Snapshot, Store, first_line
from schemas.runtime.clock import Clock

log = logging.getLogger(__name__)

T = TypeVar("T")

STALE = "The registry could not be read for so long that no key is believed any more"


class Desk(Struct, frozen=True):
    """Collaborators, handed in once."""

    store: Store
    follower: Follower
    shelf: Shelf
    positions: Positions
    gone: Gone
    watch: Watch
    standard: Lanes
    custom: Lanes
    damaged: DamagedFiles
    turns: Turns
    seconds: float
    memory: AnswerMemory
    clock: Clock
    apps: Sequence[str] = ()
    """Schemes of apps to which links may lead."""
    stale_seconds: float = inf
    """How long keys are believed while the registry cannot be read."""

    @property
    def registry(self) -> Snapshot:
        return self.follower.snapshot

    def store_for(self, key: Key) -> Store:
        """The registry, whose trail names this key for what is written."""
        return self.store.acting_for(f"key:{key.id}")

    async def in_registry(self, work: Callable[[], T]) -> T:
        """Read or write the registry itself; Unavailable while it is away."""
        try:
            return await asyncio.to_thread(work)
        except DatabaseError as away:
            log.warning("registry refuses", extra={"reason": first_line(away)})
            raise Unavailable("The registry cannot be reached at the moment") from None

    async def catch_up(self) -> None:
        """Let this process see at once what it wrote; the others follow within a second."""
        with suppress(DatabaseError):  # it is written; whoever follows will say what is wrong
            await asyncio.to_thread(self.follower.refresh)

    def admit(self, request: Request, scope: str, group: Group, *others: str) -> Key:
        """The key that asks, counted against its organization's allowance.

        It needs the scope, or one of the others.
        """
        key = self.key(request, scope, *others)
        self.count(request, key, group)
        return key

    def key(self, request: Request, scope: str, *others: str) -> Key:
        """The live key that asks; it needs the scope, or one of the others."""
        if self.follower.stale_seconds > self.stale_seconds:
            raise Unavailable(STALE)
        text = key_text(lambda name: header(request.scope, name.encode()))
        return require_key(self.registry, text, scope, self.clock(), *others)

    async def bounded(
        self,
        request: Request,
        tenant: str,
        work: Callable[[AnswerBudget], Coroutine[Any, Any, Response]],
    ) -> Response:
        """What the work answers within one budget; it is stopped when the client leaves.

        The body of the request must have been read. The answer closes the budget.
        """
        budget = AnswerBudget(self.memory, tenant, self.seconds)
        try:
            return await unless_gone(request.receive, work(budget))
        except BaseException:
            budget.close()
            raise

    def admit_anyone(self, request: Request) -> None:
        """A request that needs no key, counted against the public allowance of its address."""
        edge: Edge = request.scope["app"]
        edge.admit_stranger(request.scope)

    def count(self, request: Request, key: Key, group: Group, cost: int = 1) -> None:
        """Count one more request of the key's organization; LimitExceeded when none is left."""
        edge: Edge = request.scope["app"]
        edge.admission.keyed(
            request.scope, self.registry.organizations[key.organization_id], group, cost
        )
