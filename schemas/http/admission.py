"""Admission: each request is counted by who sends it, or refused with LimitExceeded.

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

from schemas.http.rate_limit import Bucket, RateLimiter, Refused, take
from schemas.http.rate_limit_headers import Allowance, exceeded
from schemas.plans import PLANS, Group, Limit, allowance, of_network
from schemas.registry import Organization
from schemas.runtime.clock import Clock

ALLOWANCE = "tidemark.allowance"
"""In the scope: what the answer tells, of a request that was counted."""

PUBLIC = PLANS["free"][Group.PUBLIC]

BODY_SIZE = "tidemark.body_size"
"""In the scope: bytes that the body has taken so far, packed or unpacked, whichever is more."""

REJECTS_PER_REQUEST = 10
BYTES_PER_REQUEST = 16_384
"""What costs a network as much as one more refused request, because it takes about as long."""

FEW_TENANTS = 1_000
"""Tenants below which nobody looks for those that have gone quiet."""

OF_PUBLIC = "requests from one network that name nobody or were refused"


class _Tenant(Struct, frozen=True, gc=False):
    """An organization, a website, or the links of an organization."""

    owner: Organization
    key: tuple[Group, str]
    whole: Bucket
    share: Limit
    """Of one network."""
    of_network: str


class Admission:
    """Counts requests in the buckets of who sends them."""

    def __init__(self, limiter: RateLimiter, clock: Clock) -> None:
        self._limiter = limiter
        self._known = limiter.known
        self._clock = clock
        self._tenants: dict[tuple[Group, str], _Tenant] = {}
        self._many = FEW_TENANTS

    def keyed(
        self,
        scope: Scope,
        owner: Organization,
        group: Group,
        cost: int = 1,
        size: int = 0,
        items: int = 0,
    ) -> Bucket:
        """Count a request with a key; `more` counts its bytes and items later."""
        now = self._clock()
        bucket = self._tenant(owner, group, owner.id, now).whole
        if not bucket.fits(now, cost, size, items):
            self._refuse(scope, bucket.refusal(cost, size, items))
        bucket.add(now, cost, size, items)
        scope[ALLOWANCE] = bucket
        return bucket

    def more(self, scope: Scope, bucket: Bucket, size: int, items: int) -> None:
        """Count bytes and items of a request that is counted itself."""
        now = self._clock()
        if not bucket.fits(now, 0, size, items):
            self._refuse(scope, bucket.refusal(0, size, items))
        bucket.add(now, 0, size, items)

    def check_network(self, scope: Scope, network: str, now_ms: int) -> None:
        """Refuse who was refused too often, before anything is decoded; nothing is counted."""
        public = self._known(network)
        if public is not None and not public.fits(now_ms):
            self._refuse(scope, public.refusal())

    def buckets(
        self, network: str, owner: Organization, group: Group, subject: str, now_ms: int
    ) -> Sequence[Bucket]:
        """What a request without a key is counted in: its network's share, and the whole."""
        tenant = self._tenants.get((group, subject))
        if tenant is None or tenant.owner is not owner:
            tenant = self._tenant(owner, group, subject, now_ms)
        key = (tenant.key, network)
        share = self._limiter.stranger(key, tenant.share, tenant.of_network, now_ms)
        return (share, tenant.whole)

    def check(self, scope: Scope, buckets: Sequence[Bucket], now_ms: int) -> None:
        """Refuse at once when one of them is full."""
        for bucket in buckets:
            if not bucket.fits(now_ms):
                self._refuse(scope, bucket.refusal())

    def anonymous(
        self, scope: Scope, buckets: Sequence[Bucket], now_ms: int, size: int = 0, items: int = 0
    ) -> None:
        """Count a good request without a key."""
        share, whole = buckets
        if not share.fits(now_ms, 1, size, items):
            self._refuse(scope, share.refusal(1, size, items))
        if not whole.fits(now_ms, 1, size, items):
            self._refuse(scope, whole.refusal(1, size, items))
        left = share.add(now_ms, 1, size, items)
        scope[ALLOWANCE] = share if left <= whole.add(now_ms, 1, size, items) else whole

    def public(self, scope: Scope, network: str, cost: int = 1) -> None:
        """Count a request that names nobody, or that was refused: as much as is left."""
        outcome = self.charge(network, cost)
        if isinstance(outcome, Refused):
            self._refuse(scope, outcome)
        scope[ALLOWANCE] = outcome

    def charge(self, network: str, cost: int) -> Bucket | Refused:
        """The same, of a request that is answered as it is."""
        now = self._clock()
        bucket = self._limiter.stranger(network, PUBLIC, OF_PUBLIC, now)
        bucket.fits(now)
        left = max(1, PUBLIC.requests - bucket.requests)
        return take((bucket,), now, min(cost, left))

    def seen(self, network: str) -> Allowance:
        """What a network may ask that names nobody."""
        now = self._clock()
        bucket = self._known(network) or Bucket(PUBLIC, OF_PUBLIC, now)
        bucket.fits(now)
        return bucket.allowance()

    def _refuse(self, scope: Scope, refused: Refused) -> NoReturn:
        scope[ALLOWANCE] = refused.allowance
        raise exceeded(refused.allowance, self._clock(), refused.which)

    def _tenant(self, owner: Organization, group: Group, id_: str, now_ms: int) -> _Tenant:
        key = (group, id_)
        found = self._tenants.get(key)
        if found is None or found.owner is not owner:
            found = self._tenants[key] = self._made(owner, key, now_ms, found)
        return found

    def _made(
        self, owner: Organization, key: tuple[Group, str], now_ms: int, before: _Tenant | None
    ) -> _Tenant:
        """What holds for the tenant from now on; what it used before stays used."""
        group, id_ = key
        limit = allowance(owner.plan, group, owner.limits)
        subject = _subject(owner, group, id_)
        if before is None:
            self._drop_quiet(now_ms)
            whole = self._limiter.tenant(key, limit, subject, now_ms)
        else:
            whole = before.whole
            whole.agree(limit)
        return _Tenant(owner, key, whole, of_network(limit), f"{subject}, from one network")

    def _drop_quiet(self, now_ms: int) -> None:
        """Drop tenants of whom nothing is in the window: nothing is forgotten with them."""
        if len(self._tenants) < self._many:
            return
        for tenant in self._tenants.values():
            tenant.whole.fits(now_ms)
        self._tenants = {
            key: one for key, one in self._tenants.items() if one.whole.requests or one.whole.bytes
        }
        self._many = max(FEW_TENANTS, 2 * len(self._tenants))


def work(rejected: int, size: int) -> int:
    """Refused requests that take as long as it took to reject that many items in so many bytes."""
    return rejected // REJECTS_PER_REQUEST + size // BYTES_PER_REQUEST


def _subject(owner: Organization, group: Group, id_: str) -> str:
    if group is Group.REDIRECTS:
        return "who follows the links of this organization"
    if id_ == owner.id:
        return f"the organization's API keys ({group})"
    return "who sends to this website without an API key"
