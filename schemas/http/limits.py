"""Rate limits: a sliding-window log per bucket, its X-RateLimit-* headers, the buckets in memory.

Requests within STEP share an entry of a bucket, which leaves the window 60 s after its last
request: at most 15 entries. So never more than the limit passes within any 60 s, and a request is
rejected only if the limit was used within the last 65 s.

Only a part of the items and bytes of a minute may come within one STEP, to bound bursts.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from msgspec import Struct

from schemas.errors import RateLimitExceeded
from schemas.plans import BURST_BYTES, BURST_ITEMS, BURST_SHARE, WINDOW_SECONDS, Limit

Headers = list[tuple[bytes, bytes]]

WINDOW_MS = WINDOW_SECONDS * 1000
STEP_MS = WINDOW_MS // 12
FAR_FUTURE_MS = 2**62

SMALL_LIMIT = 1_000
"""Requests up to which a limit is small: one request too many would be a thousandth or more."""

MAX_ANONYMOUS_BUCKETS = 30_000
"""Buckets of client networks in memory; 250 bytes each, 2 KB at most."""

HeaderNumbers = tuple[int, int, int]
"""Limit, remaining requests, and reset in Unix seconds, rounded up."""

HEADER_LINES = b"x-ratelimit-limit: %d\r\nx-ratelimit-remaining: %d\r\nx-ratelimit-reset: %d\r\n"
"""The same headers as bytes of a response, to be filled with HeaderNumbers."""


class RateLimitStatus(Struct, frozen=True, gc=False):
    """State of a rate limit, as responses show it."""

    limit: int
    remaining: int
    reset_ms: int

    def header_numbers(self) -> HeaderNumbers:
        """What the headers show."""
        return self.limit, self.remaining, -(-self.reset_ms // 1000)

    def headers(self) -> Headers:
        """The X-RateLimit-* response headers."""
        limit, remaining, reset = self.header_numbers()
        return [
            (b"x-ratelimit-limit", b"%d" % limit),
            (b"x-ratelimit-remaining", b"%d" % remaining),
            (b"x-ratelimit-reset", b"%d" % reset),
        ]


def rate_limit_error(
    status: RateLimitStatus, now_ms: int, which_limit: str = ""
) -> RateLimitExceeded:
    """The 429 error, with the limit that is exceeded and the time of its reset."""
    reset = datetime.fromtimestamp(status.reset_ms / 1000, UTC)
    return RateLimitExceeded(
        status.limit,
        reset.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        max(1, -(-(status.reset_ms - now_ms) // 1000)),
        which_limit,
    )


class WindowEntry(Struct, frozen=True, gc=False):
    """Older requests within one STEP."""

    last_ms: int
    requests: int
    bytes: int
    items: int


class UsedShare(NamedTuple):
    """Shares of a limit that are used, 0 to 1."""

    requests: float
    bytes: float
    items: float


class RateLimitBucket:
    """Counts of the last 60 s against one limit.

    A class with slots: updating a Struct takes three times as long, and each request updates this.
    """

    __slots__ = (
        "burst_bytes",
        "burst_items",
        "bytes",
        "first_ms",
        "items",
        "last_ms",
        "leaves_ms",
        "limit",
        "older",
        "older_bytes",
        "older_items",
        "older_requests",
        "requests",
        "settled_ms",
        "subject",
    )

    def __init__(self, limit: Limit, subject: str, now_ms: int) -> None:
        self.subject = subject
        """Whose bucket it is, as the 429 message names it."""
        self.requests = 0
        self.bytes = 0
        self.items = 0
        self.first_ms = self.last_ms = now_ms
        """Time of the first and the last request of the newest entry."""
        self.older: list[WindowEntry] = []
        self.older_requests = self.older_bytes = self.older_items = 0
        """Parts of the counts that are in older entries; the rest is in the newest."""
        self.leaves_ms = FAR_FUTURE_MS
        """When the oldest entry leaves the window."""
        self.settled_ms = now_ms + STEP_MS
        """Until then no entry leaves the window and none begins."""
        self.agree(limit)

    def agree(self, limit: Limit) -> None:
        """Change the limit; counts stay."""
        self.limit = limit
        self.burst_items = self.older_items + max(BURST_ITEMS, limit.items // BURST_SHARE)
        """Items, and bytes, at which the newest entry is full."""
        self.burst_bytes = self.older_bytes + max(BURST_BYTES, limit.bytes // BURST_SHARE)

    def fits(self, now_ms: int, cost: int = 1, size: int = 0, items: int = 0) -> bool:
        """Whether the request fits; one above the whole limit fits an empty bucket.

        Once the bytes or items are used up nothing fits, not even a request without any.
        """
        if not self.first_ms <= now_ms < self.settled_ms:
            self._expire(now_ms)
        return self.has_room(cost, size, items)

    def has_room(self, cost: int, size: int, items: int) -> bool:
        """Whether it fits by the entries as they are."""
        limit = self.limit
        return (
            (self.requests + cost <= limit.requests or not self.requests)
            and (self.bytes + (size or 1) <= limit.bytes or not self.bytes)
            and (self.items + (items or 1) <= limit.items or not self.items)
            and self.items < self.burst_items
            and self.bytes < self.burst_bytes
        )

    def add(self, now_ms: int, cost: int, size: int, items: int = 0) -> int:
        """Count a request that fits; returns the remaining requests."""
        self.last_ms = now_ms
        self.bytes += size
        self.items += items
        self.requests = used = self.requests + cost
        return self.limit.requests - used

    def used_share(self, now_ms: int) -> UsedShare:
        """The shares of the limit; changes nothing, so another thread may ask."""
        return self._share_of(*self._counts(now_ms))

    def _counts(self, now_ms: int) -> tuple[int, int, int]:
        """Requests, bytes and items in the window."""
        if now_ms - self.last_ms >= WINDOW_MS:
            return 0, 0, 0
        gone = [entry for entry in self.older if entry.last_ms + WINDOW_MS <= now_ms]
        return (
            self.requests - sum(entry.requests for entry in gone),
            self.bytes - sum(entry.bytes for entry in gone),
            self.items - sum(entry.items for entry in gone),
        )

    def _share_of(self, requests: int, size: int, items: int) -> UsedShare:
        limit = self.limit
        return UsedShare(
            requests / (limit.requests or 1), size / (limit.bytes or 1), items / (limit.items or 1)
        )

    def status(self) -> RateLimitStatus:
        """Limit, remaining requests and reset."""
        resets = self.last_ms + WINDOW_MS if self.leaves_ms == FAR_FUTURE_MS else self.leaves_ms
        return RateLimitStatus(
            self.limit.requests, max(0, self.limit.requests - self.requests), resets
        )

    def header_numbers(self) -> HeaderNumbers:
        """What the X-RateLimit-* response headers show."""
        return self.status().header_numbers()

    def headers(self) -> Headers:
        """The X-RateLimit-* response headers."""
        return self.status().headers()

    def exceeded(self, cost: int = 1, size: int = 0, items: int = 0) -> "ExceededLimit":
        """The limit that a request exceeds, and when it fits."""
        limit = self.limit
        max_requests = limit.requests - min(cost, limit.requests)
        max_bytes = limit.bytes - min(size or 1, limit.bytes)
        max_items = limit.items - min(items or 1, limit.items)
        requests, size_used, items_used = self.requests, self.bytes, self.items
        resets = self.last_ms + WINDOW_MS
        if requests > max_requests:
            exceeded = f"{limit.requests:,} requests"
        elif size_used > max_bytes:
            exceeded = f"{limit.bytes:,} bytes"
        elif items_used > max_items:
            exceeded = f"{limit.items:,} items"
        else:
            return self._burst()
        for entry in self.older:
            requests -= entry.requests
            size_used -= entry.bytes
            items_used -= entry.items
            if requests <= max_requests and size_used <= max_bytes and items_used <= max_items:
                resets = entry.last_ms + WINDOW_MS
                break
        message = f"The limit for {self.subject} is {exceeded} per minute."
        return ExceededLimit(RateLimitStatus(limit.requests, 0, resets), message)

    def _burst(self) -> "ExceededLimit":
        """The burst limit that a request exceeds."""
        items = max(BURST_ITEMS, self.limit.items // BURST_SHARE)
        exceeded = f"{items:,} items"
        if self.items < self.burst_items:
            exceeded = f"{max(BURST_BYTES, self.limit.bytes // BURST_SHARE):,} bytes"
        message = f"The limit for {self.subject} is {exceeded} within {STEP_MS // 1000} seconds."
        return ExceededLimit(
            RateLimitStatus(self.limit.requests, 0, self.first_ms + STEP_MS), message
        )

    def _expire(self, now_ms: int) -> None:
        """Drop entries that left the window, and begin a new entry after STEP."""
        if now_ms < self.first_ms - WINDOW_MS:  # the clock was set back: all times are void
            self.older, self.requests, self.bytes, self.items = [], 0, 0, 0
            self.older_requests = self.older_bytes = self.older_items = 0
            self.first_ms = self.last_ms = now_ms
        elif now_ms - self.first_ms >= STEP_MS:
            self._begin_entry(now_ms)
        while self.older and self.older[0].last_ms + WINDOW_MS <= now_ms:
            self._drop_oldest()
        self.leaves_ms = self.older[0].last_ms + WINDOW_MS if self.older else FAR_FUTURE_MS
        self.settled_ms = min(self.first_ms + STEP_MS, self.leaves_ms)
        self.agree(self.limit)

    def _begin_entry(self, now_ms: int) -> None:
        """Close the newest entry."""
        newest = (
            self.requests - self.older_requests,
            self.bytes - self.older_bytes,
            self.items - self.older_items,
        )
        if any(newest):
            self.older.append(WindowEntry(self.last_ms, *newest))
            self.older_requests, self.older_bytes = self.requests, self.bytes
            self.older_items = self.items
        self.first_ms = self.last_ms = now_ms

    def _drop_oldest(self) -> None:
        oldest = self.older.pop(0)
        self.requests -= oldest.requests
        self.bytes -= oldest.bytes
        self.items -= oldest.items
        self.older_requests -= oldest.requests
        self.older_bytes -= oldest.bytes
        self.older_items -= oldest.items


class ExceededLimit(Struct, frozen=True, gc=False):
    """The limit that a request exceeds."""

    status: RateLimitStatus
    """Nothing remains; at `reset_ms` the same request fits."""
    message: str
    """Names the limit."""


def count_in_all(
    buckets: Sequence[RateLimitBucket], now_ms: int, cost: int = 1, size: int = 0, items: int = 0
) -> RateLimitBucket | ExceededLimit:
    """Count `cost` requests, `size` bytes and the items in all of the buckets, or in none.

    Returns the bucket with the fewest remaining requests, or the first exceeded limit.
    """
    for bucket in buckets:
        if not bucket.fits(now_ms, cost, size, items):
            return bucket.exceeded(cost, size, items)
    return add_to_all(buckets, now_ms, cost, size, items)


def add_to_all(
    buckets: Sequence[RateLimitBucket], now_ms: int, cost: int, size: int, items: int
) -> RateLimitBucket:
    """Count a request that fits; the bucket with the fewest remaining requests."""
    nearest, fewest = buckets[0], FAR_FUTURE_MS
    for bucket in buckets:
        if (remaining := bucket.add(now_ms, cost, size, items)) < fewest:
            nearest, fewest = bucket, remaining
    return nearest


class RateLimiter:
    """Creates buckets with the counts of this process, in bounded memory.

    Those of `SharedRateLimiter` have the counts of all processes.
    """

    def __init__(self) -> None:
        self.problem: str | None = None
        """Why counts are not shared with other processes."""
        self.reserves = False
        """Whether `reserve` does anything: small limits are counted by a server."""
        self._anonymous: OrderedDict[Hashable, RateLimitBucket] = OrderedDict()
        self.find_anonymous: Callable[[Hashable], RateLimitBucket | None] = self._anonymous.get
        """Returns the bucket of a client network, if there is one."""

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
        """Wait until it is known whether a request fits small limits of several machines."""

    def tenant_bucket(
        self, key: Hashable, limit: Limit, subject: str, now_ms: int
    ) -> RateLimitBucket:
        """A new bucket of a tenant; the caller keeps it."""
        return self.new_bucket(key, limit, subject, now_ms)

    def anonymous_bucket(
        self, key: Hashable, limit: Limit, subject: str, now_ms: int
    ) -> RateLimitBucket:
        """The bucket of an unauthenticated client network; an LRU cache bounds their number."""
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
