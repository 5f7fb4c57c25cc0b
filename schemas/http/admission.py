"""Admission: counts each request in the rate-limit buckets of its sender, or rejects it with 429.

| request | buckets; the first that is full rejects |
|---|---|
| with an API key | the organization's; requests without a key never count in it |
| without a key, for a website or a link | the share of the client network; then the total |
| without a tenant, or rejected without a key | the public bucket of the client network |

A client network is a client address truncated to /24 or /48. So one network can use up neither the
limit of a website, nor that of another website, nor that of a server with a key.
Response headers show the bucket with the fewest remaining requests.

A request has one `Ticket` and two calls: `admit` before its body is read, where one with a key
counts, valid or not; and `charge` with what was accepted, where one without a key counts.
"""

from collections.abc import Iterator, Sequence
from typing import NoReturn

from msgspec import Struct
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from starlette.types import Scope

from schemas.errors import RateLimitExceeded
from schemas.http.asgi import WHOLE_BODY_KEY
from schemas.http.limits import (
    SMALL_LIMIT,
    ExceededLimit,
    RateLimitBucket,
    RateLimiter,
    RateLimitStatus,
    UsedShare,
    add_to_all,
    count_in_all,
    rate_limit_error,
)
from schemas.plans import PLANS, Group, Limit, limit_for, network_limit
from schemas.registry import Organization
from schemas.runtime.clock import Clock
from schemas.telemetry.instruments import LIMITED_REQUESTS, start_at_zero

RATE_LIMIT_KEY = "tidemark.allowance"
"""Key of the ASGI scope: the rate limit that the response headers show."""

PUBLIC_GROUP_LIMIT = PLANS["free"][Group.PUBLIC]

BODY_SIZE_KEY = "tidemark.body_size"
"""Key of the ASGI scope: bytes of the body so far, compressed or not, whichever is more."""

REJECTS_PER_REQUEST = 10
BYTES_PER_REQUEST = 16_384
"""Rejected items, and body bytes, that count as one more rejected request: equal CPU time."""

SMALL_BODY_BYTES = 4_096
LARGE_BODY = bytes(SMALL_BODY_BYTES + 1)
"""Placeholder for a body that has not arrived yet."""

UNUSED = UsedShare(0.0, 0.0, 0.0)

CLEANUP_THRESHOLD = 1_000
"""Number of tenants at which idle ones are dropped."""

NETWORK = "_network"
"""After the name of a group: the part of its limit that one client network may use."""
PUBLIC_SUBJECT = "unauthenticated or rejected requests from one network"


class LimitHolder(Struct, frozen=True, gc=False):
    """Whose limits a request counts in."""

    owner: Organization
    group: Group
    subject_id: str | None = None
    """The website, or what else is limited apart for requests without a key; None: with a key."""


class _TenantLimits(Struct, frozen=True, gc=False):
    """Buckets and limits of an organization, a website, or the links of an organization."""

    owner: Organization
    key: tuple[Group, str]
    total: RateLimitBucket
    network_limit: Limit
    """Limit of one client network."""
    network_subject: str


class AttemptLimit(Struct, frozen=True):
    """Limit of attempts at a secret, per client network or per secret."""

    name: str
    limit: Limit
    subject: str
    """Whose attempts they are, as the 429 message names them."""


class Ticket:
    """One request on its way through the limits; to be charged once, or not at all if rejected."""

    __slots__ = ("_admission", "_client_network", "_scope", "holder")

    def __init__(
        self, admission: "Admission", scope: Scope, holder: LimitHolder | None, client_network: str
    ) -> None:
        self._admission = admission
        self._scope = scope
        self._client_network = client_network
        self.holder = holder
        """None until the body has named it."""

    async def charge(self, size: int = 0, items: int = 0, rejects: int = 0) -> None:
        """Count accepted items and the bytes of the body; RateLimitExceeded if they do not fit.

        Without a key the client network is charged for rejected items, and for all that was decoded
        in vain if it does not fit.
        """
        admission, holder = self._admission, self.holder
        assert holder is not None  # noqa: S101 - the caller has set it
        if holder.subject_id is None:
            admission.count(self._scope, holder, cost=0, size=size, items=items)
            return
        network = self._client_network
        await admission.reserve(holder, network)
        try:
            admission.count(self._scope, holder, network, size=size, items=items)
        except RateLimitExceeded:
            if holder.group is Group.COLLECT and (cost := rejection_cost(items, size)):
                admission.charge_network(network, cost)
            raise
        if cost := rejection_cost(rejects, 0):
            admission.charge_network(network, cost)


