"""Dependencies of the endpoints; authentication, rate limit, registry access."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from math import inf
from pathlib import Path
from typing import TypeVar

from msgspec import Struct, field
from starlette.requests import Request
from starlette.responses import Response

from query.engine.damaged_files import DamagedFiles
from query.engine.freshness import FreshnessTracker
from query.engine.live_views import LiveViews
from query.engine.quarantine import LostMessages
from query.engine.snapshots import SnapshotCache
from query.engine.table_offsets import TableOffsets
from query.engine.tenant_limits import MAX_ACTIVE, ExportLimiter, TenantLimiter, TenantSlots
from query.prepared.prepared_results import PreparedResults
from query.response.large_response import cancelled_on_disconnect
from query.response.response_budget import ResponseBudget, ResponseMemory
from query.sign_in.access import PeopleAccess
from query.sign_in.oidc import OidcSignIn
from query.sign_in.proxy_header import email_from_proxy
from query.sign_in.share_access import ShareKey, is_share_access, key_of_access
from query.sign_in.sign_ins import ENDED, SignIns
from schemas.errors import (
    ApiError,
    DataDamaged,
    Forbidden,
    Malformed,
    NotAcceptable,
    PayloadTooLarge,
    QueryTimeout,
    QueryTooHeavy,
    RateLimitExceeded,
    RequestTimeout,
    ResultTooLarge,
    Unauthorized,
    Unavailable,
    VersionGone,
)
from schemas.http.admission import LimitHolder
from schemas.http.asgi import header
from schemas.http.auth import KEY_REQUIRED, find_key, read_api_key, require_scope
from schemas.http.limit_counts import LimitUsage
from schemas.http.middleware import HttpMiddleware
from schemas.http.openapi import Operation
from schemas.plans import Group
from schemas.registry import (
    DatabaseError,
    Key,
    RegistryFollower,
    RegistryStore,
    Snapshot,
    first_line,
)
from schemas.registry.keep_days import KeepBounds
from schemas.registry.people import PersonKey, actor_of
from schemas.registry.sign_ins import Way
from schemas.runtime.clock import Clock
from schemas.runtime.networks import Networks
from schemas.runtime.sign_in_access import ProxyHeader, SignUpRules
from schemas.runtime.uploads import UploadLimits

log = logging.getLogger(__name__)

T = TypeVar("T")

NOT_SHARED = (
    "A shared dashboard has no access to this; it may ask POST /v1/query, POST /v1/query/metrics "
    "and GET /v1/me"
)
REGISTRY_SECONDS, REGISTRY_THREADS = 5.0, 4
REGISTRY_SILENT = "The registry does not answer; a change may still be made. Retry later"
STALE_REGISTRY = "The registry has been unreachable for too long to verify API keys; retry"


class QueryDependencies(Struct, frozen=True):
    """What endpoints are given at start."""

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
    sign_ins: SignIns
    limit_usage: LimitUsage
    live_views: LiveViews
    parsing: TenantSlots = field(default_factory=partial(TenantSlots, 1))
    """Limits how many requests of a tenant are parsed at once."""
    access: PeopleAccess = PeopleAccess()
    active: TenantSlots = field(default_factory=partial(TenantSlots, MAX_ACTIVE))
    """Limits how many queries of a tenant are built, run or encoded at once."""
    data_folder: Path = Path()
    """Where collectors of this machine note which spooled requests Kafka has."""
    upload_limits: UploadLimits = UploadLimits()
    """Of files that are uploaded for imports."""
    collect_url: str = ""
    """URL at which browsers reach the collector."""
    query_url: str = ""
    """Public URL of the query service, if the settings name one."""
    oidc: OidcSignIn | None = None
    """Single sign-on; None where the settings name no identity provider."""
    sign_up_rules: SignUpRules = SignUpRules()
    """Who joins an organization without an invitation."""
    proxy_header: ProxyHeader | None = None
    """The header in which a proxy sends who signed in; None where it signs nobody in."""
    webhook_networks: Networks = ()
    """Private networks that channels may reach."""
    results: PreparedResults | None = None
    """Prepared results; None where the settings switch them off."""
    app_schemes: Sequence[str] = ()
    """URL schemes of apps that links may target."""
    keep_bounds: KeepBounds = KeepBounds()
    """Of the days for which websites and organizations keep rows."""
    purge_days: int = 0
    """Days after which the rows of a deleted website are purged."""
    stale_seconds: float = inf
    """How long API keys stay valid while the registry is unreachable."""
    registry_threads: Executor = field(
        default_factory=lambda: ThreadPoolExecutor(REGISTRY_THREADS, "registry-requests")
    )

    @property
    def registry(self) -> Snapshot:
        return self.follower.snapshot

    def store_for(self, key: Key) -> RegistryStore:
        """The registry store; its audit trail names this key, or the person."""
        return self.store.with_actor(actor_of(key))

    async def in_registry(self, work: Callable[[], T]) -> T:
        """Read or write the registry itself; Unavailable while it is unreachable.

        In threads of its own, as a database that does not answer holds them.
        """
        try:
            return await self._in_registry_thread(work)
        except TimeoutError:
            log.warning("registry does not answer", extra={"seconds": REGISTRY_SECONDS})
            raise Unavailable(REGISTRY_SILENT) from None
        except DatabaseError as error:
            log.warning("registry unavailable", extra={"reason": first_line(error)})
            raise Unavailable("The registry cannot be reached right now; retry") from None

    async def refresh_registry(self) -> None:
        """Let this process see its own write at once; others follow within a second."""
        # The write succeeded; the follower reports the problem.
        with suppress(DatabaseError, TimeoutError):
            await self._in_registry_thread(self.follower.refresh)

    async def _in_registry_thread(self, work: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(REGISTRY_SECONDS):  # what has not begun then never begins
            return await loop.run_in_executor(self.registry_threads, work)

    async def authorize(self, request: Request, scope: str, group: Group, *others: str) -> Key:
        """The API key of a request, counted against the rate limit of its organization.

        It needs the scope, or one of the others.
        """
        key = self.authenticate(request, scope, *others)
        await self.count_request(request, key, group)
        return key

    async def authorize_or_share(self, request: Request, scope: str, group: Group) -> Key:
        """As `authorize`; also the rights of a shared dashboard."""
        key = require_scope(self.identify_or_share(request), scope)
        await self.count_request(request, key, group)
        return key

    def authenticate(self, request: Request, scope: str, *others: str) -> Key:
        """The valid API key of a request, or that of its sign-in, which needs one of the scopes."""
        return require_scope(self.identify(request), scope, *others)

    def identify(self, request: Request) -> Key:
        """The valid API key of a request; without one, that of the sign-in which its cookie names.

        Unauthorized; Forbidden for a cookie from elsewhere.
        """
        key = self.identify_or_share(request)
        if isinstance(key, ShareKey):
            raise Forbidden(NOT_SHARED)
        return key

    def identify_or_share(self, request: Request) -> Key:
        """As `identify`; also the rights of a shared dashboard, for endpoints that admit those."""
        if self.follower.stale_seconds > self.stale_seconds:
            raise Unavailable(STALE_REGISTRY)
        text = self.api_key_text(request)
        if text and is_share_access(text):
            return key_of_access(self.sign_ins, text, self.registry, self.clock())
        if text:
            return find_key(self.registry, text, self.clock())
        key = self.sign_ins.key_of_cookie(request, self.registry)
        if key is None:
            raise Unauthorized(KEY_REQUIRED)
        if isinstance(key, PersonKey) and key.way is Way.PROXY:
            email = email_from_proxy(request.scope, self.proxy_header)
            if email != key.account.email:  # somebody else has signed in at the proxy meanwhile
                raise Unauthorized(ENDED)
        return key

    def api_key_text(self, request: Request) -> str | None:
        """The API key in the headers, valid or not; a cookie beside it has no effect."""
        return read_api_key(lambda name: header(request.scope, name.encode()))

    def parsing_slot(self, tenant: str) -> AbstractAsyncContextManager[None]:
        """The turn of a tenant to have a request parsed."""
        ends = asyncio.get_running_loop().time() + self.timeout_seconds
        return self.parsing.slot(tenant, ends)

    @asynccontextmanager
    async def budget(self, request: Request, tenant: str) -> AsyncIterator[ResponseBudget]:
        """The budget of one response, whose work is cancelled when the client leaves.

        The body of the request must have been read. The response closes the budget.
        """
        budget = ResponseBudget(self.response_memory, tenant, self.timeout_seconds)
        try:
            async with cancelled_on_disconnect(request.receive):
                yield budget
        except BaseException:
            budget.close()
            raise

    def admit_public(self, request: Request) -> None:
        """Admit a request without a key, counted against the public rate limit of its address."""
        middleware: HttpMiddleware = request.scope["app"]
        middleware.admit_anonymous(request.scope)

    async def count_request(self, request: Request, key: Key, group: Group, cost: int = 1) -> None:
        """Count a request of the key's organization; RateLimitExceeded when none is left.

        Its shared dashboards have a limit of their own, of which one network may use a part.
        """
        middleware: HttpMiddleware = request.scope["app"]
        admission, owner = middleware.admission, self.registry.organizations[key.organization_id]
        if not isinstance(key, ShareKey):
            await admission.admit(request.scope, LimitHolder(owner, group), cost=cost)
            return
        holder = LimitHolder(owner, group, f"shares of {owner.id}")
        network = middleware.client_network(request.scope)
        ticket = await admission.admit(request.scope, holder, network)
        for _ in range(cost):
            await ticket.charge()


Handler = Callable[[QueryDependencies, Request], Awaitable[Response]]

KEY_ERRORS: tuple[type[ApiError], ...] = (Unauthorized, Forbidden, RateLimitExceeded, Unavailable)
"""Errors of every endpoint that needs an API key."""

BODY_ERRORS: tuple[type[ApiError], ...] = (Malformed, RequestTimeout, PayloadTooLarge)
"""Errors of every endpoint that reads a body."""

QUERY_ERRORS: tuple[type[ApiError], ...] = (
    Malformed,
    ResultTooLarge,
    Unauthorized,
    Forbidden,
    NotAcceptable,
    VersionGone,
    RequestTimeout,
    PayloadTooLarge,
    RateLimitExceeded,
    Unavailable,
    QueryTimeout,
    QueryTooHeavy,
    DataDamaged,
)
"""Errors of every endpoint that reads stored rows."""


class QueryEndpoint(Struct, frozen=True):
    """A route: the handler, and the operation with its method, path and OpenAPI description."""

    handler: Handler
    operation: Operation
