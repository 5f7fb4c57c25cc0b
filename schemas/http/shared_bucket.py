"""SharedBucket: a bucket whose counts are those of all processes, as of a moment ago."""

from typing import Protocol

from schemas.http.rate_limit import SMALL_LIMIT, STEP_MS, ExceededLimit, RateLimitBucket
from schemas.http.rate_limit_headers import WINDOW_MS, HeaderNumbers, RateLimitStatus
from schemas.http.shared_counts import Counted
from schemas.plans import Limit

KNOWN_MS = WINDOW_MS + STEP_MS
"""Age at which nothing of the shared counts is in the window any more."""
SPARE_SHARE = 1_000
"""A process always passes this part of a limit, or one request, before it asks again."""
UNKNOWN_SHARE = 8
"""The part of a limit that it passes before it knows the counts of all."""
RECENT_MS = 100
"""Age up to which the counts of a small limit that is not half used need not be looked at."""


RESERVED_MS = 1_000
"""Time for which a reserved request may pass; it is counted at the time when it was reserved."""


class CountExchange(Protocol):
    """Exchanges the counts of buckets with other processes."""

    @property
    def is_exact(self) -> bool:
        """Whether counts can be exchanged at once."""

    def exchange_now(self, bucket: "SharedBucket") -> bool:
        """Exchange the counts of this bucket at once; else soon, and False."""

    def share(self, bucket: "SharedBucket") -> None:
        """Exchange the counts of this bucket soon."""

    def share_later(self, bucket: "SharedBucket", in_ms: int) -> None:
        """Exchange the counts of a full bucket when it has room again."""


