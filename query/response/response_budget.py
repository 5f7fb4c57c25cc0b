"""Answer budget: the time, rows and bytes of one HTTP request, however many questions it holds.

Bytes are those of the answer as it is sent, counted while it is encoded and held until it is sent;
what all answers hold together is bounded too, for one organization and for the process.
"""

import asyncio
from threading import Lock

from msgspec import Struct

from query.engine.deadline import timeout_error
from schemas.errors import ResultTooLarge, Unavailable

MAX_ROWS = 100_000
"""Rows of one HTTP request, those of comparisons included."""
MAX_RESPONSES, MAX_RESPONSES_PER_TENANT = 16, 4
"""Answers of the largest size that a process holds, and those of one organization."""


class ResponseMemory:
    """Bytes of answers that are made and not sent yet."""

    def __init__(self, answer_bytes: int) -> None:
        self.answer_bytes = answer_bytes
        self._held: dict[str, int] = {}
        self._lock = Lock()  # answers are encoded in threads

    @property
    def held(self) -> int:
        """Bytes of all organizations."""
        return sum(self._held.values())

    def reserve(self, tenant: str, size: int) -> None:
        """Count bytes that are held from now on; Unavailable when too many are."""
        with self._lock:
            own = self._held.get(tenant, 0) + size
            if own > MAX_RESPONSES_PER_TENANT * self.answer_bytes:
                raise Unavailable(
                    "Large answers of this organization wait to be read; read them first", 1
                )
            if self.held + size > MAX_RESPONSES * self.answer_bytes:
                raise Unavailable("Too many large answers are being sent; ask again shortly", 1)
            self._held[tenant] = own

    def release(self, tenant: str, size: int) -> None:
        """Bytes that were sent, or will not be."""
        with self._lock:
            left = self._held.pop(tenant, 0) - size
            if left > 0:
                self._held[tenant] = left


class Savepoint(Struct, frozen=True):
    """How much of a budget was used at a moment."""

    size: int
    rows: int
    full: bool


class ResponseBudget:
    """What is left to one HTTP request."""

    def __init__(self, memory: ResponseMemory, tenant: str, seconds: float) -> None:
        self._memory = memory
        self._tenant = tenant
        self._lock = Lock()
        self._size = self._rows = 0
        self._full = self._closed = False
        self.ends = asyncio.get_running_loop().time() + seconds
        """When its time is over, in the loop's time."""

    @property
    def seconds(self) -> float:
        """What is left of its time."""
        return max(0.0, self.ends - asyncio.get_running_loop().time())

    def check(self) -> None:
        """ResultTooLarge or Overdue when nothing more is to be run.

        Once something did not fit, what comes after it is not tried.
        """
        if self._full:
            raise self._too_large()
        if not self.seconds:
            raise timeout_error()

    def add_rows(self, count: int) -> None:
        """Count rows of the answer."""
        with self._lock:
            self._rows += count
            if self._rows > MAX_ROWS:
                raise self._too_large()

    def reserve(self, size: int) -> None:
        """Count bytes of the answer."""
        with self._lock:
            # Closed: a thread goes on for a while after whoever waited for it has left.
            if self._closed or self._size + size > self._memory.answer_bytes:
                raise self._too_large()
            self._memory.reserve(self._tenant, size)
            self._size += size

    def release(self, size: int) -> None:
        """Bytes that are not part of the answer after all."""
        with self._lock:
            if not self._closed:
                self._size -= size
                self._memory.release(self._tenant, size)

    def savepoint(self) -> Savepoint:
        """How much is used now."""
        return Savepoint(self._size, self._rows, self._full)

    def roll_back(self, mark: Savepoint) -> None:
        """What was made since is thrown away."""
        self.release(self._size - mark.size)
        self._rows, self._full = mark.rows, mark.full

    def close(self) -> None:
        """The answer was sent, or nobody wants it any more."""
        self.release(self._size)
        self._closed = True

    def _too_large(self) -> ResultTooLarge:
        self._full = True
        return ResultTooLarge(
            f"This does not fit into the answer any more, which may have {MAX_ROWS:,} rows and "
            f"{self._memory.answer_bytes / 2**20:g} MiB for all questions of a request together; "
            "ask it in a request of its own, or with a lower 'limit'"
        )
