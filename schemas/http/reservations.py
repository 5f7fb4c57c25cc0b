"""Reservations: requests of small limits wait until a server with the counts of all has room.

One request at the same moment in each of several processes is too many for a small limit when they
count first and exchange later. So each waits for one round trip in which the server counts it if it
fits; those that come meanwhile share the next one.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence

from schemas.http.server_counts import Wanted
from schemas.http.shared_bucket import SharedBucket

MAX_WAIT_SECONDS = 0.25
"""Until a request goes on without an answer of the server, by the counts that are known."""
MAX_BUCKETS = 1_000

Exchange = Callable[[Sequence[tuple[SharedBucket, Wanted]]], Awaitable[None]]
"""Asks the server and gives the buckets what they may pass; raises nothing."""


class Reservations:
    """Requests that wait, by bucket; one task asks for all of them.

    A request waits for a bare future: on the fast path no task runs it.
    """

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._waiting: dict[SharedBucket, list[tuple[int, asyncio.Future[None]]]] = {}
        self._asking: asyncio.Task[None] | None = None

    async def wait(self, buckets: Sequence[SharedBucket], cost: int) -> None:
        """Return when the server has answered for all buckets of a request, or not in time."""
        loop = asyncio.get_running_loop()
        answers: list[asyncio.Future[None]] = [loop.create_future() for _ in buckets]
        for bucket, answered in zip(buckets, answers, strict=True):
            self._waiting.setdefault(bucket, []).append((cost, answered))
        if self._asking is None:
            self._asking = loop.create_task(self._ask_for_all())
        timer = loop.call_later(MAX_WAIT_SECONDS, _end_waits, answers)
        try:
            for answered in answers:
                await answered
        finally:
            timer.cancel()
            for answered in answers:
                answered.cancel()  # of a request that is gone: no room is asked for it

    async def close(self) -> None:
        """Answer those who wait."""
        if self._asking is not None:
            await self._asking

    async def _ask_for_all(self) -> None:
        try:
            while self._waiting:
                asked = {
                    bucket: self._waiting.pop(bucket)
                    for bucket in list(self._waiting)[:MAX_BUCKETS]
                }
                try:
                    await self._exchange([(b, _wanted(b, costs)) for b, costs in asked.items()])
                finally:
                    _end_waits(answered for costs in asked.values() for _, answered in costs)
                await asyncio.sleep(0)  # they take their room before more is asked for
        finally:
            self._asking = None


def _wanted(bucket: SharedBucket, waiting: Sequence[tuple[int, asyncio.Future[None]]]) -> Wanted:
    """What those who still wait need, beside what is reserved already."""
    costs = [cost for cost, answered in waiting if not answered.done()]
    requests = max(0, sum(costs) - bucket.reserved_requests)
    return Wanted(bucket.limit.requests, requests, costs[0] if requests else 0)


def _end_waits(answers: Iterable[asyncio.Future[None]]) -> None:
    for answered in answers:
        if not answered.done():
            answered.set_result(None)
