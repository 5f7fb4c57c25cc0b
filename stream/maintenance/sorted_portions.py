"""Sorted rows of many data files, in portions, so that few of the rows are in memory at once.

A sort holds every column of every row. Here a portion is all rows between two bounds, which are
values of the first sort expressions, and is sorted alone when the portions before it are written:
one after the other they are sorted as a whole. The bounds come from a sample, so that portions have
about the same number of rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import duckdb
import pyarrow as pa
from msgspec import Struct

PORTION_ROWS = 60_000
"""Rows of a portion, about. Each portion reads the sort columns of all files: 0.3 µs a row."""
SAMPLE_ROWS = 20_000
BATCH_ROWS = 8_192
"""Rows that are handed over at once."""

SLOT_MINUTES = 30
"""Time that rows may be sorted by: differences of two times within it fit into 32 bits."""

Bound = tuple[Any, ...]
"""Values of the first sort expressions."""


class SortedRows(Struct, frozen=True):
    """A query for the rows of some Parquet files in order; NULL comes last."""

    columns: Sequence[str]
    """Expressions."""
    condition: str
    order: Sequence[str]
    """Expressions, two or more; the second is the time or its slot of SLOT_MINUTES."""
    values: Mapping[str, object]
    """Of the condition, and `files`: the paths."""
    time: str = "ts"
    """Column of the time."""
    key_count: int = 2
    """How many of the expressions bound portions."""

    @property
    def keys(self) -> Sequence[str]:
        """The expressions that bound portions."""
        return self.order[: self.key_count]

    def text(self, condition: str = "TRUE") -> str:
        """The statement; `condition` selects a portion."""
        columns = ",\n               ".join(self.columns)
        return f"""
            SELECT {columns}
              FROM {self.source}
               AND {condition}
             ORDER BY {", ".join(self.order)}
        """  # noqa: S608 - names are those of our own tables

    @property
    def source(self) -> str:
        """The files and the condition, as they follow FROM."""
        return f"""read_parquet($files, union_by_name = true, hive_partitioning = false)
             WHERE {self.condition}"""


def subject_counts(connection: duckdb.DuckDBPyConnection, rows: SortedRows) -> list[int]:
    """How many rows each value of the first sort expression has, in their order."""
    first = rows.order[0]
    counted = connection.execute(
        f"SELECT count(*) FROM {rows.source} GROUP BY {first} ORDER BY {first}",  # noqa: S608
        dict(rows.values),
    ).fetchall()
    return [count for (count,) in counted]


def portion_bounds(
    connection: duckdb.DuckDBPyConnection, rows: SortedRows, portion: int
) -> list[Bound]:
    """The first bound of each portion but the first; none when there is one portion only."""
    counted = connection.execute(
        f"SELECT count(*) FROM {rows.source}",  # noqa: S608
        dict(rows.values),
    ).fetchone()
    portions = -(-counted[0] // portion) if counted else 1
    if portions < 2:
        return []
    keys = ", ".join(rows.keys)
    known = " AND ".join(f"{key} IS NOT NULL" for key in rows.keys)
    sample = connection.execute(
        f"SELECT * FROM (SELECT {keys} FROM {rows.source} AND {known})"  # noqa: S608
        f" USING SAMPLE reservoir({SAMPLE_ROWS} ROWS) REPEATABLE (1)",
        dict(rows.values),
    ).fetchall()
    ordered = sorted(sample)
    places = range(1, portions if ordered else 1)
    return sorted({ordered[len(ordered) * number // portions] for number in places})


def sorted_reader(
    connection: duckdb.DuckDBPyConnection, rows: SortedRows, bounds: Sequence[Bound]
) -> pa.RecordBatchReader:
    """The rows of all portions, each read when the one before it was taken."""
    with closing(connection.cursor()) as probe:
        probe.execute("SET TimeZone = 'UTC'")
        schema = probe.sql(rows.text("FALSE"), params=dict(rows.values)).to_arrow_table().schema
    return pa.RecordBatchReader.from_batches(schema, _batches(connection, rows, bounds))


def _batches(
    connection: duckdb.DuckDBPyConnection, rows: SortedRows, bounds: Sequence[Bound]
) -> Iterator[pa.RecordBatch]:
    with closing(connection.cursor()) as cursor:
        cursor.execute("SET TimeZone = 'UTC'")  # of each connection, unlike other settings
        for lower, upper in zip((None, *bounds), (*bounds, None), strict=True):
            condition, values = _between(rows, lower, upper)
            query = cursor.sql(rows.text(condition), params={**rows.values, **values})
            yield from query.to_arrow_reader(BATCH_ROWS)


def _between(
    rows: SortedRows, lower: Bound | None, upper: Bound | None
) -> tuple[str, dict[str, object]]:
    """The condition for rows from `lower` on and before `upper`, and its values.

    It has redundant parts by which DuckDB skips row groups: it knows the bounds of single columns.
    """
    parts: list[str] = []
    values: dict[str, object] = {}
    if lower:
        values |= {f"lower_{n}": value for n, value in enumerate(lower)}
        parts.append(f"NOT {_before(rows.keys, 'lower')}")
    if upper:
        values |= {f"upper_{n}": value for n, value in enumerate(upper)}
        parts.append(_before(rows.keys, "upper"))
    if lower and upper:
        parts.append(f"{rows.keys[0]} BETWEEN $lower_0 AND $upper_0")
        if lower[0] == upper[0]:
            slot = f"INTERVAL {SLOT_MINUTES} MINUTE"
            parts.append(f"{rows.time} BETWEEN $lower_1 AND $upper_1 + {slot}")
    return " AND ".join(parts) or "TRUE", values


def _before(keys: Sequence[str], bound: str) -> str:
    """Whether a row comes before the bound; FALSE, never NULL, where a NULL decides."""
    conditions = ""
    for n, key in reversed(list(enumerate(keys))):
        following = f" OR ({key} = ${bound}_{n} AND {conditions})" if conditions else ""
        conditions = f"COALESCE({key} < ${bound}_{n}{following}, FALSE)"
    return conditions
