"""LocalRateLimiter: buckets with the counts of this process, and what every limiter offers."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Protocol

from schemas.http.rate_limit import RateLimitBucket
from schemas.plans import Limit

MAX_ANONYMOUS_BUCKETS = 30_000
"""Buckets of client networks in memory; 250 bytes each, 2 KB at most."""


class RateLimiter(Protocol):
    """Creates buckets; those of `SharedRateLimiter` have the counts of all processes."""

    problem: str | None
    """Why counts are not shared with other processes."""
    reserves: bool
    """Whether `reserve` does anything: small limits are counted by a server."""

    async def reserve(self, buckets: Sequence[RateLimitBucket], now_ms: int, cost: int = 1) -> None:
        """Wait until it is known whether a request fits small limits of several machines."""

    def tenant_bucket(
        self, key: Hashable, limit: Limit, subject: str, now_ms: int
    ) -> RateLimitBucket:
        """A new bucket of a tenant; the caller keeps it."""

    def anonymous_bucket(
        self, key: Hashable, limit: Limit, subject: str, now_ms: int
    ) -> RateLimitBucket:
        """The bucket of an unauthenticated client network; an LRU cache bounds their number."""

    @property
    def find_anonymous(self) -> Callable[[Hashable], RateLimitBucket | None]:
        """Returns the bucket of a client network, if there is one."""


class LocalRateLimiter:
    """Counts in this process, in bounded memory."""

    def __init__(self) -> None:
        self.problem: str | None = None
        self.reserves = False
        self._anonymous: OrderedDict[Hashable, RateLimitBucket] = OrderedDict()
        self.find_anonymous: Callable[[Hashable], RateLimitBucket | None] = self._anonymous.get

    def new_bucket(
        self,
        key: Hashable,  # noqa: ARG002
        limit: Limit,
        subject: str,
        now_ms: int,
    ) -> RateLimitBucket:
        """A bucket without counts."""
        return RateLimitBucket(limit, subject, now_ms)

    async def reserve(self, buckets: Sequence[RateLimitBucket], now_ms: int, cost: int = 1) -> None:
        """Nothing to wait for: counts of this process are at hand."""

    def tenant_bucket(
        self, key: Hashable, limit: Limit, subject: str, now_ms: int
    ) -> RateLimitBucket:
        return self.new_bucket(key, limit, subject, now_ms)

    def anonymous_bucket(
        self, key: Hashable, limit: Limit, subject: str, now_ms: int
    ) -> RateLimitBucket:
        bucket = self._anonymous.get(key)
        if bucket is None:
            bucket = self._anonymous[key] = self.new_bucket(key, limit, subject, now_ms)
            if len(self._anonymous) > MAX_ANONYMOUS_BUCKETS:
                self._anonymous.popitem(last=False)
            return bucket
        self._anonymous.move_to_end(key)
        if bucket.limit is not limit:
            bucket.agree(limit)
        return bucket
