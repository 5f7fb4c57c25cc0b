"""Budget of time, rows and bytes for one HTTP request, however many queries it has.

Bytes are those of the response body, counted while it is encoded and held until it is sent; the sum
over all responses is limited too, per organization and for the process.
"""

import asyncio
from threading import Lock

from msgspec import Struct

from query.engine.deadline import timeout_error
from schemas.errors import ResultTooLarge, Unavailable

MAX_ROWS = 100_000
"""Rows of one HTTP request, including those of comparisons."""
MAX_RESPONSES, MAX_RESPONSES_PER_TENANT = 16, 4
"""Responses of maximum size that a process holds, and those of one organization."""


class ResponseMemory:
    """Bytes of responses that are encoded and not sent yet."""

    def __init__(self, answer_bytes: int) -> None:
        self.answer_bytes = answer_bytes
        self._held: dict[str, int] = {}
        self._lock = Lock()  # responses are encoded in threads

    @property
    def held(self) -> int:
        """Bytes of all organizations."""
        return sum(self._held.values())

    def reserve(self, tenant: str, size: int) -> None:
        """Reserve bytes; Unavailable beyond the limits."""
        with self._lock:
            reserved = self._held.get(tenant, 0) + size
            if reserved > MAX_RESPONSES_PER_TENANT * self.answer_bytes:
                raise Unavailable(
                    "Large responses of this organization are not read yet; finish reading them, "
                    "then retry",
                    1,
                )
            if self.held + size > MAX_RESPONSES * self.answer_bytes:
                raise Unavailable("Too many large responses are being sent; retry in a moment", 1)
            self._held[tenant] = reserved

    def release(self, tenant: str, size: int) -> None:
        """Release bytes that were sent or discarded."""
        with self._lock:
            remaining = self._held.pop(tenant, 0) - size
            if remaining > 0:
                self._held[tenant] = remaining


class Savepoint(Struct, frozen=True):
    """Used bytes and rows at a point in time."""

    size: int
    rows: int
    full: bool


class ResponseBudget:
    """The budget of one HTTP request."""

    def __init__(self, memory: ResponseMemory, tenant: str, seconds: float) -> None:
        self._memory = memory
        self._tenant = tenant
        self._lock = Lock()
        self._size = self._rows = 0
        self._full = self._closed = False
        self.ends = asyncio.get_running_loop().time() + seconds
        """Deadline in the time of the event loop."""

    @property
    def seconds(self) -> float:
        """Seconds until the deadline."""
        return max(0.0, self.ends - asyncio.get_running_loop().time())

    def check(self) -> None:
        """ResultTooLarge or QueryTimeout when no further query may run.

        After one result did not fit, later queries of the request are not run.
        """
        if self._full:
            raise self._too_large()
        if not self.seconds:
            raise timeout_error()

    def add_rows(self, count: int) -> None:
        """Count rows of the response."""
        with self._lock:
            self._rows += count
            if self._rows > MAX_ROWS:
                raise self._too_large()

    def reserve(self, size: int) -> None:
        """Reserve bytes of the response."""
        with self._lock:
            # Closed: a thread may still run for a while after the client has left.
            if self._closed or self._size + size > self._memory.answer_bytes:
                raise self._too_large()
            self._memory.reserve(self._tenant, size)
            self._size += size

    def release(self, size: int) -> None:
        """Release bytes that are not part of the response after all."""
        with self._lock:
            if not self._closed:
                self._size -= size
                self._memory.release(self._tenant, size)

    def savepoint(self) -> Savepoint:
        """The current use."""
        return Savepoint(self._size, self._rows, self._full)

    def roll_back(self, savepoint: Savepoint) -> None:
        """Discard what was reserved since the savepoint."""
        self.release(self._size - savepoint.size)
        self._rows, self._full = savepoint.rows, savepoint.full

    def close(self) -> None:
        """Release everything: the response was sent, or the client has left."""
        self.release(self._size)
        self._closed = True

    def _too_large(self) -> ResultTooLarge:
        self._full = True
        return ResultTooLarge(
            f"The response limit of {MAX_ROWS:,} rows and {self._memory.answer_bytes / 2**20:g} "
            "MiB for all queries of a request is reached; send this query in a separate request, "
            "or use a lower 'limit'"
        )
