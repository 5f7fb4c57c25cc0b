"""Row memory: rows fetched a few at a time, and none beyond what they may take while shaped.

What rows take in Python is estimated: so many bytes for each row and value, and the text of each.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from query.engine.deadline import Deadline, timeout_error
from schemas.errors import ResultTooLarge

if TYPE_CHECKING:
    import duckdb

Row = tuple[Any, ...]

FETCH_ROWS = 500
"""Rows that are fetched without a look at how much they are."""
ROW_BYTES, VALUE_BYTES = 64, 40
FIXED_SIZE_TYPES = ("INT", "DOUBLE", "FLOAT", "DECIMAL", "BOOLEAN", "DATE", "TIME", "NULL")
"""How the names of types begin or go on whose values have no length of their own."""


def fetch_all(
    cursor: "duckdb.DuckDBPyConnection", most_bytes: int, deadline: Deadline
) -> list[Row]:
    """All rows of an answer; ResultTooLarge when they are more than may be held."""
    rows: list[Row] = []
    held = 0
    for portion, size in fetch_portions(cursor, FETCH_ROWS):
        held += size
        if held > most_bytes:
            raise ResultTooLarge(
                "The question gives more rows or longer texts than one answer may hold; "
                "ask for a lower 'limit', a shorter span or fewer columns"
            )
        if deadline.passed:
            raise timeout_error()
        rows += portion
    return rows


def fetch_batch(cursor: "duckdb.DuckDBPyConnection", most_rows: int, most_bytes: int) -> list[Row]:
    """The next rows: as many as are asked for, fewer where they are large; none at the end."""
    rows: list[Row] = []
    held = 0
    for portion, size in fetch_portions(cursor, min(FETCH_ROWS, most_rows)):
        rows += portion
        held += size
        if len(rows) >= most_rows or held >= most_bytes:
            break
    return rows


def fetch_portions(
    cursor: "duckdb.DuckDBPyConnection", most_rows: int
) -> Iterator[tuple[list[Row], int]]:
    """Rows of an answer, a few at a time, and what they take."""
    names = [str(column[1]) for column in cursor.description or ()]
    texts = [
        i for i, name in enumerate(names) if not any(word in name for word in FIXED_SIZE_TYPES)
    ]
    each = ROW_BYTES + VALUE_BYTES * len(names)
    while rows := cursor.fetchmany(most_rows):
        yield rows, each * len(rows) + size_of(rows, texts)
        if len(rows) < most_rows:
            return


def size_of(rows: Sequence[Row], texts: Sequence[int]) -> int:
    """The length of the texts in these columns."""
    return sum(len(row[i]) for i in texts for row in rows if row[i])
