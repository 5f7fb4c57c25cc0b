"""Counts of rate-limit buckets that processes share: in a file of one machine, or on a server.

Both count by steps of five seconds and forget a step when it has been over for 60 s, so never more
than the limit passes within any 60 s. `LimitUsage` reads them.
"""

import errno
import fcntl
import mmap
import os
import struct
import time
from collections.abc import Hashable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from msgspec import Struct

from schemas.http.limits import STEP_MS, WINDOW_MS
from schemas.runtime.clock import Clock, now_ms
from schemas.runtime.limits_access import limits_arguments
from schemas.runtime.settings import Settings

COLLECTOR, QUERY = "collector", "query"
"""The services that count, as `SharedRateLimiter` names them."""

STEPS = WINDOW_MS // STEP_MS + 1
"""Steps that count: the current one and those that ended within the window."""

NAME_BYTES = 16


class Counted(Struct, frozen=True, gc=False):
    """Requests, bytes and items of one bucket: to add, or in the window."""

    name: bytes
    requests: int = 0
    bytes: int = 0
    items: int = 0
    leaves_ms: int = WINDOW_MS
    """Of a window: milliseconds until its oldest step leaves it."""
    reserved: int = 0
    """Of a window: the wanted requests, if they fit; they are counted in it."""


def bucket_name(service: str, key: Hashable) -> bytes:
    """The name of a bucket of a service, by which all of its processes know it."""
    return blake2b(f"{service}\0{key!r}".encode(), digest_size=NAME_BYTES).digest()


def counts_path(settings: Settings, service: str) -> Path:
    """The file of a service's counts on this machine."""
    return settings.data / "run" / "limits" / f"{service}.counts"


class SharedCounts(Protocol):
    """Adds to the counts of buckets and returns those of the window, in the same order.

    OSError when it cannot.
    """

    async def add(self, counts: Sequence[Counted]) -> Sequence[Counted]: ...

    async def close(self) -> None: ...


SLOTS = 16_384
PROBES = 8
FIELDS = 4
SLOT = struct.Struct(f"<{NAME_BYTES}s{FIELDS * STEPS}q")
"""Name of a bucket, then its steps: number, requests, bytes, items."""
FILE_BYTES = SLOTS * SLOT.size
EMPTY = (0,) * FIELDS
LOCK_ATTEMPTS = 200


class MachineCounts:
    """Counts of the processes of one machine, in a file that they map into memory.

    A bucket has one of a few slots; when all are taken the one that was used longest ago is reused.
    """

    def __init__(self, path: Path, clock: Clock = now_ms) -> None:
        self._clock = clock
        self._path = path
        self._file: int | None = None
        self._memory: mmap.mmap | None = None

    async def add(self, counts: Sequence[Counted]) -> Sequence[Counted]:
        return self.add_now(counts)

    def add_now(self, counts: Sequence[Counted]) -> Sequence[Counted]:
        """The same, in some microseconds."""
        at_ms = self._clock()
        file = self._open()
        _lock(file)
        try:
            memory = self._mapped(file)
            return [self._add(memory, one, at_ms) for one in counts]
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)

    async def close(self) -> None:
        if self._memory is not None:
            self._memory.close()
        if self._file is not None:
            os.close(self._file)

    def _open(self) -> int:
        if self._file is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        return self._file

    def _mapped(self, file: int) -> mmap.mmap:
        """The whole file in memory; its blocks are written first.

        A hole in it would end the process (SIGBUS) when it is touched on a full disk.
        """
        if self._memory is None:
            size = os.fstat(file).st_size
            if size < FILE_BYTES and os.pwrite(file, bytes(FILE_BYTES - size), size) < (
                FILE_BYTES - size
            ):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path))
            self._memory = mmap.mmap(file, FILE_BYTES)
        return self._memory

    def _add(self, memory: mmap.mmap, one: Counted, at_ms: int) -> Counted:
        step = at_ms // STEP_MS
        at, values = _slot(memory, one.name)
        steps = [values[i : i + FIELDS] for i in range(1, len(values), FIELDS)]
        live = sorted(each for each in steps if step - STEPS < each[0] <= step)
        current = live.pop() if live and live[-1][0] == step else EMPTY
        _, requests, size, items = current
        live.append((step, requests + one.requests, size + one.bytes, items + one.items))
        padded = [*live, *(EMPTY for _ in range(STEPS - len(live)))]
        SLOT.pack_into(memory, at, one.name, *(n for each in padded for n in each))
        _, all_requests, all_bytes, all_items = map(sum, zip(*live, strict=True))
        leaves_ms = (live[0][0] + STEPS) * STEP_MS - at_ms
        return Counted(one.name, all_requests, all_bytes, all_items, leaves_ms)


