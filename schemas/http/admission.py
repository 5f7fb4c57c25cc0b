"""Admission: counts each request in the rate-limit buckets of its sender, or rejects it with 429.

| who | buckets; the first that is full refuses |
|---|---|
| with an API key | the organization's, which no request without a key touches |
| without a key, for a website or a link | its network's share of that; then the whole |
| nobody in particular; refused without a key | its network's public one |

A network is a client address cut to /24 or /48. So a stranger on one network can use up neither
what a website may receive, nor what another website may, nor what a server with a key may send.
What an answer tells is the bucket with the fewest requests left.
"""

from collections.abc import Sequence
from typing import NoReturn

from msgspec import Struct
from starlette.types import Scope

from schemas.http.rate_limit import ExceededLimit, RateLimitBucket, RateLimiter, count_in_all
from schemas.http.rate_limit_headers import RateLimitStatus, rate_limit_error
from schemas.plans import PLANS, Group, Limit, limit_for, network_limit
from schemas.registry import Organization
from schemas.runtime.clock import Clock

RATE_LIMIT_KEY = "tidemark.allowance"
"""In the scope: what the answer tells, of a request that was counted."""

PUBLIC_GROUP_LIMIT = PLANS["free"][Group.PUBLIC]

BODY_SIZE_KEY = "tidemark.body_size"
"""In the scope: bytes that the body has taken so far, packed or unpacked, whichever is more."""

REJECTS_PER_REQUEST = 10
BYTES_PER_REQUEST = 16_384
"""What costs a network as much as one more refused request, because it takes about as long."""

CLEANUP_THRESHOLD = 1_000
"""Tenants below which nobody looks for those that have gone quiet."""

PUBLIC_SUBJECT = "unauthenticated or rejected requests from one network"


class _TenantLimits(Struct, frozen=True, gc=False):
    """An organization, a website, or the links of an organization."""

    owner: Organization
    key: tuple[Group, str]
    total: RateLimitBucket
    network_limit: Limit
    """Of one network."""
    network_subject: str


class Admission:
    """Counts requests in the buckets of who sends them."""

    def __init__(self, limiter: RateLimiter, clock: Clock) -> None:
        self._limiter = limiter
        self._known = limiter.find_anonymous
        self._clock = clock
        self._tenants: dict[tuple[Group, str], _TenantLimits] = {}
        self._cleanup_at = CLEANUP_THRESHOLD

    def count_with_key(
        self,
        scope: Scope,
        owner: Organization,
        group: Group,
        cost: int = 1,
        size: int = 0,
        items: int = 0,
    ) -> RateLimitBucket:
        """Count a request with a key; `more` counts its bytes and items later."""
        now = self._clock()
        bucket = self._tenant(owner, group, owner.id, now).total
        if not bucket.fits(now, cost, size, items):
            self._raise_exceeded(scope, bucket.exceeded(cost, size, items))
        bucket.add(now, cost, size, items)
        scope[RATE_LIMIT_KEY] = bucket
        return bucket

    def more(self, scope: Scope, bucket: RateLimitBucket, size: int, items: int) -> None:
        """Count bytes and items of a request that is counted itself."""
        now = self._clock()
        if not bucket.fits(now, 0, size, items):
            self._raise_exceeded(scope, bucket.exceeded(0, size, items))
        bucket.add(now, 0, size, items)

    def check_network(self, scope: Scope, network: str, now_ms: int) -> None:
        """Refuse who was refused too often, before anything is decoded; nothing is counted."""
        public = self._known(network)
        if public is not None and not public.fits(now_ms):
            self._raise_exceeded(scope, public.exceeded())

    def anonymous_buckets(
        self, network: str, owner: Organization, group: Group, subject: str, now_ms: int
    ) -> Sequence[RateLimitBucket]:
        """What a request without a key is counted in: its network's share, and the whole."""
        tenant = self._tenants.get((group, subject))
        if tenant is None or tenant.owner is not owner:
            tenant = self._tenant(owner, group, subject, now_ms)
        key = (tenant.key, network)
        share = self._limiter.anonymous_bucket(
            key, tenant.network_limit, tenant.network_subject, now_ms
        )
        return (share, tenant.total)

    def check_buckets(self, scope: Scope, buckets: Sequence[RateLimitBucket], now_ms: int) -> None:
        """Refuse at once when one of them is full."""
        for bucket in buckets:
            if not bucket.fits(now_ms):
                self._raise_exceeded(scope, bucket.exceeded())

    def count_anonymous(
        self,
        scope: Scope,
        buckets: Sequence[RateLimitBucket],
        now_ms: int,
        size: int = 0,
        items: int = 0,
    ) -> None:
        """Count a good request without a key."""
        share, total = buckets
        if not share.fits(now_ms, 1, size, items):
            self._raise_exceeded(scope, share.exceeded(1, size, items))
        if not total.fits(now_ms, 1, size, items):
            self._raise_exceeded(scope, total.exceeded(1, size, items))
        remaining = share.add(now_ms, 1, size, items)
        scope[RATE_LIMIT_KEY] = share if remaining <= total.add(now_ms, 1, size, items) else total

    def count_public(self, scope: Scope, network: str, cost: int = 1) -> None:
        """Count a request that names nobody, or that was refused: as much as is left."""
        outcome = self.charge_network(network, cost)
        if isinstance(outcome, ExceededLimit):
            self._raise_exceeded(scope, outcome)
        scope[RATE_LIMIT_KEY] = outcome

    def charge_network(self, network: str, cost: int) -> RateLimitBucket | ExceededLimit:
        """The same, of a request that is answered as it is."""
        now = self._clock()
        bucket = self._limiter.anonymous_bucket(network, PUBLIC_GROUP_LIMIT, PUBLIC_SUBJECT, now)
        bucket.fits(now)
        remaining = max(1, PUBLIC_GROUP_LIMIT.requests - bucket.requests)
        return count_in_all((bucket,), now, min(cost, remaining))

    def public_status(self, network: str) -> RateLimitStatus:
        """What a network may ask that names nobody."""
        now = self._clock()
        bucket = self._known(network) or RateLimitBucket(PUBLIC_GROUP_LIMIT, PUBLIC_SUBJECT, now)
        bucket.fits(now)
        return bucket.status()

    def _raise_exceeded(self, scope: Scope, exceeded: ExceededLimit) -> NoReturn:
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
        """What holds for the tenant from now on; what it used before stays used."""
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
        """Drop tenants of whom nothing is in the window: nothing is forgotten with them."""
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
    """Refused requests that take as long as it took to reject that many items in so many bytes."""
    return rejected // REJECTS_PER_REQUEST + size // BYTES_PER_REQUEST


def _subject(owner: Organization, group: Group, id_: str) -> str:
    if group is Group.REDIRECTS:
        return "redirects of this organization's links"
    if id_ == owner.id:
        return f"the organization's API keys ({group})"
    return "requests to this website without an API key"
