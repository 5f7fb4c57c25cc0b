"""Rows of statements that stay in memory, for pages of lists that are asked for again.

A statement names its data files, which never change, and all its values, so its rows are the same
whenever it runs. What is remembered counts towards the memory of prepared results.
"""

from collections.abc import Sequence
from functools import partial

from query.engine.engine import Engine, Row, Sql
from query.engine.outer_engine import OuterEngine
from query.engine.row_memory import ROW_BYTES, VALUE_BYTES
from query.prepared.byte_cache import ByteCache, digest
from query.response.worker_threads import run_in_worker

MOST_BYTES = 16 * 2**20
"""Of the rows of a statement; larger ones would take the place of much else."""


class RememberingEngine(OuterEngine):
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
