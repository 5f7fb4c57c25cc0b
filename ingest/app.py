"""create_app: the collector as an ASGI application, with routes, middleware and health checks."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial

from msgspec import Struct
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from ingest.decoding.limits import BODY_TIMEOUT_SECONDS, MAX_BODY_BYTES
from ingest.dependencies import CollectorEndpoint, Dependencies, SnapshotSource
from ingest.endpoints.collect import collect_endpoint
from ingest.endpoints.debug import DEBUG_ENDPOINT, error_recorder
from ingest.endpoints.import_events import IMPORT_ENDPOINT, IMPORTS_BUSY
from ingest.endpoints.mixed import MIXED_ENDPOINTS
from ingest.endpoints.protocols import PROTOCOL_ENDPOINTS
from ingest.endpoints.responses import CollectErrorBody, CollectRateLimitBody
from ingest.endpoints.robots import ROBOTS_ENDPOINT
from ingest.endpoints.scripts import SCRIPT_OPERATIONS, script_routes
from ingest.links.redirect import LINKS_ENDPOINT
from ingest.peers.messages import Peers
from ingest.protocols.protocol import Claim
from ingest.publishing.acknowledged_counts import AcknowledgedCounter
from ingest.publishing.anonymous_id import AnonymousIds, DailySalts
from ingest.publishing.click_queue import ClickQueue
from ingest.publishing.clock_offsets import ClockOffsets
from ingest.publishing.disk_floor import DiskFloor
from ingest.publishing.publish import Producer, Publisher
from ingest.publishing.recent_requests import RecentRequests
from ingest.publishing.spooling_producer import SpoolingProducer
from ingest.publishing.storage_watch import StorageWatch
from ingest.publishing.tee import Tee
from ingest.publishing.throttle import CpuThrottle
from schemas.errors import MethodNotAllowed
from schemas.http.asgi import read_body
from schemas.http.client_ip import parse_header_names
from schemas.http.docs.pages import OPENAPI_PATH, api_pages, openapi_endpoint
from schemas.http.docs.root_page import ROOT_OPERATION, OtherService, ServiceOverview, root_page
from schemas.http.error_bodies import collect_error
from schemas.http.health import HEALTH_OPERATIONS, HEALTH_PATHS, health_endpoint, remembered
from schemas.http.http_requests import HttpRequests
from schemas.http.http_requests import routes as metric_routes
from schemas.http.limits import RateLimiter
from schemas.http.middleware import HttpMiddleware
from schemas.http.openapi import ApiDescription, usage_by_path
from schemas.http.unknown_records import reread_for_unknown
from schemas.kinds import KINDS
from schemas.runtime.clock import Clock
from schemas.runtime.heartbeat import refusal_reason
from schemas.runtime.networks import parse_networks
from schemas.runtime.settings import Settings

FALLBACK_PATH = ""
"""Key of the application for unknown paths and for the ASGI lifespan."""

SALTS_FOLDER = "visitors"
"""Folder of the daily salts, inside the data folder."""

COLLECT_ENDPOINTS: tuple[CollectorEndpoint, ...] = (
    *(collect_endpoint(kind) for kind in KINDS if kind.path),
    *MIXED_ENDPOINTS,
)
ENDPOINTS: tuple[CollectorEndpoint, ...] = (
    *COLLECT_ENDPOINTS,
    IMPORT_ENDPOINT,
    DEBUG_ENDPOINT,
    LINKS_ENDPOINT,
    ROBOTS_ENDPOINT,
    *PROTOCOL_ENDPOINTS,
)

API_TITLE = "Tidemark Collection API"

OVERVIEW = ServiceOverview(
    service="Tidemark collector",
    description="Accepts events, page views, web vitals, errors and link clicks over HTTP, for "
    "example by POST /track.",
    links={
        "API page": "/docs",
        "OpenAPI document": "/openapi.json",
        "Tracker script": "/tidemark.js",
        "Health": "/health",
    },
    readme={
        "Script tag and API key for a website": "README.md, Your own website",
        "Events, web vitals and errors of pages": "ingest/web/README.md",
        "Requests without a browser": "ingest/curl.md",
    },
)

Lifespan = Callable[[object], AbstractAsyncContextManager[None]]
"""ASGI lifespan: starts background tasks and stops them."""


class Collector(Struct, frozen=True):
    """The parts of one collector process, made at start."""

    settings: Settings
    clock: Clock
    registry: SnapshotSource
    producer: Producer
    clicks: ClickQueue
    salts: DailySalts
    disk_floor: DiskFloor
    acknowledged_counter: AcknowledgedCounter
    recent_requests: RecentRequests
    limiter: RateLimiter
    peers: Peers
    tee: Tee
    spool: SpoolingProducer | None = None
    """The producer, if it spools requests while Kafka is away."""


def create_app(
    collector: Collector,
    endpoints: Sequence[CollectorEndpoint] = ENDPOINTS,
    lifespan: Lifespan | None = None,
) -> HttpMiddleware:
    """The collector as an ASGI application."""
    settings, clock, registry = collector.settings, collector.clock, collector.registry
    producer, clicks = collector.producer, collector.clicks
    routes: dict[str, ASGIApp] = {}
    prefixes = tuple(
        path for endpoint in endpoints if endpoint.serves_paths_below for path in endpoint.paths
    )
    middleware = HttpMiddleware(
        dispatcher(routes, prefixes),
        shape=collect_error,
        limiter=collector.limiter,
        clock=clock,
        trusted=parse_networks(settings.trusted_proxies),
        countries=parse_header_names(settings.country_headers),
        address_header=settings.client_address_header,
        credentials=True,
    )
    middleware.reread_registry = reread_for_unknown(registry)
    dependencies = Dependencies(
        middleware,
        registry,
        clock,
        AnonymousIds(collector.salts),
        ClockOffsets(),
        Publisher(
            producer,
            collector.acknowledged_counter,
            settings.ingest_epoch,
            collector.recent_requests,
        ),
        clicks,
        StorageWatch(settings),
        collector.peers,
        collector.tee,
        CpuThrottle(IMPORTS_BUSY),
    )
    checks = {
        "kafka": lambda: producer.unavailable_reason,
        "disk": lambda: collector.disk_floor.unavailable_reason,
    }
    # The last snapshot is enough to accept items: these checks report, and make nothing unready.
    noncritical_checks = {
        "partitions": lambda: producer.partition_problem,
        "registry": lambda: registry.error,
        "limits": lambda: collector.limiter.problem,
        "proxies": lambda: middleware.untrusted_proxies.problem,
        "storing": remembered(lambda: refusal_reason(settings.data / "run", clock())),
    }
    counts = {
        "clicksWaiting": lambda: clicks.waiting,
        "clicksLost": lambda: clicks.lost,
        "clicksUnknown": lambda: clicks.unknown,
    }
    if (spool := collector.spool) is not None:
        checks["spool"] = checks.pop("kafka")
        noncritical_checks["kafka"] = lambda: spool.kafka_problem
        counts["spooledRequests"] = lambda: spool.spool.requests
        counts["spooledBytes"] = lambda: spool.spool.bytes
    middleware.on_error = error_recorder(
        dependencies, {path for endpoint in COLLECT_ENDPOINTS for path in endpoint.paths}
    )
    for endpoint in endpoints:
        app = endpoint.app(dependencies)
        for path in endpoint.paths:
            usual = routes.get(path)
            if usual is None or endpoint.claim is None:
                routes[path] = app
            else:
                routes[path] = claimed(endpoint.claim, app, usual)
    routes.update(
        dict.fromkeys(
            HEALTH_PATHS,
            health_endpoint(
                "collector", checks, counts, noncritical_checks, middleware.drain.problem
            ),
        )
    )
    routes[OPENAPI_PATH] = openapi_endpoint(partial(collector_api, endpoints))
    routes.update(script_routes())
    routes.update(api_pages(API_TITLE))
    overview = root_page(
        OVERVIEW, settings.collect_port, OtherService("Query service", settings.query_port)
    )
    routes["/"] = get_or_post(overview, routes["/"]) if "/" in routes else overview
    middleware.requests = HttpRequests(metric_routes([*routes, "/"], prefixes))
    middleware.usage = usage_by_path(collector_api(endpoints).operations)
    routes[FALLBACK_PATH] = Router(redirect_slashes=False, lifespan=lifespan)
    return middleware


def dispatcher(routes: Mapping[str, ASGIApp], prefixes: Sequence[str]) -> ASGIApp:
    """Routes by exact path, then by the prefixes whose endpoints serve every path below."""

    # No coroutine of its own, as every request goes through it.
    def dispatch(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        path = scope.get("path", FALLBACK_PATH)
        endpoint = routes.get(path)
        if endpoint is None:
            prefix = next((prefix for prefix in prefixes if path.startswith(prefix)), FALLBACK_PATH)
            endpoint = routes[prefix]
        return endpoint(scope, receive, send)

    return dispatch


def claimed(claim: Claim, app: ASGIApp, usual: ASGIApp) -> ASGIApp:
    """Routes the claimed requests to an application, all others to the usual one."""
    by_head, by_body = claim.by_head, claim.by_body

    # No coroutine for requests that are not claimed: nearly all are not.
    def dispatch(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if not by_head(scope):
            return usual(scope, receive, send)
        if by_body is None or scope["method"] != "POST":
            return app(scope, receive, send)
        return dispatch_by_body(by_body, scope, receive, send)

    async def dispatch_by_body(
        claims_body: Callable[[bytes], bool], scope: Scope, receive: Receive, send: Send
    ) -> None:
        body = await read_body(scope, receive, MAX_BODY_BYTES, BODY_TIMEOUT_SECONDS)
        await (app if claims_body(body) else usual)(scope, receive, send)

    return dispatch


def get_or_post(get: ASGIApp, post: ASGIApp) -> ASGIApp:
    """Routes GET and HEAD to one endpoint, POST to the other."""

    async def dispatch(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "POST":
            await post(scope, receive, send)
        elif scope["method"] in ("GET", "HEAD"):
            await get(scope, receive, send)
        else:
            raise MethodNotAllowed("GET, HEAD, POST")

    return dispatch


def collector_api(endpoints: Sequence[CollectorEndpoint] = ENDPOINTS) -> ApiDescription:
    """The collector's OpenAPI description."""
    return ApiDescription(
        title=API_TITLE,
        description="Accepts events, web vitals and errors from trackers and servers. "
        "Every response has X-RateLimit headers.",
        operations=(
            *(operation for endpoint in endpoints for operation in endpoint.operations),
            *SCRIPT_OPERATIONS,
            *HEALTH_OPERATIONS,
            ROOT_OPERATION,
        ),
        error_body=CollectErrorBody,
        rate_limit_body=CollectRateLimitBody,
        security_schemes={
            "website": {"type": "apiKey", "in": "query", "name": "website_id"},
            "client": {"type": "apiKey", "in": "query", "name": "client_id"},
        },
    )
