"""Counts of rate-limit buckets of several machines, on a Valkey or Redis server.

Like those of one machine they count by steps of five seconds, which leave the window 60 s after
they are over.
"""

import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from schemas.http.rate_limit import STEP_MS
from schemas.http.rate_limit_headers import WINDOW_MS
from schemas.http.shared_counts import STEPS, Counted
from schemas.runtime.limits_access import limits_arguments
from schemas.runtime.settings import Settings


class Wanted(Struct, frozen=True, gc=False):
    """Requests that wait until the shared counts have room for them."""

    limit: int
    requests: int
    first: int
    """Those of the first who waits: they fit an empty bucket, even if they exceed the limit."""


NOTHING_WANTED = Wanted(0, 0, 0)


ADD_AND_SUM = f"""
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local step = math.floor(now / {STEP_MS})
for i, name in ipairs({{'r', 'b', 'i'}}) do
  local more = tonumber(ARGV[i])
  if more > 0 then redis.call('HINCRBY', KEYS[1], step .. name, more) end
end
redis.call('HSET', KEYS[1], 'p' .. ARGV[4], step)
local sums, oldest, processes = {{r = 0, b = 0, i = 0}}, step, 0
local fields = redis.call('HGETALL', KEYS[1])
for n = 1, #fields, 2 do
  local at, name = tonumber(string.sub(fields[n], 1, -2)), string.sub(fields[n], -1)
  if string.sub(fields[n], 1, 1) == 'p' then
    if tonumber(fields[n + 1]) >= step - 1 then
      processes = processes + 1
    else
      redis.call('HDEL', KEYS[1], fields[n])
    end
  elseif at <= step - {STEPS} then
    redis.call('HDEL', KEYS[1], fields[n])
  else
    sums[name] = sums[name] + tonumber(fields[n + 1])
    oldest = math.min(oldest, at)
  end
end
local limit, wanted, first = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local reserved = math.max(0, math.min(wanted, limit - sums.r))
if sums.r == 0 then reserved = math.max(reserved, first) end
if reserved > 0 then redis.call('HINCRBY', KEYS[1], step .. 'r', reserved) end
redis.call('PEXPIRE', KEYS[1], {WINDOW_MS + 2 * STEP_MS})
local leaves = (oldest + {STEPS}) * {STEP_MS} - now
return {{sums.r + reserved, sums.b, sums.i, leaves, processes, reserved}}
"""
"""Adds to one bucket, sums its window by the clock of the server, and counts the wanted that fit.

The server runs one script at a time, so no two processes are given the same room.
"""

KEY_PREFIX = b"tidemark:limit:"
CONNECT_SECONDS, ANSWER_SECONDS = 1.0, 1.0


class ServerCounts:
    """Counts of all machines, on a Valkey or Redis server: one round trip for all buckets.

    `options` are arguments of the client, such as those of `limits_arguments`.
    """

    def __init__(self, url: str, **options: Any) -> None:
        from valkey.asyncio import Valkey  # slow to load, and only needed with a server

        self._client = Valkey.from_url(
            url,
            socket_connect_timeout=CONNECT_SECONDS,
            socket_timeout=ANSWER_SECONDS,
            **options,
        )
        self._process = f"{os.getpid()}-{os.urandom(4).hex()}"
        self._script = self._client.register_script(ADD_AND_SUM)

    async def add(self, counts: Sequence[Counted]) -> Sequence[Counted]:
        return await self.reserve([(one, NOTHING_WANTED) for one in counts])

    async def reserve(self, counts: Sequence[tuple[Counted, Wanted]]) -> Sequence[Counted]:
        """Add to the counts; then count of the wanted requests as many as fit the limit."""
        from valkey.exceptions import ValkeyError

        try:
            pipeline = self._client.pipeline(transaction=False)
            for one, wanted in counts:
                await self._script(
                    keys=[KEY_PREFIX + one.name.hex().encode()],
                    args=[
                        *(one.requests, one.bytes, one.items, self._process),
                        *(wanted.limit, wanted.requests, wanted.first),
                    ],
                    client=pipeline,
                )
            replies = await pipeline.execute()
        except ValkeyError as error:
            raise OSError(str(error) or repr(error)) from error
        return [
            Counted(one.name, *map(int, reply))
            for (one, _), reply in zip(counts, replies, strict=True)
        ]

    async def ping(self) -> None:
        """OSError when the server does not answer."""
        from valkey.exceptions import ValkeyError

        try:
            await self._client.ping()
        except ValkeyError as error:
            raise OSError(str(error) or repr(error)) from error

    async def close(self) -> None:
        await self._client.aclose()


def server_counts(settings: Settings) -> ServerCounts | None:
    """The counts on the server of the settings; None when they name none."""
    if not settings.limits_url:
        return None
    return ServerCounts(settings.limits_url, **limits_arguments(settings))


def server_address(url: str) -> str:
    """Host and port, without the password."""
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port or 6379}"
