"""The query service as one ASGI application: routes, what they work with, and its failures."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from math import inf
from shutil import rmtree
from typing import Any

from msgspec import Struct, structs
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router

from query.custom.endpoint import custom
from query.custom.explain import explain
from query.custom.table_catalogue import tables
from query.dependencies import Desk
from query.docs.openapi import SERVICE
from query.docs.pages import PAGES
from query.engine.damaged_files import DamagedFiles
from query.engine.duckdb_engine import Bounds, DuckDB
from query.engine.export_limits import Turns
from query.engine.freshness import Watch
from query.engine.quarantine import Gone
from query.engine.snapshots import Shelf
from query.engine.table_offsets import Positions
from query.engine.tenant_limits import Lanes
from query.export.endpoint import export
from query.resources import imports, links
from query.resources.readiness import Look
from query.resources.receipts import look_up
from query.response.response_budget import AnswerMemory
from query.standard.endpoint import standard
from query.standard.type_catalogue import types
from schemas.errors import WrongMethod
from schemas.http.client_ip import networks
from schemas.http.error_bodies import of_query
from schemas.http.health import ROUTES as HEALTH
from schemas.http.health import health
from schemas.http.middleware import Edge
from schemas.http.openapi_endpoint import OPENAPI, described
from schemas.http.rate_limit import LocalRateLimiter
from schemas.lake.committed_offsets import FRESH_SECONDS
from schemas.registry import Backups, Follower, Store
from schemas.registry.link_validation import app_schemes
from schemas.runtime.clock import Clock, now_ms
from schemas.runtime.settings import Settings

STANDARD_AT_ONCE, CUSTOM_AT_ONCE = 3, 2
"""Questions of one organization: one fewer than run at once in the pool, so that others get in."""

ROWS_OF_ANSWER = 4
"""What rows may take while they are shaped: so many times the bytes that an answer may have."""

Endpoint = Callable[[Desk, Request], Awaitable[Response]]

ROUTES: tuple[tuple[str, str, Endpoint], ...] = (
    ("POST", "/v1/query", standard),
    ("GET", "/v1/query/types", types),
    ("POST", "/v1/query/custom", custom),
    ("GET", "/v1/query/tables", tables),
    ("POST", "/v1/query/compile", explain),
    ("GET", "/v1/export/{table}", export),
    ("GET", "/v1/receipts/{receipt}", look_up),
    ("POST", "/v1/links", links.create),
    ("GET", "/v1/links", links.listed),
    ("GET", "/v1/links/{link_id}", links.show),
    ("PATCH", "/v1/links/{link_id}", links.update),
    ("DELETE", "/v1/links/{link_id}", links.delete),
    ("POST", "/v1/imports", imports.create),
    ("GET", "/v1/imports", imports.listed),
    ("GET", "/v1/imports/{import_id}", imports.show),
    ("DELETE", "/v1/imports/{import_id}", imports.undo),
)


class Service(Struct, frozen=True):
    """The application, and whether it can answer yet."""

    app: Edge
    ready: Callable[[], bool]
    close: Callable[[], None]
    """Lets go of the engines, once nothing is asked any more."""
    follower: Follower
    """Keeps what is known of the registry fresh, while the application lives."""


def create_app(
    settings: Settings,
    store: Store,
    name: str = "query-1",
    clock: Clock = now_ms,
    fresh_seconds: float = FRESH_SECONDS,
) -> Service:
    """The query service over the lake and the registry that the settings name."""
    damaged = DamagedFiles(settings.lake_url, settings.data)
    standard_pool = _pool(settings, name, "standard", _standard(settings), damaged)
    custom_pool = _pool(settings, name, "custom", _custom(settings), damaged)
    desk = Desk(
        store=store,
        follower=Follower(store, Backups.of(settings)),
        shelf=Shelf(settings.lake_url, clock, fresh_seconds, settings.tombstone_minutes),
        positions=Positions(settings.lake_url, settings.topic_prefix, settings.ingest_epoch),
        gone=Gone(),
        watch=Watch(settings.data / "run", clock, settings.topic_prefix),
        standard=Lanes(standard_pool, STANDARD_AT_ONCE),
        custom=Lanes(custom_pool, CUSTOM_AT_ONCE),
        damaged=damaged,
        turns=Turns(),
        seconds=settings.query_seconds,
        memory=AnswerMemory(settings.answer_bytes),
        clock=clock,
        apps=app_schemes(settings.link_schemes),
        stale_seconds=settings.registry_stale_hours * 3600 or inf,
    )
    look = Look(desk, settings.data / "run")
    router = Router(_routes(desk, look), redirect_slashes=False, lifespan=_lifespan(desk, look))
    app = Edge(router, of_query, LocalRateLimiter(), clock, networks(settings.trusted_proxies))

    def close() -> None:
        standard_pool.close()
        custom_pool.close()

    return Service(app, look.ready, close, desk.follower)


def _standard(settings: Settings) -> Bounds:
    return Bounds(
        settings.query_memory_mb,
        settings.query_threads,
        at_once=4,
        rows_bytes=ROWS_OF_ANSWER * settings.answer_bytes,
    )


def _custom(settings: Settings) -> Bounds:
    """Its threads give way: what anybody may write never slows what everybody looks at."""
    return structs.replace(_standard(settings), at_once=3, nice=10)


def _pool(
    settings: Settings, process: str, pool: str, bounds: Bounds, damaged: DamagedFiles
) -> DuckDB:
    spill = settings.data / "spill" / process / pool
    rmtree(spill, ignore_errors=True)  # of a process of that name that was killed
    return DuckDB(pool, settings.lake_url, spill, bounds, damaged)


def _routes(desk: Desk, look: Look) -> list[Route]:
    routes = [
        Route(path, partial(endpoint, desk), methods=[method]) for method, path, endpoint in ROUTES
    ]
    spared = {
        "registry": look.registry,
        "dataFiles": desk.damaged.summary,
        "storing": look.storing,
    }
    checked = Plain(health("query", {"lake": look.lake}, spared=spared))
    document = Route(OPENAPI, Plain(described(lambda: SERVICE)))
    fixed = [document, *PAGES, *(Route(path, checked) for path in HEALTH)]
    return [*routes, *_other_methods(), *fixed]


def _other_methods() -> list[Route]:
    """What is left of each path of ROUTES: its methods are named, all of them."""
    methods: dict[str, list[str]] = {}
    for method, path, _ in ROUTES:
        methods.setdefault(path, []).append("GET, HEAD" if method == "GET" else method)
    return [Route(path, Plain(takes(", ".join(named)))) for path, named in methods.items()]


def takes(methods: str) -> Callable[..., Any]:
    """An endpoint that says which methods its route takes."""

    async def endpoint(_scope: Any, _receive: Any, _send: Any) -> None:
        raise WrongMethod(methods)

    return endpoint


class Plain:
    """A plain ASGI endpoint as Starlette's routes want it: an instance, not a function."""

    def __init__(self, app: Callable[..., Any]) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._app(scope, receive, send)


def _lifespan(desk: Desk, look: Look) -> Any:
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

    return lifespan
