"""SharedRateLimiter: rate limits over all processes, without a round trip per request.

A request counts in its process at once. What was counted is added to the shared counts within
milliseconds, for all buckets in one round trip, which returns the counts of all processes. Between
two round trips a process passes at most a part of what remains, so that all of them together hold
the limit. When the shared counts are away the process counts alone: requests pass.

Small limits are exact. Where only the processes of this machine share them, each request looks at
the shared counts and adds to them at once, which takes some microseconds. Where several machines
do, each request waits for a round trip in which the server counts it if it fits (`reserve`).
"""

import asyncio
import logging
from collections.abc import Hashable, Sequence
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from schemas.http.limit_counts import (
    Counted,
    MachineCounts,
    ServerCounts,
    SharedCounts,
    bucket_name,
    counts_path,
    server_address,
    server_counts,
)
from schemas.http.limits import (
    SMALL_LIMIT,
    STEP_MS,
    WINDOW_MS,
    ExceededLimit,
    RateLimitBucket,
    RateLimiter,
    RateLimitStatus,
)
from schemas.plans import Limit
from schemas.runtime.clock import Clock, now_ms
from schemas.runtime.settings import Settings
from schemas.telemetry.instruments import LIMIT_FAILURES

log = logging.getLogger(__name__)

EXCHANGE_SECONDS = 0.002
"""Time from the first request that is not shared yet until all are."""
RETRY_SECONDS = 1.0
MAX_EXCHANGED = 1_000
MAX_WAIT_SECONDS = 0.25
"""Until a request goes on without an answer of the server, by the counts that are known."""

