"""create_app: one route per kind, the redirect, the health of the collector."""

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
"""Where everything goes that has no path of its own, the lifespan too."""

SALTS_FOLDER = "visitors"
"""Folder in the data folder with the secrets of the days."""

Lifespan = Callable[[object], AbstractAsyncContextManager[None]]
"""What lives as long as the application does."""


def create_app(
    outbox: Producer,
    registry: SnapshotSource,
    clock: Clock,
    settings: Settings,
    lifespan: Lifespan | None = None,
    recent: RecentRequests | None = None,
    clicks: ClickQueue | None = None,
    secrets: DailySalts | None = None,
    disk: DiskFloor | None = None,
    acknowledged: AcknowledgedCounter | None = None,
) -> HttpMiddleware:
    """The collector as an ASGI application."""
    routes: dict[str, ASGIApp] = {}
    edge = HttpMiddleware(
        dispatcher(routes),
        shape=collect_error,
        limiter=LocalRateLimiter(),
        clock=clock,
        trusted=parse_networks(settings.trusted_proxies),
        countries=parse_header_names(settings.country_headers),
        credentials=True,
    )
    recent = recent or RecentRequests()
    visitors = AnonymousIds(secrets or DailySalts(settings.data / SALTS_FOLDER))
    acknowledged = acknowledged or AcknowledgedCounter(settings.data, "collector", clock)
    publisher = Publisher(outbox, acknowledged, settings.ingest_epoch, recent)
    desk = Dependencies(edge, registry, clock, visitors, publisher)
    disk = disk or DiskFloor(settings)
    checks = {"kafka": lambda: outbox.unavailable_reason, "disk": lambda: disk.unavailable_reason}
    # Items are taken by the last snapshot: unready collectors would lose what they can take.
    spared = {
        "registry": lambda: registry.error,
        "storing": remembered(lambda: refusal_reason(settings.data / "run", clock())),
    }
    clicks = clicks or ClickQueue(outbox)
    counts = {
        "clicksWaiting": lambda: clicks.waiting,
        "clicksLost": lambda: clicks.lost,
        "clicksUnknown": lambda: clicks.unknown,
    }
    waits = StorageWatch(settings)
    collecting = {kind.path: collect(kind, desk) for kind in KINDS if kind.path}
    collecting |= {route.operation.path: mixed_endpoint(route, desk) for route in MIXED_ROUTES}
    routes.update({path: wait_for_storage(app, waits) for path, app in collecting.items()})
    edge.on_error = error_recorder(desk, collecting)
    routes[DEBUG_PATH] = debug(desk)
    routes[IMPORTED_EVENT.path] = import_events(desk)
    routes.update(dict.fromkeys(HEALTH_PATHS, health_endpoint("collector", checks, counts, spared)))
    routes[OPENAPI_PATH] = openapi_endpoint(collector_api)
    routes.update(script_routes())
    routes[LINKS_PATH] = redirect_endpoint(desk, clicks)
    routes[ROBOTS_PATH] = robots
    routes[FALLBACK_PATH] = Router(redirect_slashes=False, lifespan=lifespan)
    return edge


def dispatcher(routes: Mapping[str, ASGIApp]) -> ASGIApp:
    """Looks a path up; under /l/ is one endpoint."""

    async def dispatch(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", FALLBACK_PATH)
        found = (
            routes.get(path) or routes[LINKS_PATH if path.startswith(LINKS_PATH) else FALLBACK_PATH]
        )
        await found(scope, receive, send)

    return dispatch


def collector_api() -> ApiDescription:
    """What the collector is."""
    collecting = (
        *(collect_operation(kind) for kind in KINDS if kind.path),
        *(route.operation for route in MIXED_ROUTES),
    )
    return ApiDescription(
        title="Tidemark: collection",
        description="Takes events, web vitals and errors from trackers and servers. "
        "Every answer says how many requests are left.",
        operations=(
            *map(with_wait, collecting),
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
