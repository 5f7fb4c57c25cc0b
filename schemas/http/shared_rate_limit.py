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

from schemas.http.local_rate_limit import LocalRateLimiter
from schemas.http.rate_limit import SMALL_LIMIT, RateLimitBucket
from schemas.http.reservations import Reservations
from schemas.http.server_counts import ServerCounts, Wanted, server_address, server_counts
from schemas.http.shared_bucket import SharedBucket
from schemas.http.shared_counts import (
    Counted,
    MachineCounts,
    SharedCounts,
    bucket_name,
    counts_path,
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


class SharedRateLimiter(LocalRateLimiter):
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
        self._full: set[SharedBucket] = set()
        """Buckets whose counts are asked for when the oldest of them leave the window."""
        self._exchange: asyncio.Task[None] | None = None
        self._reservations = Reservations(self._reserve_on_server)
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
        asked for where one of the limits is known to have no room.
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
            await self._reservations.wait(small, cost)

    def _is_server_used(self) -> bool:
        return (
            self._server is not None
            and asyncio.get_running_loop().time() >= self._server_away_until
        )

    async def _reserve_on_server(self, wanted: Sequence[tuple[SharedBucket, Wanted]]) -> None:
        """Let the server count what fits; while it is away the buckets go on by what they know."""
        server = self._server
        if server is None or not self._is_server_used():
            return
        unsent = [bucket.take_unsent() for bucket, _ in wanted]
        asked = [(one, want) for one, (_, want) in zip(unsent, wanted, strict=True)]
        try:
            counted = await server.reserve(asked)
        except OSError as error:
            self._note_server_failure(str(error))
            for (bucket, _), one in zip(wanted, unsent, strict=True):
                bucket.put_back(one)
                self.share(bucket)
            return
        self.problem = None
        at_ms = self._clock()
        for (bucket, _), received in zip(wanted, counted, strict=True):
            bucket.receive(received, at_ms)

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
        await self._reservations.close()
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
        if self._server is not None and self._is_server_used():
            counted = await self._try(self._server, unsent)
        if counted is None:
            counted = await self._try(self._machine, unsent)
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
            bucket.receive(received, at_ms)

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