class Admission:
    """Counts requests in rate-limit buckets."""

    def __init__(self, limiter: RateLimiter, clock: Clock) -> None:
        self._limiter = limiter
        self._known = limiter.find_anonymous
        self._clock = clock
        self._tenants: dict[tuple[Group, str], _TenantLimits] = {}
        self._cleanup_at = CLEANUP_THRESHOLD
        kinds = [f"{group}{part}" for group in Group for part in ("", NETWORK)]
        start_at_zero(LIMITED_REQUESTS, kinds)

    async def admit(
        self, scope: Scope, holder: LimitHolder | None, client_network: str = "", cost: int = 1
    ) -> Ticket:
        """The ticket of a request, of which `cost` is counted if it has a key; RateLimitExceeded.

        Without a key nothing is counted yet. Items of a network with too many rejected requests are
        refused, and large bodies for which there is no room: a small one that has arrived is
        decoded in the time that a look at its buckets takes.
        """
        ticket = Ticket(self, scope, holder, client_network)
        if holder is not None and holder.subject_id is None:
            await self.reserve(holder, cost=cost)
            self.count(scope, holder, cost=cost)
        elif holder is None or holder.group is Group.COLLECT:
            now = self._clock()
            self.check_network(scope, client_network, now)
            if holder is not None and len(scope.get(WHOLE_BODY_KEY) or LARGE_BODY) > (
                SMALL_BODY_BYTES
            ):
                self._check(scope, holder, self._buckets(holder, client_network, now), now)
        return ticket

    def count_at_once(
        self, holder: LimitHolder, client_network: str, now_ms: int, size: int, items: int
    ) -> RateLimitBucket | None:
        """Count a whole request, if it fits and no server need be asked; the bucket to show."""
        buckets = self._buckets(holder, client_network, now_ms)
        if self._limiter.reserves and [b for b in buckets if b.limit.requests <= SMALL_LIMIT]:
            return None
        for bucket in buckets:
            if not bucket.fits(now_ms, 1, size, items):
                return None
        return add_to_all(buckets, now_ms, 1, size, items)

    async def reserve(self, holder: LimitHolder, client_network: str = "", cost: int = 1) -> None:
        """Wait for the room that `count` takes, where a server counts it."""
        if self._limiter.reserves:
            now = self._clock()
            await self._limiter.reserve(self._buckets(holder, client_network, now), now, cost)

    def count(
        self,
        scope: Scope,
        holder: LimitHolder,
        client_network: str = "",
        cost: int = 1,
        size: int = 0,
        items: int = 0,
    ) -> None:
        """Count a request in all buckets of its sender, or in none; RateLimitExceeded."""
        now = self._clock()
        buckets = self._buckets(holder, client_network, now)
        self._check(scope, holder, buckets, now, cost, size, items)
        scope[RATE_LIMIT_KEY] = add_to_all(buckets, now, cost, size, items)

    def _buckets(
        self, holder: LimitHolder, client_network: str, now_ms: int
    ) -> tuple[RateLimitBucket, ...]:
        """With a key that of the organization; else the share of the network, and the total."""
        owner, subject_id = holder.owner, holder.subject_id
        key = (holder.group, owner.id if subject_id is None else subject_id)
        tenant = self._tenants.get(key)
        if tenant is None or tenant.owner is not owner:
            tenant = self._tenants[key] = self._new_tenant(owner, key, now_ms, tenant)
        if subject_id is None:
            return (tenant.total,)
        share = self._limiter.anonymous_bucket(
            (key, client_network), tenant.network_limit, tenant.network_subject, now_ms
        )
        return (share, tenant.total)

    def _check(
        self,
        scope: Scope,
        holder: LimitHolder,
        buckets: Sequence[RateLimitBucket],
        now_ms: int,
        cost: int = 1,
        size: int = 0,
        items: int = 0,
    ) -> None:
        for bucket in buckets:
            if bucket.fits(now_ms, cost, size, items):
                continue
            exceeded, group = bucket.exceeded(cost, size, items), holder.group
            if holder.subject_id is None:
                message = f"{exceeded.message} {_advice(holder.owner)}"
                exceeded = ExceededLimit(exceeded.status, message)
            is_share = bucket is not buckets[-1]
            self._raise_exceeded(scope, f"{group}{NETWORK}" if is_share else group, exceeded)

    def check_network(self, scope: Scope, client_network: str, now_ms: int) -> None:
        """Reject a network with too many rejected requests, before decoding; counts nothing."""
        public = self._known(client_network)
        if public is not None and not public.fits(now_ms):
            self._raise_exceeded(scope, Group.PUBLIC, public.exceeded())

    def network_fits(self, client_network: str, now_ms: int) -> bool:
        """Whether `check_network` passes."""
        public = self._known(client_network)
        return public is None or public.fits(now_ms)

    def count_public(self, scope: Scope, client_network: str, cost: int = 1) -> None:
        """Count a request without a tenant, or a rejected one, up to the remaining limit."""
        outcome = self.charge_network(client_network, cost)
        if isinstance(outcome, ExceededLimit):
            self._raise_exceeded(scope, Group.PUBLIC, outcome)
        scope[RATE_LIMIT_KEY] = outcome

    def charge_network(self, client_network: str, cost: int) -> RateLimitBucket | ExceededLimit:
        """The same for a request whose response does not change; returns the exceeded limit."""
        now = self._clock()
        bucket = self._limiter.anonymous_bucket(
            client_network, PUBLIC_GROUP_LIMIT, PUBLIC_SUBJECT, now
        )
        bucket.fits(now)
        remaining = max(1, PUBLIC_GROUP_LIMIT.requests - bucket.requests)
        return count_in_all((bucket,), now, min(cost, remaining))

    async def reserve_attempt(self, limit: AttemptLimit, id_: str) -> None:
        """Wait for the room of an attempt that counts in any case."""
        if self._limiter.reserves:
            now = self._clock()
            await self._limiter.reserve((self._attempts(limit, id_, now),), now)

    def _attempts(self, limit: AttemptLimit, id_: str, now_ms: int) -> RateLimitBucket:
        key = (limit.name, id_)
        return self._limiter.anonymous_bucket(key, limit.limit, limit.subject, now_ms)

    def count_attempt(self, scope: Scope, limit: AttemptLimit, id_: str) -> None:
        """Count an attempt at a secret; RateLimitExceeded after too many."""
        now = self._clock()
        bucket = self._attempts(limit, id_, now)
        if not bucket.fits(now):
            self._raise_exceeded(scope, limit.name, bucket.exceeded())
        bucket.add(now, 1, 0)

    def public_status(self, client_network: str) -> RateLimitStatus:
        """State of the public bucket of a client network."""
        now = self._clock()
        bucket = self._known(client_network) or RateLimitBucket(
            PUBLIC_GROUP_LIMIT, PUBLIC_SUBJECT, now
        )
        bucket.fits(now)
        return bucket.status()

    def used_shares(self) -> dict[Group, UsedShare]:
        """Of each group the shares of the tenant that is nearest to its limits.

        Another thread may call it: it changes nothing.
        """
        now, nearest = self._clock(), dict.fromkeys(Group, UNUSED)
        for (group, _), tenant in list(self._tenants.items()):
            used = tenant.total.used_share(now)
            nearest[group] = UsedShare(*map(max, zip(used, nearest[group], strict=True)))
        return nearest

    def _raise_exceeded(self, scope: Scope, kind: str, exceeded: ExceededLimit) -> NoReturn:
        LIMITED_REQUESTS.labels(kind).inc()
        scope[RATE_LIMIT_KEY] = exceeded.status
        raise rate_limit_error(exceeded.status, self._clock(), exceeded.message)

    def _new_tenant(
        self, owner: Organization, key: tuple[Group, str], now_ms: int, before: _TenantLimits | None
    ) -> _TenantLimits:
        """Limits of a new or changed tenant; a changed one keeps its counts."""
        group, id_ = key
        limit = limit_for(owner.plan, group, owner.limits)
        subject = _subject(owner, group, id_)
        if before is None:
            self._drop_idle(now_ms)
            total = self._limiter.tenant_bucket(key, limit, subject, now_ms)
        else:
            total = before.total
            total.agree(limit)
        return _TenantLimits(owner, key, total, network_limit(limit), f"{subject} from one network")

    def _drop_idle(self, now_ms: int) -> None:
        """Drop tenants without requests in the window, so no count is lost."""
        if len(self._tenants) < self._cleanup_at:
            return
        for tenant in self._tenants.values():
            tenant.total.fits(now_ms)
        self._tenants = {
            key: tenant
            for key, tenant in self._tenants.items()
            if tenant.total.requests or tenant.total.bytes
        }
        self._cleanup_at = max(CLEANUP_THRESHOLD, 2 * len(self._tenants))


