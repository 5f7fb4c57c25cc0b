"""Admission: counts each request in the rate-limit buckets of its sender, or rejects it with 429.

| request | buckets; the first that is full rejects |
|---|---|
| with an API key | the organization's; requests without a key never count in it |
| without a key, for a website or a link | the share of the client network; then the total |
| without a tenant, or rejected without a key | the public bucket of the client network |

A client network is a client address truncated to /24 or /48. So one network can use up neither the
limit of a website, nor that of another website, nor that of a server with a key.
Response headers show the bucket with the fewest remaining requests.
"""

from collections.abc import Sequence
from typing import NoReturn

from msgspec import Struct
from starlette.types import Scope

from schemas.http.local_rate_limit import RateLimiter
from schemas.http.rate_limit import (
    ExceededLimit,
    RateLimitBucket,
    UsedShare,
    count_in_all,
)
from schemas.http.rate_limit_headers import RateLimitStatus, rate_limit_error
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

UNUSED = UsedShare(0.0, 0.0, 0.0)

CLEANUP_THRESHOLD = 1_000
"""Number of tenants at which idle ones are dropped."""

NETWORK = "_network"
"""After the name of a group: the part of its limit that one client network may use."""
PUBLIC_SUBJECT = "unauthenticated or rejected requests from one network"


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


class Admission:
    """Counts requests in rate-limit buckets."""

    def __init__(self, limiter: RateLimiter, clock: Clock) -> None:
        self._limiter = limiter
        self._known = limiter.find_anonymous
        self.reserves = limiter.reserves
        """Whether small limits are counted by a server; only then need `reserve` be awaited."""
        self._clock = clock
        self._tenants: dict[tuple[Group, str], _TenantLimits] = {}
        self._cleanup_at = CLEANUP_THRESHOLD
        kinds = [f"{group}{part}" for group in Group for part in ("", NETWORK)]
        start_at_zero(LIMITED_REQUESTS, kinds)

    async def reserve_with_key(self, owner: Organization, group: Group, cost: int = 1) -> None:
        """Wait for the room that `count_with_key` takes, where a server counts it."""
        await self.reserve((self._tenant(owner, group, owner.id, self._clock()).total,), cost)

    async def reserve(self, buckets: Sequence[RateLimitBucket], cost: int = 1) -> None:
        """The same of other buckets, in one round trip."""
        await self._limiter.reserve(buckets, self._clock(), cost)

    def count_with_key(
        self,
        scope: Scope,
        owner: Organization,
        group: Group,
        cost: int = 1,
        size: int = 0,
        items: int = 0,
    ) -> RateLimitBucket:
        """Count a request with an API key; `count_size` counts its bytes and items later."""
        now = self._clock()
        bucket = self._tenant(owner, group, owner.id, now).total
        if not bucket.fits(now, cost, size, items):
            exceeded = bucket.exceeded(cost, size, items)
            message = f"{exceeded.message} {_advice(owner)}"
            self._raise_exceeded(scope, group, ExceededLimit(exceeded.status, message))
        bucket.add(now, cost, size, items)
        scope[RATE_LIMIT_KEY] = bucket
        return bucket

    def count_size(self, scope: Scope, bucket: RateLimitBucket, size: int, items: int) -> None:
        """Count bytes and items of a request that is counted already."""
        now = self._clock()
        if not bucket.fits(now, 0, size, items):
            self._raise_exceeded(scope, Group.COLLECT, bucket.exceeded(0, size, items))
        bucket.add(now, 0, size, items)

    def check_network(self, scope: Scope, client_network: str, now_ms: int) -> None:
        """Reject a network with too many rejected requests, before decoding; counts nothing."""
        public = self._known(client_network)
        if public is not None and not public.fits(now_ms):
            self._raise_exceeded(scope, Group.PUBLIC, public.exceeded())

    def network_fits(self, client_network: str, now_ms: int) -> bool:
        """Whether `check_network` passes."""
        public = self._known(client_network)
        return public is None or public.fits(now_ms)

    def anonymous_buckets(
        self, client_network: str, owner: Organization, group: Group, subject: str, now_ms: int
    ) -> Sequence[RateLimitBucket]:
        """Buckets of a request without a key: the share of its network, and the total."""
        tenant = self._tenants.get((group, subject))
        if tenant is None or tenant.owner is not owner:
            tenant = self._tenant(owner, group, subject, now_ms)
        key = (tenant.key, client_network)
        share = self._limiter.anonymous_bucket(
            key, tenant.network_limit, tenant.network_subject, now_ms
        )
        return (share, tenant.total)

    def key_buckets(
        self, owner: Organization, group: Group, now_ms: int
    ) -> Sequence[RateLimitBucket]:
        """The bucket of a request with an API key."""
        return (self._tenant(owner, group, owner.id, now_ms).total,)

    def check_buckets(
        self, scope: Scope, buckets: Sequence[RateLimitBucket], group: Group, now_ms: int
    ) -> None:
        """Reject the request if one of the buckets is full; counts nothing."""
        for kind, bucket in zip((f"{group}{NETWORK}", group), buckets, strict=True):
            if not bucket.fits(now_ms):
                self._raise_exceeded(scope, kind, bucket.exceeded())

    def count_anonymous(
        self,
        scope: Scope,
        buckets: Sequence[RateLimitBucket],
        group: Group,
        now_ms: int,
        size: int = 0,
        items: int = 0,
    ) -> None:
        """Count a valid request without a key."""
        share, total = buckets
        if not share.fits(now_ms, 1, size, items):
            self._raise_exceeded(scope, f"{group}{NETWORK}", share.exceeded(1, size, items))
        if not total.fits(now_ms, 1, size, items):
            self._raise_exceeded(scope, group, total.exceeded(1, size, items))
        scope[RATE_LIMIT_KEY] = add_to_all(buckets, now_ms, size, items)

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
        if self.reserves:
            await self.reserve((self._attempts(limit, id_, self._clock()),))

    def _attempts(self, limit: AttemptLimit, id_: str, now_ms: int) -> RateLimitBucket:
        key = (limit.name, id_)
        return self._limiter.anonymous_bucket(key, limit.limit, limit.subject, now_ms)

    def check_attempts(self, scope: Scope, limit: AttemptLimit, id_: str) -> RateLimitBucket:
        """The bucket of failed attempts at a secret; rejects the request when it is full."""
        now = self._clock()
        bucket = self._attempts(limit, id_, now)
        if not bucket.fits(now):
            self._raise_exceeded(scope, limit.name, bucket.exceeded())
        return bucket

    def count_attempt(self, bucket: RateLimitBucket) -> None:
        """Count an attempt."""
        bucket.add(self._clock(), 1, 0)

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

    def _tenant(self, owner: Organization, group: Group, id_: str, now_ms: int) -> _TenantLimits:
        key = (group, id_)
        tenant = self._tenants.get(key)
        if tenant is None or tenant.owner is not owner:
            tenant = self._tenants[key] = self._new_tenant(owner, key, now_ms, tenant)
        return tenant

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


def add_to_all(
    buckets: Sequence[RateLimitBucket], now_ms: int, size: int, items: int
) -> RateLimitBucket:
    """Count a request that fits; the bucket with the fewest remaining requests."""
    nearest, *others = buckets
    fewest = nearest.add(now_ms, 1, size, items)
    for bucket in others:
        if (remaining := bucket.add(now_ms, 1, size, items)) < fewest:
            nearest, fewest = bucket, remaining
    return nearest


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
