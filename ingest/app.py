"""create_app: one route per kind, the redirect, the health of the collector."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager

from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from ingest.dependencies import Desk, Outbox, Registry
from ingest.endpoints.collect import collect
from ingest.endpoints.debug import DEBUG, debug
from ingest.endpoints.debug_log import refusals
from ingest.endpoints.import_events import history
from ingest.endpoints.mixed import mixed
from ingest.endpoints.mixed_routes import MIXED
from ingest.endpoints.openapi import service
from ingest.endpoints.robots import ROBOTS, robots
from ingest.endpoints.scripts import routes as scripts
from ingest.endpoints.wait_for_storage import waiting
from ingest.links.click_queue import Clicks
from ingest.links.redirect import LINKS, links
from ingest.publishing.acknowledged_counts import Acknowledgements
from ingest.publishing.anonymous_id import DailySecrets
from ingest.publishing.disk_floor import DiskFloor
from ingest.publishing.recent_requests import Recent
from ingest.publishing.storage_watch import Waits
from ingest.visitor import Visitors
from schemas.http.client_ip import header_names, networks
from schemas.http.error_bodies import of_collect
from schemas.http.health import ROUTES, health, remembered
from schemas.http.middleware import Edge
from schemas.http.openapi_endpoint import OPENAPI, described
from schemas.http.rate_limit import LocalRateLimiter
from schemas.kinds import HISTORY, KINDS
from schemas.runtime.clock import Clock
from schemas.runtime.heartbeat import refusal
from schemas.runtime.settings import Settings

ELSE = ""
"""Where everything goes that has no path of its own, the lifespan too."""

SECRETS = "visitors"
"""Folder in the data folder with the secrets of the days."""

Lifespan = Callable[[object], AbstractAsyncContextManager[None]]
"""What lives as long as the application does."""


def create_app(
    outbox: Outbox,
    registry: Registry,
    clock: Clock,
    settings: Settings,
    lifespan: Lifespan | None = None,
    recent: Recent | None = None,
    clicks: Clicks | None = None,
    secrets: DailySecrets | None = None,
    disk: DiskFloor | None = None,
    acknowledged: Acknowledgements | None = None,
) -> Edge:
    """The collector as an ASGI application."""
    routes: dict[str, ASGIApp] = {}
    edge = Edge(
        dispatcher(routes),
        shape=of_collect,
        limiter=LocalRateLimiter(),
        clock=clock,
        trusted=networks(settings.trusted_proxies),
        countries=header_names(settings.country_headers),
        credentials=True,
    )
    recent = recent or Recent()
    visitors = Visitors(secrets or DailySecrets(settings.data / SECRETS))
    acknowledged = acknowledged or Acknowledgements(settings.data, "collector", clock)
    desk = Desk(
        edge, outbox, registry, clock, visitors, acknowledged, settings.ingest_epoch, recent
    )
    disk = disk or DiskFloor(settings)
    checks = {"kafka": lambda: outbox.refusing, "disk": lambda: disk.refusing}
    # Items are taken by the last snapshot: unready collectors would lose what they can take.
    spared = {
        "registry": lambda: registry.trouble,
        "storing": remembered(lambda: refusal(settings.data / "run", clock())),
    }
    clicks = clicks or Clicks(outbox)
    counts = {
        "clicksWaiting": lambda: clicks.waiting,
        "clicksLost": lambda: clicks.lost,
        "clicksUnknown": lambda: clicks.unknown,
    }
    waits = Waits(settings)
    collecting = {kind.path: collect(kind, desk) for kind in KINDS if kind.path}
    collecting |= {route.path: mixed(route, desk) for route in MIXED}
    routes.update({path: waiting(app, waits) for path, app in collecting.items()})
    edge.on_refusal = refusals(desk, collecting)
    routes[DEBUG] = debug(desk)
    routes[HISTORY.path] = history(desk)
    routes.update(dict.fromkeys(ROUTES, health("collector", checks, counts, spared)))
    routes[OPENAPI] = described(service)
    routes.update(scripts())
    routes[LINKS] = links(desk, clicks)
    routes[ROBOTS] = robots
    routes[ELSE] = Router(redirect_slashes=False, lifespan=lifespan)
    return edge


def dispatcher(routes: Mapping[str, ASGIApp]) -> ASGIApp:
    """Looks a path up; under /l/ is one endpoint."""

    async def dispatch(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", ELSE)
        found = routes.get(path) or routes[LINKS if path.startswith(LINKS) else ELSE]
        await found(scope, receive, send)

    return dispatch
