"""create_app: the collector as an ASGI application, with routes, middleware and health checks."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager

from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from ingest.dependencies import Dependencies, SnapshotSource
from ingest.endpoints.collect import collect, collect_operation
from ingest.endpoints.debug import DEBUG_OPERATION, DEBUG_PATH, debug
from ingest.endpoints.debug_log import error_recorder
from ingest.endpoints.import_events import IMPORT_OPERATION, import_events
from ingest.endpoints.mixed import mixed_endpoint
from ingest.endpoints.mixed_routes import MIXED_ROUTES
from ingest.endpoints.responses import CollectErrorBody, CollectRateLimitBody
from ingest.endpoints.robots import ROBOTS_OPERATIONS, ROBOTS_PATH, robots
from ingest.endpoints.scripts import SCRIPT_OPERATIONS, script_routes
from ingest.endpoints.wait_for_storage import wait_for_storage, with_wait
from ingest.links.click_queue import ClickQueue
from ingest.links.redirect import LINK_OPERATIONS, LINKS_PATH, redirect_endpoint
from ingest.publishing.acknowledged_counts import AcknowledgedCounter
from ingest.publishing.anonymous_id import AnonymousIds, DailySalts
from ingest.publishing.disk_floor import DiskFloor
from ingest.publishing.publish import Producer, Publisher
from ingest.publishing.recent_requests import RecentRequests
from ingest.publishing.storage_watch import StorageWatch
from schemas.http.client_ip import parse_header_names
from schemas.http.error_bodies import collect_error
from schemas.http.health import HEALTH_OPERATIONS, HEALTH_PATHS, health_endpoint, remembered
from schemas.http.middleware import HttpMiddleware
from schemas.http.openapi import ApiDescription
from schemas.http.openapi_endpoint import OPENAPI_PATH, openapi_endpoint
from schemas.http.rate_limit import LocalRateLimiter
from schemas.kinds import IMPORTED_EVENT, KINDS
from schemas.runtime.clock import Clock
from schemas.runtime.heartbeat import refusal_reason
from schemas.runtime.networks import parse_networks
from schemas.runtime.settings import Settings

FALLBACK_PATH = ""
"""Key of the application for unknown paths and for the ASGI lifespan."""

SALTS_FOLDER = "visitors"
"""Folder of the daily salts, inside the data folder."""

Lifespan = Callable[[object], AbstractAsyncContextManager[None]]
"""ASGI lifespan: starts background tasks and stops them."""


def create_app(
    producer: Producer,
    registry: SnapshotSource,
    clock: Clock,
    settings: Settings,
    lifespan: Lifespan | None = None,
    recent_requests: RecentRequests | None = None,
    clicks: ClickQueue | None = None,
    salts: DailySalts | None = None,
    disk_floor: DiskFloor | None = None,
    acknowledged_counter: AcknowledgedCounter | None = None,
) -> HttpMiddleware:
    """The collector as an ASGI application."""
    routes: dict[str, ASGIApp] = {}
    middleware = HttpMiddleware(
        dispatcher(routes),
        shape=collect_error,
        limiter=LocalRateLimiter(),
        clock=clock,
        trusted=parse_networks(settings.trusted_proxies),
        countries=parse_header_names(settings.country_headers),
        credentials=True,
    )
    recent_requests = recent_requests or RecentRequests()
    anonymous_ids = AnonymousIds(salts or DailySalts(settings.data / SALTS_FOLDER))
    acknowledged_counter = acknowledged_counter or AcknowledgedCounter(
        settings.data, "collector", clock
    )
    publisher = Publisher(producer, acknowledged_counter, settings.ingest_epoch, recent_requests)
    dependencies = Dependencies(middleware, registry, clock, anonymous_ids, publisher)
    disk_floor = disk_floor or DiskFloor(settings)
    checks = {
        "kafka": lambda: producer.unavailable_reason,
        "disk": lambda: disk_floor.unavailable_reason,
    }
    # The last snapshot is enough to accept items: these checks report, and make nothing unready.
    noncritical_checks = {
        "registry": lambda: registry.error,
        "storing": remembered(lambda: refusal_reason(settings.data / "run", clock())),
    }
    clicks = clicks or ClickQueue(producer)
    counts = {
        "clicksWaiting": lambda: clicks.waiting,
        "clicksLost": lambda: clicks.lost,
        "clicksUnknown": lambda: clicks.unknown,
    }
    storage_watch = StorageWatch(settings)
    collect_endpoints = {kind.path: collect(kind, dependencies) for kind in KINDS if kind.path}
    collect_endpoints |= {
        route.operation.path: mixed_endpoint(route, dependencies) for route in MIXED_ROUTES
    }
    routes.update(
        {path: wait_for_storage(app, storage_watch) for path, app in collect_endpoints.items()}
    )
    middleware.on_error = error_recorder(dependencies, collect_endpoints)
    routes[DEBUG_PATH] = debug(dependencies)
    routes[IMPORTED_EVENT.path] = import_events(dependencies)
    routes.update(
        dict.fromkeys(
            HEALTH_PATHS, health_endpoint("collector", checks, counts, noncritical_checks)
        )
    )
    routes[OPENAPI_PATH] = openapi_endpoint(collector_api)
    routes.update(script_routes())
    routes[LINKS_PATH] = redirect_endpoint(dependencies, clicks)
    routes[ROBOTS_PATH] = robots
    routes[FALLBACK_PATH] = Router(redirect_slashes=False, lifespan=lifespan)
    return middleware


def dispatcher(routes: Mapping[str, ASGIApp]) -> ASGIApp:
    """Routes by exact path; every path under /l/ goes to the redirect endpoint."""

    async def dispatch(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", FALLBACK_PATH)
        endpoint = (
            routes.get(path) or routes[LINKS_PATH if path.startswith(LINKS_PATH) else FALLBACK_PATH]
        )
        await endpoint(scope, receive, send)

    return dispatch


def collector_api() -> ApiDescription:
    """The collector's OpenAPI description."""
    collect_operations = (
        *(collect_operation(kind) for kind in KINDS if kind.path),
        *(route.operation for route in MIXED_ROUTES),
    )
    return ApiDescription(
        title="Tidemark: collection",
        description="Accepts events, web vitals and errors from trackers and servers. "
        "Every response has X-RateLimit headers.",
        operations=(
            *map(with_wait, collect_operations),
            IMPORT_OPERATION,
            DEBUG_OPERATION,
            *LINK_OPERATIONS,
            *ROBOTS_OPERATIONS,
            *SCRIPT_OPERATIONS,
            *HEALTH_OPERATIONS,
        ),
        error_body=CollectErrorBody,
        rate_limit_body=CollectRateLimitBody,
        security_schemes={
            "website": {"type": "apiKey", "in": "query", "name": "website_id"},
            "client": {"type": "apiKey", "in": "query", "name": "client_id"},
        },
    )