def _slot(memory: mmap.mmap, name: bytes) -> tuple[int, tuple[Any, ...]]:
    """Offset and values of the slot of a bucket."""
    first = int.from_bytes(name[:4], "little")
    oldest, oldest_at = 2**62, 0
    for probe in range(PROBES):
        at = (first + probe) % SLOTS * SLOT.size
        values = SLOT.unpack_from(memory, at)
        if values[0] == name:
            return at, values
        if (newest := max(values[1::FIELDS])) < oldest:
            oldest, oldest_at = newest, at
    return oldest_at, (name, *EMPTY * STEPS)


def _lock(file: int) -> None:
    """Lock the file; it is held for microseconds, unless its holder was stopped."""
    for _ in range(LOCK_ATTEMPTS):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0)
        else:
            return
    raise BlockingIOError("the shared rate-limit counts are locked by another process")


ADD_AND_SUM = f"""
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local step = math.floor(now / {STEP_MS})
for i, name in ipairs({{'r', 'b', 'i'}}) do
  local more = tonumber(ARGV[i])
  if more > 0 then redis.call('HINCRBY', KEYS[1], step .. name, more) end
end
local sums, oldest = {{r = 0, b = 0, i = 0}}, step
local fields = redis.call('HGETALL', KEYS[1])
for n = 1, #fields, 2 do
  local at, name = tonumber(string.sub(fields[n], 1, -2)), string.sub(fields[n], -1)
  if at == nil or at <= step - {STEPS} then
    redis.call('HDEL', KEYS[1], fields[n])
  else
    sums[name] = sums[name] + tonumber(fields[n + 1])
    oldest = math.min(oldest, at)
  end
end
local limit, wanted = tonumber(ARGV[4]), tonumber(ARGV[5])
if sums.r > 0 and sums.r + wanted > limit then wanted = 0 end
if wanted > 0 then redis.call('HINCRBY', KEYS[1], step .. 'r', wanted) end
redis.call('PEXPIRE', KEYS[1], {WINDOW_MS + 2 * STEP_MS})
local leaves = (oldest + {STEPS}) * {STEP_MS} - now
return {{sums.r + wanted, sums.b, sums.i, leaves, wanted}}
"""
"""Adds to one bucket, sums its window by the clock of the server, and counts a request that fits.

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
        self._script = self._client.register_script(ADD_AND_SUM)

    async def add(self, counts: Sequence[Counted]) -> Sequence[Counted]:
        return await self.reserve([(one, 0, 0) for one in counts])

    async def reserve(self, counts: Sequence[tuple[Counted, int, int]]) -> Sequence[Counted]:
        """Add to each of the counts; then count so many requests in it, if they fit its limit.

        Each is a count, a limit of requests, and the requests that wait for room. They fit an empty
        bucket, even if they exceed the limit.
        """
        from valkey.exceptions import ValkeyError

        try:
            pipeline = self._client.pipeline(transaction=False)
            for one, limit, wanted in counts:
                await self._script(
                    keys=[KEY_PREFIX + one.name.hex().encode()],
                    args=[one.requests, one.bytes, one.items, limit, wanted],
                    client=pipeline,
                )
            replies = await pipeline.execute()
        except ValkeyError as error:
            raise OSError(str(error) or repr(error)) from error
        return [
            Counted(one.name, *map(int, reply))
            for (one, *_), reply in zip(counts, replies, strict=True)
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


class Usage(Struct, frozen=True):
    """Counts of buckets, in the order in which they were asked for."""

    counts: Sequence[Counted]
    all_machines: bool
    """Whether they are those of all machines, not only of this one."""


class LimitUsage:
    """Reads shared counts; it is connected only while it reads, because few ask."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def read(self, service: str, keys: Sequence[Hashable]) -> Usage:
        """The counts of a service's buckets by their keys; OSError when they cannot be read."""
        asked = [Counted(bucket_name(service, key)) for key in keys]
        server, path = server_counts(self._settings), counts_path(self._settings, service)
        if server is None and not path.exists():  # no process of the service has run here
            return Usage(asked, all_machines=False)
        counts: SharedCounts = server or MachineCounts(path)
        try:
            return Usage(await counts.add(asked), all_machines=server is not None)
        finally:
            await counts.close()
