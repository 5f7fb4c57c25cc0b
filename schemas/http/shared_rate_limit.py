"""SharedRateLimiter: rate limits over all processes, without a round trip per request.

A request counts in its process at once. What was counted is added to the shared counts within
milliseconds, for all buckets in one round trip, which returns the counts of all processes. Between
two round trips a process passes at most a part of what remains, so that all of them together hold
the limit. When the shared counts are away the process counts alone: requests pass.
"""

import asyncio
import logging
from collections.abc import Hashable, Sequence
from typing import Self

from schemas.http.rate_limit import (
    STEP_MS,
    ExceededLimit,
    LocalRateLimiter,
    RateLimitBucket,
)
from schemas.http.rate_limit_headers import WINDOW_MS, HeaderNumbers, RateLimitStatus
from schemas.http.shared_counts import (
    Counted,
    MachineCounts,
    SharedCounts,
    bucket_name,
    counts_path,
    server_address,
    server_counts,
)
from schemas.plans import Limit
from schemas.runtime.clock import Clock, now_ms
from schemas.runtime.settings import Settings
from schemas.telemetry.instruments import LIMIT_FAILURES

log = logging.getLogger(__name__)

EXCHANGE_SECONDS = 0.002
"""Time from the first request that is not shared yet until all are."""
RETRY_SECONDS = 1.0
KNOWN_MS = WINDOW_MS + STEP_MS
"""Age at which nothing of the shared counts is in the window any more."""
SPARE_SHARE = 1_000
"""A process always passes this part of a limit, or one request, before it asks again."""
UNKNOWN_SHARE = 8
"""The part of a limit that it passes before it knows the counts of all."""
MAX_EXCHANGED = 1_000


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
        "unsent_bytes",
        "unsent_items",
        "unsent_requests",
    )

    def __init__(
        self, limiter: "SharedRateLimiter", name: bytes, limit: Limit, subject: str, now_ms: int
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

    def fits(self, now_ms: int, cost: int = 1, size: int = 0, items: int = 0) -> bool:
        """Whether it fits by the counts of this process and by those of all."""
        if not super().fits(now_ms, cost, size, items):
            return False
        limit = self.limit
        if not 0 <= now_ms - self.known_ms < KNOWN_MS:
            self._limiter.share(self)
            return self.asked_requests < max(1, limit.requests // UNKNOWN_SHARE)
        fits = (
            (self.all_requests + cost <= limit.requests or not self.all_requests)
            and (self.all_bytes + (size or 1) <= limit.bytes or not self.all_bytes)
            and (self.all_items + (items or 1) <= limit.items or not self.all_items)
            and self.asked_requests < self.allowance
        )
        if not fits:
            self._limiter.share(self)
            self._limiter.share_later(self, self.known_ms + self.known_leaves_ms - now_ms)
        return fits

    def add(self, now_ms: int, cost: int, size: int, items: int = 0) -> int:
        self.last_ms = now_ms
        self.requests = used = self.requests + cost
        self.bytes += size
        self.items += items
        self.all_requests = all_used = self.all_requests + cost
        self.all_bytes += size
        self.all_items += items
        self.unsent_requests += cost
        self.unsent_bytes += size
        self.unsent_items += items
        self.asked_requests += cost
        if not self.is_queued:
            self._limiter.share(self)
        return self.limit.requests - (used if used > all_used else all_used)

    def take_unsent(self) -> Counted:
        """What is to be added to the shared counts; it counts as sent."""
        unsent = Counted(self.name, self.unsent_requests, self.unsent_bytes, self.unsent_items)
        self.unsent_requests = self.unsent_bytes = self.unsent_items = 0
        return unsent

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

    def status(self) -> RateLimitStatus:
        own = super().status()
        if not 0 <= self.last_ms - self.known_ms < KNOWN_MS:
            return own
        remaining = min(own.remaining, max(0, self.limit.requests - self.all_requests))
        return RateLimitStatus(own.limit, remaining, own.reset_ms)

    def header_numbers(self) -> HeaderNumbers:
        limit, remaining, reset = super().header_numbers()
        if 0 <= self.last_ms - self.known_ms < KNOWN_MS:
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
        else:
            return super().exceeded(cost, size, items)
        resets = RateLimitStatus(limit.requests, 0, self.known_ms + self.known_leaves_ms)
        return ExceededLimit(resets, f"The limit for {self.subject} is {exceeded} per minute.")


class SharedRateLimiter(LocalRateLimiter):
    """Shares counts with the processes of this machine, or through a server with all machines."""

    def __init__(
        self,
        service: str,
        clock: Clock,
        machine: SharedCounts,
        server: SharedCounts | None = None,
        address: str = "",
    ) -> None:
        super().__init__()
        self._service = service
        self._clock = clock
        self._machine = machine
        self._server = server
        self._address = address
        self._unshared: dict[SharedBucket, None] = {}
        self._full: set[SharedBucket] = set()
        """Buckets whose counts are asked for when the oldest of them leave the window."""
        self._exchange: asyncio.Task[None] | None = None
        self._server_away_until = 0.0

    @classmethod
    def for_settings(cls, settings: Settings, service: str, clock: Clock = now_ms) -> Self:
        """The limiter of a service; its name keeps its buckets apart from those of others."""
        machine = MachineCounts(counts_path(settings, service))
        address = server_address(settings.limits_url)
        return cls(service, clock, machine, server_counts(settings), address)

    def new_bucket(self, key: Hashable, limit: Limit, subject: str, now_ms: int) -> SharedBucket:
        return SharedBucket(self, bucket_name(self._service, key), limit, subject, now_ms)

    def share(self, bucket: SharedBucket) -> None:
        """Exchange the counts of this bucket soon."""
        self._unshared[bucket] = None
        bucket.is_queued = True
        if self._exchange is None:
            self._exchange = asyncio.get_running_loop().create_task(self._exchange_all())

    def share_later(self, bucket: SharedBucket, in_ms: int) -> None:
        """Exchange the counts of a full bucket when it has room again."""
        if bucket not in self._full:
            self._full.add(bucket)
            loop = asyncio.get_running_loop()
            loop.call_later(max(0, in_ms) / 1000, self._share_full, bucket)

    def _share_full(self, bucket: SharedBucket) -> None:
        self._full.discard(bucket)
        self.share(bucket)

    async def close(self) -> None:
        """Share what is left and close the connections."""
        if self._exchange is not None:
            await self._exchange
        for counts in (self._machine, self._server):
            if counts is not None:
                await counts.close()

    async def _exchange_all(self) -> None:
        try:
            while self._unshared:
                await asyncio.sleep(EXCHANGE_SECONDS)
                buckets = list(self._unshared)[:MAX_EXCHANGED]
                for bucket in buckets:
                    del self._unshared[bucket]
                    bucket.is_queued = False
                await self._exchange_counts(buckets)
        finally:
            self._exchange = None

    async def _exchange_counts(self, buckets: Sequence[SharedBucket]) -> None:
        unsent = [bucket.take_unsent() for bucket in buckets]
        loop = asyncio.get_running_loop()
        counted = None
        if self._server is not None and loop.time() >= self._server_away_until:
            counted = await self._try(self._server, unsent)
            if counted is None:
                self._server_away_until = loop.time() + RETRY_SECONDS
        if counted is None:
            counted = await self._try(self._machine, unsent)
        at_ms = self._clock()
        if counted is None:
            for bucket in buckets:
                bucket.count_alone(at_ms)
            return
        for bucket, received in zip(buckets, counted, strict=True):
            bucket.receive(received, at_ms)

    async def _try(
        self, counts: SharedCounts, unsent: Sequence[Counted]
    ) -> Sequence[Counted] | None:
        """The counts of all; None when they cannot be reached."""
        is_server = counts is self._server
        try:
            counted = await counts.add(unsent)
        except OSError as error:
            self._note_failure(is_server, str(error))
            return None
        if is_server or self._server is None:
            self.problem = None
        return counted

    def _note_failure(self, is_server: bool, reason: str) -> None:
        LIMIT_FAILURES.labels("server" if is_server else "machine").inc()
        where = f"server {self._address}" if is_server else "shared file"
        if self.problem is None:
            log.warning("rate limits not shared", extra={"counts": where, "reason": reason})
        scope = "machine" if is_server else "process"
        self.problem = f"rate limits are those of each {scope}: the {where} does not answer"
