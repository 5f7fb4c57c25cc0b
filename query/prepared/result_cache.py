"""Caches of results and columns in memory, bounded by their bytes.

A statement names its data files, which never change, and all its values, so its rows are the same
whenever it runs: rows of pages that are asked for again come from memory.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from threading import Lock
from typing import Any

from query.engine.bounded_fetch import ROW_BYTES, VALUE_BYTES
from query.engine.engine import Engine, Row, Sql
from query.engine.outer_engine import OuterEngine
from query.response.worker_threads import run_in_worker

ENTRY_BYTES = 1_000
"""Of an entry beside its value: its key, which is to be no longer, and its place in the cache."""


def digest(*values: object) -> bytes:
    """Stands in keys for values that their `repr` tells apart."""
    return hashlib.sha256(repr(values).encode()).digest()


class ByteCache:
    """Safe for several threads."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._values: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = Lock()
        self._making: dict[Hashable, Lock] = {}
        self.size = 0
        """Bytes of all entries."""

    def get(self, key: Hashable) -> Any:
        """The value; None when there is none."""
        with self._lock:
            if (found := self._values.get(key)) is None:
                return None
            self._values.move_to_end(key)
            return found[0]

    def put(self, key: Hashable, value: Any, size: int) -> None:
        """Keep a value of so many bytes, unless it alone exceeds the limit."""
        size += ENTRY_BYTES
        if size > self._max_bytes:
            return
        with self._lock:
            if (old := self._values.pop(key, None)) is not None:
                self.size -= old[1]
            self._values[key] = value, size
            self.size += size
            while self.size > self._max_bytes:
                _, (_, removed) = self._values.popitem(last=False)
                self.size -= removed

    def clear(self) -> None:
        """Forget all values."""
        with self._lock:
            self._values.clear()
            self.size = 0

    def made(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """The value, whose `size` is its bytes; it is made when there is none, by one thread."""
        with self._lock:
            making = self._making.setdefault(key, Lock())
        try:
            with making:
                if (value := self.get(key)) is None:
                    value = make()
                    self.put(key, value, value.size)
                return value
        finally:
            with self._lock:
                self._making.pop(key, None)


MOST_BYTES = 16 * 2**20
"""Of the rows of a statement; larger ones would take the place of much else."""


class CachingEngine(OuterEngine):
    """An engine that runs no statement twice whose rows are still in memory.

    Batches are not remembered.
    """

    def __init__(self, engine: Engine, memory: ByteCache) -> None:
        super().__init__(engine)
        self._memory = memory

    async def rows(self, sql: Sql, seconds: float) -> list[Row]:
        """All rows, from memory where they are there."""
        key = ("rows", statement_digest(sql))
        known: list[Row] | None = self._memory.get(key)
        if known is not None:
            return known
        rows = await super().rows(sql, seconds)
        size = await run_in_worker(len(rows), partial(bytes_of, rows))
        if size <= MOST_BYTES:
            self._memory.put(key, rows, size)
        return rows


def statement_digest(sql: Sql) -> bytes:
    """Stands for the text and all values of a statement."""
    return digest(sql.text, sorted(sql.values.items()))


def bytes_of(rows: Sequence[Row]) -> int:
    """Bytes in memory, about."""
    texts = sum(len(value) for row in rows for value in row if isinstance(value, str))
    return ROW_BYTES + texts + sum(ROW_BYTES + VALUE_BYTES * len(row) for row in rows)