KNOWN_MS = WINDOW_MS + STEP_MS
"""Age at which nothing of the shared counts is in the window any more."""
PROCESSES = 8
"""A process passes this part of what remains until it exchanges its counts, or of the whole limit
while it does not know them."""
SPARE_SHARE = 1_000
"""It always passes this part of a limit, or one request."""
RECENT_MS = 100
"""Age up to which the counts of a small limit that is not half used need not be looked at."""
RESERVED_MS = 1_000
"""Time for which a reserved request may pass; it is counted at the time when it was reserved."""


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
        """Its part of what remained then."""
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
        age_ms = now_ms - self.known_ms
        if limit.requests <= SMALL_LIMIT and self._limiter.is_exact:
            fits = self._fits_all(cost, size, items)
            if 0 <= age_ms < self.known_leaves_ms and not fits:
                return False  # nothing has left the window since
            if 0 <= age_ms < RECENT_MS and self.all_requests + cost <= limit.requests // 2:
                return fits  # it is exchanged when it is added
            if self._limiter.exchange_now(self):
                return self._fits_all(cost, size, items)
        if not 0 <= age_ms < self.known_leaves_ms:
            self._limiter.share(self)
            is_small = limit.requests <= SMALL_LIMIT and 0 <= age_ms < KNOWN_MS
            asked = 1 if is_small else max(1, limit.requests // PROCESSES)
            return not cost or self.asked_requests < asked
        fits = self._fits_all(cost, size, items)
        # what costs no request is a part of one that is counted
        fits = fits and (not cost or self.asked_requests < self.allowance)
        if not fits:
            self._limiter.share(self)
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
        limit = self.limit.requests
        self.allowance = max(1, limit // SPARE_SHARE, (limit - counted.requests) // PROCESSES)
        self.known_ms = now_ms
        if counted.reserved:
            self.reserved_requests = self.reserved(now_ms) + counted.reserved
            self.reserved_ms = now_ms

    def receive_of_server(self, counted: Counted, now_ms: int) -> None:
        """The same of a server, whose replies may overtake one another.

        Requests do not become fewer before the oldest of them leave the window.
        """
        if 0 <= now_ms - self.known_ms < self.known_leaves_ms:
            at_least = self.all_requests - self.unsent_requests
            counted = replace(counted, requests=max(counted.requests, at_least))
        self.receive(counted, now_ms)

    def count_alone(self, now_ms: int) -> None:
        """Take the counts of this process for those of all, which cannot be reached."""
        leaves_ms = max(0, min(self.leaves_ms, self.last_ms + WINDOW_MS) - now_ms)
        own = Counted(
            self.name,
            self.requests - self.unsent_requests,
            self.bytes - self.unsent_bytes,
            self.items - self.unsent_items,
            leaves_ms,
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


class Reservation(Struct, frozen=True):
    """A request that waits until a server has counted it in small limits, if it fits."""

    buckets: Sequence[SharedBucket]
    cost: int
    waiter: "asyncio.Future[None]"


def end_wait(waiter: "asyncio.Future[None]") -> None:
    """Let a request go on, if it still waits."""
    if not waiter.done():
        waiter.set_result(None)


class SharedRateLimiter(RateLimiter):
    """Shares counts with the processes of this machine, or through a server with all machines."""

    def __init__(
        self,
        service: str,
        clock: Clock,
        machine: MachineCounts,
        server: ServerCounts | None = None,
        address: str = "",
    ) -> None:
        super().__init__()
        self._service = service
        self._clock = clock
        self._machine = machine
        self._server = server
        self._address = address
        self._unshared: dict[SharedBucket, None] = {}
        self._exchange: asyncio.Task[None] | None = None
        self._waiting: list[Reservation] = []
        self._reserving: asyncio.Task[None] | None = None
        self.reserves = server is not None
        self._server_away_until = 0.0
        self._machine_used_at = float("-inf")
        self._is_alone = False
        """Whether the counts of others could not be exchanged for a while."""

    @classmethod
    def for_settings(cls, settings: Settings, service: str, clock: Clock = now_ms) -> Self:
        """The limiter of a service; its name keeps its buckets apart from those of others."""
        machine = MachineCounts(counts_path(settings, service))
        address = server_address(settings.limits_url)
        return cls(service, clock, machine, server_counts(settings), address)

    @property
    def is_exact(self) -> bool:
        """Whether counts can be exchanged at once: in a file of this machine, that can be used."""
        return self._server is None and not self._is_alone

    def exchange_now(self, bucket: SharedBucket) -> bool:
        """Exchange the counts of a bucket at once; else soon, and False."""
        try:
            [counted] = self._machine.add_now([bucket.unsent()])
        except OSError:
            self.share(bucket)
            return False
        bucket.take_unsent()
        bucket.receive(counted, self._clock())
        self._machine_used_at = asyncio.get_running_loop().time()
        return True

    async def reserve(self, buckets: Sequence[RateLimitBucket], now_ms: int, cost: int = 1) -> None:
        """Wait until the counts of all machines are known to have room for a request, or not.

        For small limits, and only while the server answers; then `fits` tells which. Nothing is
        asked for where one of the limits is known to have no room. The request waits for a future:
        on the fast path no task runs it.
        """
        small = [
            bucket
            for bucket in buckets
            if isinstance(bucket, SharedBucket) and bucket.limit.requests <= SMALL_LIMIT
        ]
        if (
            small
            and cost
            and self._is_server_used()
            and self.problem is None
            and all(bucket.may_reserve(now_ms, cost) for bucket in small)
        ):
            loop = asyncio.get_running_loop()
            waiter = loop.create_future()
            self._waiting.append(Reservation(small, cost, waiter))
            if self._reserving is None:
                self._reserving = loop.create_task(self._reserve_for_all())
            timer = loop.call_later(MAX_WAIT_SECONDS, end_wait, waiter)
            try:
                await waiter
            finally:
                timer.cancel()
                waiter.cancel()  # of a request that is gone: no room is asked for it

    async def _reserve_for_all(self) -> None:
        """Ask for those who wait, in one round trip; who comes meanwhile shares the next one."""
        try:
            while self._waiting:
                asked, self._waiting = self._waiting[:MAX_EXCHANGED], self._waiting[MAX_EXCHANGED:]
                try:
                    await self._reserve_on_server([one for one in asked if not one.waiter.done()])
                finally:
                    for one in asked:
                        end_wait(one.waiter)
                await asyncio.sleep(0)  # they take their room before more is asked for
        finally:
            self._reserving = None

    def _is_server_used(self) -> bool:
        return (
            self._server is not None
            and asyncio.get_running_loop().time() >= self._server_away_until
        )

    async def _reserve_on_server(self, reservations: Sequence[Reservation]) -> None:
        """Let the server count requests; while it is away the buckets go on by what they know."""
        server = self._server
        if server is None or not self._is_server_used():
            return
        asked = [
            (bucket, bucket.take_unsent(), one.cost)
            for one in reservations
            for bucket in one.buckets
        ]
        try:
            counted = await server.reserve(
                [(unsent, bucket.limit.requests, cost) for bucket, unsent, cost in asked]
            )
        except OSError as error:
            self._note_server_failure(str(error))
            for bucket, unsent, _ in asked:
                bucket.put_back(unsent)
                self.share(bucket)
            return
        self.problem = None
        at_ms = self._clock()
        for (bucket, *_), received in zip(asked, counted, strict=True):
            bucket.receive_of_server(received, at_ms)

    def new_bucket(self, key: Hashable, limit: Limit, subject: str, now_ms: int) -> SharedBucket:
        return SharedBucket(self, bucket_name(self._service, key), limit, subject, now_ms)

    def share(self, bucket: SharedBucket) -> None:
        """Exchange the counts of this bucket soon."""
        self._unshared[bucket] = None
        bucket.is_queued = True
        if self._exchange is None:
            self._exchange = asyncio.get_running_loop().create_task(self._exchange_all())

    async def close(self) -> None:
        """Share what is left and close the connections."""
        if self._reserving is not None:
            await self._reserving
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
        counted, receive = None, SharedBucket.receive_of_server
        if self._server is not None and self._is_server_used():
            counted = await self._try(self._server, unsent)
        if counted is None:
            counted, receive = await self._try(self._machine, unsent), SharedBucket.receive
        at_ms = self._clock()
        if counted is None and loop.time() < self._machine_used_at + RETRY_SECONDS:
            # Others hold the lock at this moment: what is known is good enough meanwhile.
            for bucket, one in zip(buckets, unsent, strict=True):
                bucket.put_back(one)
                self.share(bucket)
            return
        self._is_alone = counted is None
        if counted is None:
            for bucket in buckets:
                bucket.count_alone(at_ms)
            return
        for bucket, received in zip(buckets, counted, strict=True):
            receive(bucket, received, at_ms)

    async def _try(
        self, counts: SharedCounts, unsent: Sequence[Counted]
    ) -> Sequence[Counted] | None:
        """The counts of all; None when they cannot be reached."""
        is_server = counts is self._server
        try:
            counted = await counts.add(unsent)
        except OSError as error:
            if is_server:
                self._note_server_failure(str(error))
            else:
                self._note_failure(is_server, str(error))
            return None
        if is_server or self._server is None:
            self.problem = None
        if not is_server:
            self._machine_used_at = asyncio.get_running_loop().time()
        return counted

    def _note_server_failure(self, reason: str) -> None:
        """Do not ask the server for a while."""
        self._server_away_until = asyncio.get_running_loop().time() + RETRY_SECONDS
        self._note_failure(is_server=True, reason=reason)

    def _note_failure(self, is_server: bool, reason: str) -> None:
        LIMIT_FAILURES.labels("server" if is_server else "machine").inc()
        where = f"server {self._address}" if is_server else "shared file"
        if self.problem is None:
            log.warning("rate limits not shared", extra={"counts": where, "reason": reason})
        scope = "machine" if is_server else "process"
        self.problem = f"rate limits are those of each {scope}: the {where} does not answer"
