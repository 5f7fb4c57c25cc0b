"""Rows of data files in DuckDB, from which derived tables are computed."""

from collections.abc import Iterator
from pathlib import Path

import duckdb

from schemas.tables import Column, ColumnType, Table
from stream.storage.table_schema import DAY_COLUMN

MEMORY_LIMIT = "512MB"

DUCKDB_TYPES = {
    ColumnType.STRING: "VARCHAR",
    ColumnType.LONG: "BIGINT",
    ColumnType.INTEGER: "INTEGER",
    ColumnType.BOOLEAN: "BOOLEAN",
    ColumnType.DATE: "DATE",
    ColumnType.DECIMAL: "DECIMAL(18, 4)",
    ColumnType.TIMESTAMP: "TIMESTAMP WITH TIME ZONE",
}


def column_expressions(table: Table, stored: set[str]) -> Iterator[str]:
    """The table's columns; NULL for one that was added after all the files were written."""
    for column in table.columns:
        if column.name != DAY_COLUMN:
            yield column.name if column.name in stored else _null_column(column)


def _null_column(column: Column) -> str:
    return f"CAST(NULL AS {DUCKDB_TYPES[column.type]}) AS {column.name}"


def connect_duckdb(scratch: Path) -> duckdb.DuckDBPyConnection:
    """DuckDB with one thread and little memory, which spills into that folder."""
    connection = duckdb.connect()
    connection.execute("SET temp_directory = ?", [str(scratch)])
    connection.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
    connection.execute("SET threads = 1")
    connection.execute("SET TimeZone = 'UTC'")
    return connection
