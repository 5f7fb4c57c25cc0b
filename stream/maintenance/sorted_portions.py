"""Sorted rows of many data files, in portions, so that few of the rows are in memory at once.

A sort holds every column of every row. Here a portion is all rows between two bounds, which are
values of the first two sort columns, and is sorted alone when the portions before it are written:
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

Bound = tuple[Any, Any]
"""Values of the first two sort columns."""


class SortedRows(Struct, frozen=True):
    """A query for the rows of some Parquet files in order; NULL comes last."""

    columns: Sequence[str]
    """Expressions."""
    condition: str
    order: Sequence[str]
    """Names of columns, two or more."""
    values: Mapping[str, object]
    """Of the condition, and `files`: the paths."""

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
    keys = ", ".join(rows.order[:2])
    known = " AND ".join(f"{name} IS NOT NULL" for name in rows.order[:2])
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
            condition, values = _between(rows.order, lower, upper)
            query = cursor.sql(rows.text(condition), params={**rows.values, **values})
            yield from query.to_arrow_reader(BATCH_ROWS)


def _between(
    order: Sequence[str], lower: Bound | None, upper: Bound | None
) -> tuple[str, dict[str, object]]:
    """The condition for rows from `lower` on and before `upper`, and its values.

    It has redundant parts by which DuckDB skips row groups: it knows the bounds of single columns.
    """
    first, second = order[:2]
    parts: list[str] = []
    values: dict[str, object] = {}
    if lower:
        values |= {"lower_first": lower[0], "lower_second": lower[1]}
        parts.append(
            f"({first} > $lower_first OR {first} IS NULL"
            f" OR ({first} = $lower_first AND ({second} >= $lower_second OR {second} IS NULL)))"
        )
    if upper:
        values |= {"upper_first": upper[0], "upper_second": upper[1]}
        parts.append(
            f"({first} < $upper_first OR ({first} = $upper_first AND {second} < $upper_second))"
        )
    if lower and upper:
        parts.append(f"{first} BETWEEN $lower_first AND $upper_first")
        if lower[0] == upper[0]:
            parts.append(f"{second} BETWEEN $lower_second AND $upper_second")
    return " AND ".join(parts) or "TRUE", values