def rejection_cost(rejected: int, size: int) -> int:
    """Number of rejected requests that these rejected items and bytes count as."""
    return rejected // REJECTS_PER_REQUEST + size // BYTES_PER_REQUEST


def _subject(owner: Organization, group: Group, id_: str) -> str:
    if group is Group.REDIRECTS:
        return "redirects of this organization's links"
    if id_ == owner.id:
        return f"the organization's API keys ({group})"
    return "requests to this website without an API key"


def _advice(owner: Organization) -> str:
    return f"An operator sets limits with 'tidemark organizations update {owner.id} --limit'."


class LimitMetrics(Collector):
    """How much of its rate limits the tenant uses that is nearest to them.

    The buckets of tenants are read when the metrics are requested, so requests cost no more.

    One value for each group of endpoints and each of what is limited; no tenant is named.
    """

    def __init__(self, admission: Admission) -> None:
        self._admission = admission

    def collect(self) -> Iterator[GaugeMetricFamily]:
        shares = GaugeMetricFamily(
            "tidemark_limit_used_ratio",
            "Share of a rate limit in use, of the tenant that is nearest to it, by group of "
            "endpoints and by what is limited: requests, bytes or items",
            labels=("limit", "unit"),
        )
        for group, used in self._admission.used_shares().items():
            for unit, share in used._asdict().items():
                shares.add_metric((group, unit), share)
        yield shares
