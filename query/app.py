"""The query service as one ASGI application: routes, dependencies, errors."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

from msgspec import Struct
from starlette.routing import Route, Router

import query.export.endpoint
import query.export.person
from query.custom import table_catalogue
from query.dependencies import QueryDependencies, QueryEndpoint
from query.docs.dashboard import PAGE_FOLDER, Dashboard, read_page
from query.docs.openapi import describe_api
from query.docs.pages import PAGES
from query.endpoints import custom, explain, metrics, standard
from query.engine.damaged_files import DamagedFiles
from query.engine.data_file_source import data_file_source
from query.engine.engine_choice import LargeQueries
from query.engine.freshness import FreshnessTracker
from query.engine.live_views import LiveViews
from query.engine.pools import ROW_MEMORY_FACTOR, custom_limits, open_pool, standard_limits
from query.engine.quarantine import LostMessages
from query.engine.snapshots import SnapshotCache
from query.engine.table_offsets import TableOffsets
from query.engine.tenant_limits import ExportLimiter, TenantLimiter
from query.engine.topic_watermarks import TopicWatermarks
from query.metrics import catalogue as metrics_catalogue
from query.notify.deliver import Deliveries
from query.notify.reports_due import ReportsDue
from query.notify.rules import Alerts
from query.notify.run import Notifier
from query.prepared.erased_copies import ErasedCopies
from query.prepared.prepared_results import PreparedResults, prepared_results
from query.resources import endpoints
from query.resources.readiness import ReadinessProbe
from query.resources.shared_dashboards import page_rules
from query.response.response_budget import ResponseMemory
from query.sign_in.access import people_access
from query.sign_in.oidc import OidcSignIn
from query.sign_in.session_cookie import holder_of_session_cookie
from query.sign_in.sign_ins import SignIns
from query.standard import type_catalogue
from query.standard.parsed_texts import parse_ahead
from schemas.errors import MethodNotAllowed
from schemas.http.asgi import AsgiEndpoint
from schemas.http.docs.pages import OPENAPI_PATH, openapi_endpoint
from schemas.http.docs.root_page import OtherService, ServiceOverview, root_page
from schemas.http.error_bodies import query_error
from schemas.http.health import HEALTH_PATHS as HEALTH
from schemas.http.health import Drain, HealthCheck, health_endpoint, until_ready
from schemas.http.http_requests import HttpRequests, routes
from schemas.http.limit_counts import LimitUsage
from schemas.http.limits import RateLimiter
from schemas.http.middleware import HttpMiddleware
from schemas.http.openapi import usage_by_path
from schemas.http.unknown_records import reread_for_unknown
from schemas.lake.committed_offsets import SNAPSHOT_MAX_AGE_SECONDS
from schemas.lake.retention import table_retention
from schemas.registry import Backups, RegistryFollower, RegistryStore
from schemas.registry.keep_days import KeepBounds
from schemas.runtime.app_schemes import parse_app_schemes
from schemas.runtime.clock import Clock, now_ms
from schemas.runtime.networks import parse_networks
from schemas.runtime.service_urls import public_collector_url
from schemas.runtime.settings import Settings
from schemas.runtime.sign_in_access import oidc_access, proxy_header, sign_up_rules
from schemas.runtime.uploads import UploadLimits

STANDARD_CONCURRENCY, CUSTOM_CONCURRENCY = 3, 2
"""Concurrent queries of one organization: one fewer than the pool runs, so that others get in."""

ENDPOINTS: tuple[QueryEndpoint, ...] = (
    *standard.ENDPOINTS,
    *metrics.ENDPOINTS,
    *metrics_catalogue.ENDPOINTS,
    *custom.ENDPOINTS,
    *explain.ENDPOINTS,
    *type_catalogue.ENDPOINTS,
    *table_catalogue.ENDPOINTS,
    *query.export.endpoint.ENDPOINTS,
    *query.export.person.ENDPOINTS,
    *endpoints.ENDPOINTS,
)
OPENAPI_SERVICE = describe_api(ENDPOINTS)

OVERVIEW = ServiceOverview(
    service="Tidemark query service",
    description="Answers queries about websites and short links over HTTP, by POST /v1/query "
    "with an API key.",
    links={
        "API page, with all query types": "/docs",
        "OpenAPI document": "/openapi.json",
        "Query types": "/v1/query/types?include_meta=true",
        "Python client": "/docs/tidemark_client.py",
        "Health": "/health",
    },
    readme={
        "First queries": "README.md, Try it",
        "Script tag and API key for a website": "README.md, Your own website",
        "The HTTP API": "query/REFERENCE.md",
    },
)


class QueryService(Struct, frozen=True):
    """The application with its readiness and shutdown."""

    app: HttpMiddleware
    problem: HealthCheck
    """Why it is not ready."""
    close: Callable[[], None]
    """Closes the engines; call it after the last request."""
    follower: RegistryFollower
    """Keeps the registry snapshot fresh while the application runs."""
    results: PreparedResults | None
    """Prepared results, unless they are switched off."""
    notifier: Notifier
    """Tells what alerts and reports have to tell."""
    dependencies: QueryDependencies


def create_app(
    settings: Settings,
    store: RegistryStore,
    name: str = "query-1",
    clock: Clock = now_ms,
    fresh_seconds: float = SNAPSHOT_MAX_AGE_SECONDS,
    endpoints: Sequence[QueryEndpoint] = ENDPOINTS,
    limiter: RateLimiter | None = None,
    page: Path = PAGE_FOLDER,
) -> QueryService:
    """The query service over lake and registry; without a `limiter` it counts alone."""
    limiter = limiter or RateLimiter()
    source = data_file_source(settings)
    damaged = DamagedFiles(settings.lake_url, settings.data, source)
    spill = settings.data / "spill" / name
    standard_pool = open_pool("standard", source, spill, standard_limits(settings), damaged)
    custom_pool = open_pool("custom", source, spill, custom_limits(settings), damaged)
    table_offsets = TableOffsets(settings.lake_url, settings.topic_prefix, settings.ingest_epoch)
    watermarks = TopicWatermarks(settings, table_offsets, clock)
    large = _large_queries(settings)
    results = prepared_results(settings, custom_pool, clock)
    dependencies = QueryDependencies(
        store=store,
        follower=RegistryFollower(store, Backups.for_settings(settings)),
        snapshots=SnapshotCache(
            settings.lake_url,
            clock,
            fresh_seconds,
            table_retention(settings).file_minutes,
            settings.query_seconds / 2,
        ),
        table_offsets=table_offsets,
        lost_messages=LostMessages(),
        freshness=FreshnessTracker(watermarks, clock),
        standard_limiter=TenantLimiter(standard_pool, STANDARD_CONCURRENCY, large),
        custom_limiter=TenantLimiter(custom_pool, CUSTOM_CONCURRENCY, large),
        damaged_files=damaged,
        export_limiter=ExportLimiter(),
        timeout_seconds=settings.query_seconds,
        response_memory=ResponseMemory(settings.answer_bytes),
        clock=clock,
        sign_ins=SignIns(store.sign_ins(), clock, settings.session_hours),
        limit_usage=LimitUsage(settings),
        live_views=LiveViews(settings.lake_url, clock),
        data_folder=settings.data,
        upload_limits=UploadLimits.of_settings(settings),
        collect_url=public_collector_url(settings),
        query_url=settings.query_url.rstrip("/"),
        oidc=_single_sign_on(settings),
        sign_up_rules=sign_up_rules(settings),
        proxy_header=proxy_header(settings),
        results=results,
        app_schemes=parse_app_schemes(settings.link_schemes),
        keep_bounds=KeepBounds.of_settings(settings),
        purge_days=settings.purge_days,
        stale_seconds=settings.registry_stale_hours * 3600 or inf,
        access=people_access(settings),
        webhook_networks=parse_networks(settings.webhook_networks),
    )
    notices = store.notices()
    notifier = Notifier(
        dependencies,
        notices,
        name,
        [Alerts(dependencies, notices).check_due, ReportsDue(dependencies, notices).write_due],
        Deliveries(dependencies, notices),
    )
    copies = ErasedCopies(lambda: dependencies.registry, dependencies.snapshots, source, results)
    probe = ReadinessProbe(dependencies, settings.data / "run")
    other = OtherService("Collector", settings.collect_port)
    drain = Drain()
    overview, dashboard = (
        root_page(OVERVIEW, settings.query_port, other),
        Dashboard(read_page(page), partial(page_rules, dependencies)),
    )
    router = Router(
        [
            *_routes(
                endpoints,
                dependencies,
                probe,
                drain,
                {
                    "limits": lambda: limiter.problem,
                    "proxies": lambda: app.untrusted_proxies.problem,
                },
            ),
            Route("/", AsgiEndpoint(dashboard.or_else(overview))),
        ],
        redirect_slashes=False,
        default=dashboard.respond,
        lifespan=_lifespan(
            probe.is_ready,
            dependencies.follower.run,
            dependencies.sign_ins.run,
            probe.run,
            watermarks.run,
            parse_ahead,
            copies.run,
            notifier.run,
            *([results.run] if results else []),
        ),
    )
    app = HttpMiddleware(
        router,
        query_error,
        limiter,
        clock,
        parse_networks(settings.trusted_proxies),
        address_header=settings.client_address_header,
    )
    app.is_https = settings.query_url.startswith("https://")
    app.drain = drain
    app.requests = HttpRequests(routes(paths_of(router)))
    app.reread_registry = reread_for_unknown(dependencies.follower, holder_of_session_cookie)
    app.usage = usage_by_path(endpoint.operation for endpoint in endpoints)

    def close() -> None:
        standard_pool.close()
        custom_pool.close()

    return QueryService(
        app, probe.lake_problem, close, dependencies.follower, results, notifier, dependencies
    )


def paths_of(router: Router) -> Sequence[str]:
    """The paths of its routes, with placeholders."""
    return [route.path for route in router.routes if isinstance(route, Route)]


def _large_queries(settings: Settings) -> LargeQueries | None:
    """The distributed engine of the settings, if they name one."""
    if settings.engine == "duckdb":
        return None
    from query.engine.trino.engine import trino_engine  # loads an HTTP client

    engine = trino_engine(settings.engine, ROW_MEMORY_FACTOR * settings.answer_bytes)
    return LargeQueries(engine, settings.engine_mb * 2**20)


def _single_sign_on(settings: Settings) -> OidcSignIn | None:
    """Single sign-on, if the settings name an identity provider; it is not asked yet."""
    access = oidc_access(settings)
    if access is None:
        return None
    from query.sign_in.oidc_provider import OidcProvider  # loads an HTTP client

    return OidcSignIn(OidcProvider(access), access)


def _routes(
    endpoints: Sequence[QueryEndpoint],
    dependencies: QueryDependencies,
    probe: ReadinessProbe,
    drain: Drain,
    spared: Mapping[str, HealthCheck],
) -> list[Route]:
    routes = [
        Route(
            endpoint.operation.path,
            partial(endpoint.handler, dependencies),
            methods=[endpoint.operation.method],
        )
        for endpoint in endpoints
    ]
    degraded = {
        "registry": probe.registry_problem,
        "dataFiles": dependencies.damaged_files.summary,
        "storing": probe.storage_problem,
        **spared,
    }
    health = health_endpoint(
        "query", {"lake": probe.lake_problem}, spared=degraded, stopping=drain.problem
    )
    checked = AsgiEndpoint(health)
    document = Route(OPENAPI_PATH, AsgiEndpoint(openapi_endpoint(partial(describe_api, endpoints))))
    pages = (Route(path, AsgiEndpoint(page)) for path, page in PAGES.items())
    fixed = [document, *pages, *(Route(path, checked) for path in HEALTH)]
    return [*routes, *_other_methods(endpoints), *fixed]


def _other_methods(endpoints: Sequence[QueryEndpoint]) -> list[Route]:
    """Routes for the other methods of each path: 405 with the allowed ones."""
    methods: dict[str, list[str]] = {}
    for operation in (endpoint.operation for endpoint in endpoints):
        allowed = "GET, HEAD" if operation.method == "GET" else operation.method
        methods.setdefault(operation.path, []).append(allowed)
    return [
        Route(path, AsgiEndpoint(method_not_allowed(", ".join(allowed))))
        for path, allowed in methods.items()
    ]


def method_not_allowed(methods: str) -> Callable[..., Any]:
    """An endpoint that rejects a request with the allowed methods."""

    async def endpoint(_scope: Any, _receive: Any, _send: Any) -> None:
        raise MethodNotAllowed(methods)

    return endpoint


def _lifespan(
    is_ready: Callable[[], bool], *background: Callable[[], Coroutine[Any, Any, None]]
) -> Any:
    @asynccontextmanager
    async def lifespan(_app: object) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(run()) for run in background]
        try:
            await until_ready(is_ready)
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    return lifespan
