"""Desk: what every endpoint of the query service works with."""

from collections.abc import Sequence

from msgspec import Struct
from starlette.requests import Request

from query.export.turns import Turns
from query.freshness import Watch
from query.lanes import Lanes
from query.positions import Positions
from query.set_aside import Gone
from query.snapshots import Shelf
from schemas.clock import Clock
from schemas.edge.identity import key_text, require_key
from schemas.edge.wear import Edge
from schemas.plans import Group
from schemas.registry import Follower, Key, Snapshot, Store


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
    turns: Turns
    seconds: float
    clock: Clock
    apps: Sequence[str] = ()
    """Schemes of apps to which links may lead."""

    @property
    def registry(self) -> Snapshot:
        return self.follower.snapshot

    def admit(self, request: Request, scope: str, group: Group, *others: str) -> Key:
        """The key that asks, counted against its organization's allowance.

        It needs the scope, or one of the others.
        """
        text = key_text(request.headers.get)
        key = require_key(self.registry, text, scope, self.clock(), *others)
        self.count(request, key, group)
        return key

    def admit_anyone(self, request: Request) -> None:
        """A request that needs no key, counted against the public allowance of its address."""
        edge: Edge = request.scope["app"]
        edge.admit_stranger(request.scope)

    def count(self, request: Request, key: Key, group: Group) -> None:
        """Count one more request of the key's organization; LimitExceeded when none is left."""
        edge: Edge = request.scope["app"]
        edge.admit(request.scope, self.registry.organizations[key.organization_id], group)
