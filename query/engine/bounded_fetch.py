"""Fetches rows in portions within a memory limit.

The size of rows in Python is estimated: fixed bytes per row and per value, plus the length of text.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from query.engine.deadline import Deadline, timeout_error
from query.engine.engine import Row
from schemas.errors import ResultTooLarge

if TYPE_CHECKING:
    import duckdb

FETCH_ROWS = 500
"""Rows of one fetch, between checks of the memory limit."""
ROW_BYTES, VALUE_BYTES = 64, 40
FIXED_SIZE_TYPES = ("INT", "DOUBLE", "FLOAT", "DECIMAL", "BOOLEAN", "DATE", "TIME", "NULL")
"""Parts of the names of types with values of a fixed size."""


def fetch_all(cursor: "duckdb.DuckDBPyConnection", max_bytes: int, deadline: Deadline) -> list[Row]:
    """All rows of a result; ResultTooLarge beyond `max_bytes`."""
    rows: list[Row] = []
    total = 0
    for portion, size in fetch_portions(cursor, FETCH_ROWS):
        total += size
        if total > max_bytes:
            raise too_large()
        if deadline.passed:
            raise timeout_error()
        rows += portion
    return rows


def too_large() -> ResultTooLarge:
    """The error for rows beyond the memory limit."""
    return ResultTooLarge(
        "The result is too large; use a lower 'limit', a shorter time range or fewer columns"
    )


def fetch_batch(cursor: "duckdb.DuckDBPyConnection", max_rows: int, max_bytes: int) -> list[Row]:
    """The next rows: at most `max_rows`, fewer where they are large; none at the end."""
    rows: list[Row] = []
    total = 0
    for portion, size in fetch_portions(cursor, min(FETCH_ROWS, max_rows)):
        rows += portion
        total += size
        if len(rows) >= max_rows or total >= max_bytes:
            break
    return rows


def fetch_portions(
    cursor: "duckdb.DuckDBPyConnection", max_rows: int
) -> Iterator[tuple[list[Row], int]]:
    """Portions of the rows of a result, with their estimated size."""
    names = [str(column[1]) for column in cursor.description or ()]
    text_columns = [
        i for i, name in enumerate(names) if not any(word in name for word in FIXED_SIZE_TYPES)
    ]
    row_bytes = ROW_BYTES + VALUE_BYTES * len(names)
    while rows := cursor.fetchmany(max_rows):
        yield rows, row_bytes * len(rows) + size_of(rows, text_columns)
        if len(rows) < max_rows:
            return


def size_of(rows: Sequence[Row], text_columns: Sequence[int]) -> int:
    """The length of the text in these columns."""
    return sum(len(row[i]) for i in text_columns for row in rows if row[i])
