"""A process that floods one bucket: `python limit_flood.py DATA LIMIT SECONDS START URL FILE`.

The bucket is that of a tenant with the first word of the name of the data folder.

Prints how many requests it passed. Requests wait for the server however long it takes: what passes
after `MAX_WAIT_SECONDS` without an answer is not what is counted here.
"""

import asyncio
import sys
import time
from pathlib import Path

from schemas.http import shared_limits
from schemas.http.shared_limits import SharedRateLimiter
from schemas.plans import Limit
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings

PER_TURN = 3
"""Requests that arrive at once, while those before may still wait; a service answers some thousand
a second."""
LONG_WAIT_SECONDS = 30.0


async def flood(settings: Settings, limit: Limit, seconds: float) -> int:
    limiter = SharedRateLimiter.for_settings(settings, "flood")
    tenant = settings.data.name.partition("-")[0]
    bucket = limiter.tenant_bucket(tenant, limit, "a tenant", now_ms())
    passed, until = 0, time.time() + seconds

    async def request() -> int:
        await limiter.reserve((bucket,), now_ms())
        if not bucket.fits(now_ms()):
            return 0
        bucket.add(now_ms(), 1, 0)
        return 1

    begun: set[asyncio.Task[int]] = set()
    while time.time() < until:
        begun |= {asyncio.create_task(request()) for _ in range(PER_TURN)}
        await asyncio.sleep(0.001)
        ended = {each for each in begun if each.done()}
        passed += sum(each.result() for each in ended)
        begun -= ended
    passed += sum(await asyncio.gather(*begun))
    await limiter.close()
    return passed


def main(data: str, requests: str, seconds: str, start: str, url: str, password_file: str) -> None:
    settings = Settings(
        data_dir=str(Path(data)), limits_url=url, limits_password_file=password_file
    )
    shared_limits.MAX_WAIT_SECONDS = LONG_WAIT_SECONDS
    time.sleep(max(0.0, float(start) - time.time()))
    print(asyncio.run(flood(settings, Limit(int(requests)), float(seconds))))


if __name__ == "__main__":
    main(*sys.argv[1:])