class SharedBucket(RateLimitBucket):
    """A bucket whose counts are those of all processes, as of a moment ago."""

    __slots__ = (
        "_limiter",
        "all_bytes",
        "all_items",
        "all_requests",
        "allowance",
        "asked_requests",
        "is_queued",
        "known_leaves_ms",
        "known_ms",
        "name",
        "reserved_ms",
        "reserved_requests",
        "unsent_bytes",
        "unsent_items",
        "unsent_requests",
    )

    def __init__(
        self, limiter: CountExchange, name: bytes, limit: Limit, subject: str, now_ms: int
    ) -> None:
        super().__init__(limit, subject, now_ms)
        self._limiter = limiter
        self.name = name
        self.all_requests = self.all_bytes = self.all_items = 0
        """Counts of all processes, with those of this one that they do not know yet."""
        self.known_leaves_ms = WINDOW_MS
        """Milliseconds from `known_ms` until the oldest of them leave the window."""
        self.unsent_requests = self.unsent_bytes = self.unsent_items = 0
        self.asked_requests = 0
        """Requests since the counts of all processes were received."""
        self.allowance = 0
        """Its part of what remained then, by the number of processes, and one that may begin."""
        self.known_ms = -KNOWN_MS
        self.is_queued = False
        """Whether its counts are about to be exchanged."""
        self.reserved_requests = 0
        """Requests that are in the counts of all already, for those that are about to pass."""
        self.reserved_ms = now_ms

    def fits(self, now_ms: int, cost: int = 1, size: int = 0, items: int = 0) -> bool:
        """Whether it fits by the counts of this process and by those of all."""
        if not super().fits(now_ms, cost, size, items):
            return False
        limit = self.limit
        if 0 < cost <= self.reserved(now_ms):
            return self._fits_size(size, items)
        if limit.requests <= SMALL_LIMIT and self._limiter.is_exact:
            age_ms = now_ms - self.known_ms
            fits = self._fits_all(cost, size, items)
            if 0 <= age_ms < self.known_leaves_ms and not fits:
                return False  # nothing has left the window since
            if 0 <= age_ms < RECENT_MS and self.all_requests + cost <= limit.requests // 2:
                return fits  # it is exchanged when it is added
            if self._limiter.exchange_now(self):
                return self._fits_all(cost, size, items)
        if not 0 <= now_ms - self.known_ms < KNOWN_MS:
            self._limiter.share(self)
            return self.asked_requests < max(1, limit.requests // UNKNOWN_SHARE)
        fits = self._fits_all(cost, size, items) and self.asked_requests < self.allowance
        if not fits:
            self._limiter.share(self)
            self._limiter.share_later(self, self.known_ms + self.known_leaves_ms - now_ms)
        return fits

    def _fits_all(self, cost: int, size: int, items: int) -> bool:
        return (
            self.all_requests + cost <= self.limit.requests or not self.all_requests
        ) and self._fits_size(size, items)

    def _fits_size(self, size: int, items: int) -> bool:
        limit = self.limit
        return (self.all_bytes + (size or 1) <= limit.bytes or not self.all_bytes) and (
            self.all_items + (items or 1) <= limit.items or not self.all_items
        )

    def reserved(self, now_ms: int) -> int:
        """Requests that may pass without a look at the counts of all, because they are in them."""
        if self.reserved_requests and abs(now_ms - self.reserved_ms) >= RESERVED_MS:
            self.reserved_requests = 0
        return self.reserved_requests

    def may_reserve(self, now_ms: int, cost: int) -> bool:
        """Whether to ask for room: nothing that is known rejects the request."""
        if not super().fits(now_ms, cost):
            return False
        is_known = 0 <= now_ms - self.known_ms < self.known_leaves_ms
        taken = self.all_requests - self.reserved(now_ms)
        return not is_known or not taken or taken + cost <= self.limit.requests

    def add(self, now_ms: int, cost: int, size: int, items: int = 0) -> int:
        self.last_ms = now_ms
        self.requests = used = self.requests + cost
        self.bytes += size
        self.items += items
        if 0 < cost <= self.reserved_requests:
            self.reserved_requests -= cost
            cost = 0  # they are in the counts of all
        self.all_requests = all_used = self.all_requests + cost
        self.all_bytes += size
        self.all_items += items
        self.unsent_requests += cost
        self.unsent_bytes += size
        self.unsent_items += items
        self.asked_requests += cost
        if self.limit.requests <= SMALL_LIMIT and self._limiter.is_exact:
            self._limiter.exchange_now(self)
            all_used = self.all_requests
        elif not self.is_queued and (cost or size or items):
            self._limiter.share(self)
        return self.limit.requests - (used if used > all_used else all_used)

    def unsent(self) -> Counted:
        """What is to be added to the shared counts."""
        return Counted(self.name, self.unsent_requests, self.unsent_bytes, self.unsent_items)

    def take_unsent(self) -> Counted:
        """The same; it counts as sent."""
        unsent = self.unsent()
        self.unsent_requests = self.unsent_bytes = self.unsent_items = 0
        return unsent

    def put_back(self, unsent: Counted) -> None:
        """Take back what could not be added to the shared counts."""
        self.unsent_requests += unsent.requests
        self.unsent_bytes += unsent.bytes
        self.unsent_items += unsent.items

    def receive(self, counted: Counted, now_ms: int) -> None:
        """Counts of all processes; what came since they were asked for is added."""
        self.all_requests = counted.requests + self.unsent_requests
        self.all_bytes = counted.bytes + self.unsent_bytes
        self.all_items = counted.items + self.unsent_items
        self.known_leaves_ms = counted.leaves_ms
        self.asked_requests = self.unsent_requests
        remaining = self.limit.requests - counted.requests
        self.allowance = max(
            1, self.limit.requests // SPARE_SHARE, -(-remaining // (counted.processes + 1))
        )
        self.known_ms = now_ms
        if counted.reserved:
            self.reserved_requests = self.reserved(now_ms) + counted.reserved
            self.reserved_ms = now_ms

    def count_alone(self, now_ms: int) -> None:
        """Take the counts of this process for those of all, which cannot be reached."""
        leaves_ms = max(0, min(self.leaves_ms, self.last_ms + WINDOW_MS) - now_ms)
        own = Counted(
            self.name,
            self.requests - self.unsent_requests,
            self.bytes - self.unsent_bytes,
            self.items - self.unsent_items,
            leaves_ms,
            processes=0,
        )
        self.receive(own, now_ms)

    def _counts(self, now_ms: int) -> tuple[int, int, int]:
        """Those of all processes while they are known, else of this one."""
        own = super()._counts(now_ms)
        if not 0 <= now_ms - self.known_ms < self.known_leaves_ms:
            return own
        shared = (self.all_requests, self.all_bytes, self.all_items)
        return max(own[0], shared[0]), max(own[1], shared[1]), max(own[2], shared[2])

    def status(self) -> RateLimitStatus:
        own = super().status()
        if abs(self.last_ms - self.known_ms) >= KNOWN_MS:
            return own
        remaining = min(own.remaining, max(0, self.limit.requests - self.all_requests))
        return RateLimitStatus(own.limit, remaining, own.reset_ms)

    def header_numbers(self) -> HeaderNumbers:
        limit, remaining, reset = super().header_numbers()
        if abs(self.last_ms - self.known_ms) < KNOWN_MS:
            remaining = min(remaining, max(0, limit - self.all_requests))
        return limit, remaining, reset

    def exceeded(self, cost: int = 1, size: int = 0, items: int = 0) -> ExceededLimit:
        limit = self.limit
        if self.all_requests + cost > limit.requests:
            exceeded = f"{limit.requests:,} requests"
        elif self.all_bytes + (size or 1) > limit.bytes:
            exceeded = f"{limit.bytes:,} bytes"
        elif self.all_items + (items or 1) > limit.items:
            exceeded = f"{limit.items:,} items"
        elif self.requests + cost <= limit.requests and (
            self.items < self.burst_items and self.bytes < self.burst_bytes
        ):
            # Its part of the rest is used; the next exchange may give it more.
            return ExceededLimit(
                RateLimitStatus(limit.requests, 0, self.last_ms + STEP_MS),
                f"The limit for {self.subject} is {limit.requests:,} requests per minute.",
            )
        else:
            return super().exceeded(cost, size, items)
        resets_ms = self.known_ms + self.known_leaves_ms
        if not self.has_room(cost, size, items):  # its own entries do not leave with all others'
            resets_ms = max(resets_ms, super().exceeded(cost, size, items).status.reset_ms)
        resets = RateLimitStatus(limit.requests, 0, resets_ms)
        return ExceededLimit(resets, f"The limit for {self.subject} is {exceeded} per minute.")
