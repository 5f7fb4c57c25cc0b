"""Work of a pool's threads on a DuckDB cursor: run a statement, fetch its rows."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import duckdb

from query.engine import bounded_fetch
from query.engine.column_rows import ColumnRows, column_rows
from query.engine.deadline import Deadline, timeout_error
from query.engine.engine import DataFileMissing, Row, Sql
from schemas.errors import QueryTooHeavy

BATCH_BYTES = 4 * 2**20
"""Size of a batch, exceeded by at most one portion of rows."""


def fetch_all(
    cursor: duckdb.DuckDBPyConnection, sql: Sql, max_bytes: int, deadline: Deadline
) -> list[Row]:
    try:
        with _translated_errors(deadline):
            cursor.execute(_statement(cursor, sql), dict(sql.values))
            return bounded_fetch.fetch_all(cursor, max_bytes, deadline)
    finally:
        cursor.close()


def fetch_table(cursor: duckdb.DuckDBPyConnection, sql: Sql, deadline: Deadline) -> ColumnRows:
    try:
        with _translated_errors(deadline):
            # a relation is not copied, but binds the statement twice, which takes longer: 7 ms
            cursor.execute(_statement(cursor, sql), dict(sql.values))
            return column_rows(cursor)
    finally:
        cursor.close()


def execute(
    cursor: duckdb.DuckDBPyConnection, sql: Sql, in_use: Lock, deadline: Deadline
) -> list[Row]:
    """Execute only; `fetch` returns the rows."""
    with in_use, _translated_errors(deadline):
        cursor.execute(_statement(cursor, sql), dict(sql.values))
    return []


def fetch(
    cursor: duckdb.DuckDBPyConnection, max_rows: int, in_use: Lock, deadline: Deadline
) -> list[Row]:
    with in_use, _translated_errors(deadline):
        return bounded_fetch.fetch_batch(cursor, max_rows, BATCH_BYTES)


def close(cursor: duckdb.DuckDBPyConnection, in_use: Lock) -> None:
    with in_use:
        cursor.close()


def _statement(cursor: duckdb.DuckDBPyConnection, sql: Sql) -> duckdb.Statement:
    statements = cursor.extract_statements(sql.text)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise ValueError("only a single SELECT is allowed")
    return statements[0]


@contextmanager
def _translated_errors(deadline: Deadline) -> Iterator[None]:
    """Translate DuckDB exceptions into errors for the caller."""
    if deadline.passed:
        raise timeout_error()
    try:
        yield
    except duckdb.InterruptException:
        raise timeout_error() from None
    except duckdb.OutOfMemoryException:
        raise QueryTooHeavy(
            "The query exceeds the memory limit; use a shorter time range, "
            "more filters or fewer groups"
        ) from None
    except duckdb.IOException as error:
        raise DataFileMissing from error
