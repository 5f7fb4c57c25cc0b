"""Counts of rate-limit buckets that processes share: of one machine in a file.

Both these and those of `server_counts` count by steps of five seconds and forget a step when it has
been over for 60 s, so never more than the limit passes within any 60 s.
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

from msgspec import Struct

from schemas.http.rate_limit import STEP_MS
from schemas.http.rate_limit_headers import WINDOW_MS
from schemas.runtime.clock import Clock, now_ms
from schemas.runtime.settings import Settings

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
    processes: int = 1
    """Of a window: processes that counted in the bucket during the last seconds."""
    reserved: int = 0
    """Of a window: how many of the wanted requests fit; they are counted in it."""


def bucket_name(service: str, key: Hashable) -> bytes:
    """The name of a bucket of a service, by which all of its processes know it."""
    return blake2b(f"{service}\0{key!r}".encode(), digest_size=NAME_BYTES).digest()


def counts_path(settings: Settings, service: str) -> Path:
    """The file of a service's counts on this machine."""
    return settings.data / "run" / "limits" / service


class SharedCounts(Protocol):
    """Adds to the counts of buckets and returns those of the window, in the same order.

    OSError when it cannot.
    """

    async def add(self, counts: Sequence[Counted]) -> Sequence[Counted]: ...

    async def close(self) -> None: ...


SLOTS = 16_384
PROBES = 8
FIELDS = 5
SLOT = struct.Struct(f"<{NAME_BYTES}s{FIELDS * STEPS}q")
"""Name of a bucket, then its steps: number, requests, bytes, items, bits of processes."""
FILE_BYTES = SLOTS * SLOT.size
EMPTY = (0,) * FIELDS
PROCESS_BITS = 62
LOCK_ATTEMPTS = 200


class MachineCounts:
    """Counts of the processes of one machine, in a file that they map into memory.

    A bucket has one of a few slots; when all are taken the one that was used longest ago is reused.
    """

    def __init__(self, path: Path, clock: Clock = now_ms) -> None:
        self._clock = clock
        self._process = 1 << os.getpid() % PROCESS_BITS
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
        _, requests, size, items, processes = current
        processes |= self._process
        live.append((step, requests + one.requests, size + one.bytes, items + one.items, processes))
        padded = [*live, *(EMPTY for _ in range(STEPS - len(live)))]
        SLOT.pack_into(memory, at, one.name, *(n for each in padded for n in each))
        _, all_requests, all_bytes, all_items, _ = map(sum, zip(*live, strict=True))
        leaves_ms = (live[0][0] + STEPS) * STEP_MS - at_ms
        for before in live[-2:-1]:
            processes |= before[4]
        count = processes.bit_count()
        return Counted(one.name, all_requests, all_bytes, all_items, leaves_ms, count)


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
