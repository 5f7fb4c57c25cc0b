"""RowsByTable: all stored rows as lists, in the order of their events."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from schemas.kinds import TABLES

Row = Mapping[str, Any]
"""One stored row by column; `ms` is its `ts` in Unix milliseconds."""


MAX_SCOPES = 40
"""Scopes whose rows are in memory: some hundred rows of a hundred columns each."""


class RowsByTable(dict[str, list[Row]]):
    """Rows by the name of their table."""

    def __init__(self, rows: Mapping[str, list[Row]]) -> None:
        super().__init__(rows)
        self._with_facts: dict[Hashable, list[Row]] = {}

    def with_facts(self, scope: Hashable, compute: Callable[[], list[Row]]) -> list[Row]:
        """Rows with the facts of their visits and visitors; the queries of a scope share them."""
        if scope not in self._with_facts:
            if len(self._with_facts) == MAX_SCOPES:
                self._with_facts.clear()
            self._with_facts[scope] = compute()
        return self._with_facts[scope]


def rows_by_table(stored: Iterable[tuple[str, Mapping[str, Any]]]) -> RowsByTable:
    """The facts of (table, columns) pairs, in the order in which they happened."""
    found: dict[str, list[Row]] = {table.name: [] for table in TABLES}
    for table, columns in stored:
        found[table].append({**columns, "ms": unix_ms(columns["ts"])})
    return RowsByTable({name: sorted(rows, key=event_order) for name, rows in found.items()})


def unix_ms(at: datetime) -> int:
    """An instant in whole milliseconds."""
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def event_order(row: Row) -> tuple[Any, ...]:
    """Where a row stands in time; rows of one instant stand as they were sent."""
    offset = (row.get(name, 0) for name in ("kafka_partition", "kafka_offset", "seq"))
    return row["ms"], *offset
