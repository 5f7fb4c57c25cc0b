"""The query service as one ASGI application: routes, what they work with, and its failures."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router

from query import links
from query.custom.endpoint import custom
from query.desk import Desk
from query.duck import Bounds, DuckDB
from query.freshness import Watch
from query.snapshots import FRESH_SECONDS, Shelf
from query.standard.endpoint import standard
from schemas.clock import Clock, now_ms
from schemas.edge.address import networks
from schemas.edge.allowances import Limiter
from schemas.edge.bodies import of_query
from schemas.edge.health import ROUTES as HEALTH
from schemas.edge.health import health
from schemas.edge.wear import Edge
from schemas.failures import Unavailable
from schemas.registry import Follower, Store
from schemas.settings import Settings
from schemas.tables import EVENTS

Endpoint = Callable[[Desk, Request], Awaitable[Response]]

ROUTES: tuple[tuple[str, str, Endpoint], ...] = (
    ("POST", "/v1/query", standard),
    ("POST", "/v1/query/custom", custom),
    ("POST", "/v1/links", links.create),
    ("GET", "/v1/links", links.listed),
    ("GET", "/v1/links/{link_id}", links.show),
    ("PATCH", "/v1/links/{link_id}", links.update),
    ("DELETE", "/v1/links/{link_id}", links.delete),
)


class Service(Struct, frozen=True):
    """The application, and whether it can answer yet."""

    app: Edge
    ready: Callable[[], bool]


def create_app(
    settings: Settings, store: Store, clock: Clock = now_ms, fresh_seconds: float = FRESH_SECONDS
) -> Service:
    """The query service over the lake and the registry that the settings name."""
    pools = [_pool(settings, name) for name in ("standard", "custom")]
    desk = Desk(
        store=store,
        follower=Follower(store),
        shelf=Shelf(settings.lake_url, clock, fresh_seconds),
        watch=Watch(settings.data / "run", clock, settings.topic_prefix),
        standard=pools[0],
        custom=pools[1],
        seconds=settings.query_seconds,
        clock=clock,
    )
    look = Look(desk)
    router = Router(
        _routes(desk, look), redirect_slashes=False, lifespan=_lifespan(desk, look, pools)
    )
    limiter = Limiter(clock)
    app = Edge(router, of_query, limiter, clock, networks(settings.trusted_proxies))
    return Service(app, lambda: look.lake() is None)


class Look:
    """Looks at the lake every second, so that health never waits for a disk."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._said: str | None = "not looked at yet"

    def lake(self) -> str | None:
        """What is wrong with the lake."""
        return self._said

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await self.once()
            await asyncio.sleep(1.0)

    async def once(self) -> None:
        """Look now."""
        try:
            await self._desk.shelf.pin(EVENTS)
            self._said = None
        except Unavailable as unavailable:
            self._said = unavailable.message


def _pool(settings: Settings, name: str) -> DuckDB:
    bounds = Bounds(settings.query_memory_mb, settings.query_threads)
    return DuckDB(name, settings.lake_url, settings.data / "spill" / name, bounds)


def _routes(desk: Desk, look: Look) -> list[Route]:
    routes = [
        Route(path, partial(endpoint, desk), methods=[method]) for method, path, endpoint in ROUTES
    ]
    return [*routes, *(Route(path, Plain(health("query", {"lake": look.lake}))) for path in HEALTH)]


class Plain:
    """A plain ASGI endpoint as Starlette's routes want it: an instance, not a function."""

    def __init__(self, app: Callable[..., Any]) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._app(scope, receive, send)


def _lifespan(desk: Desk, look: Look, pools: list[DuckDB]) -> Any:
    @asynccontextmanager
    async def lifespan(_app: object) -> AsyncIterator[None]:
        following = [asyncio.create_task(desk.follower.run()), asyncio.create_task(look.run())]
        try:
            yield
        finally:
            for task in following:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
            for pool in pools:
                pool.close()

    return lifespan
