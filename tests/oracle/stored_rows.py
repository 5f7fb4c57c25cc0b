"""RowsByTable: all stored rows as lists, in the order of their events."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from schemas.kinds import TABLES

Row = Mapping[str, Any]
"""One stored row by column; `ms` is its `ts` in Unix milliseconds."""

RowsByTable = Mapping[str, list[Row]]
"""Rows by the name of their table."""


def rows_by_table(stored: Iterable[tuple[str, Mapping[str, Any]]]) -> RowsByTable:
    """The facts of (table, columns) pairs, in the order in which they happened."""
    found: dict[str, list[Row]] = {table.name: [] for table in TABLES}
    for table, columns in stored:
        found[table].append({**columns, "ms": unix_ms(columns["ts"])})
    return {table: sorted(rows, key=event_order) for table, rows in found.items()}


def unix_ms(at: datetime) -> int:
    """An instant in whole milliseconds."""
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def event_order(row: Row) -> tuple[Any, ...]:
    """Where a row stands in time; rows of one instant stand as they were sent."""
    return row["ms"], row["kafka_partition"], row["kafka_offset"], row["seq"]
