"""What is derived from a data file is the same in one portion and in many, and sorted."""

from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from schemas.kinds import DERIVED_TABLES
from schemas.tables import EVENTS, DerivedTable
from stream.maintenance.derived_rows import (
    DUCKDB_TYPES,
    column_expressions,
    connect_duckdb,
    write_derived,
)
from stream.storage.table_schema import DAY_COLUMN, arrow_schema

EVENTS_SQL = """
    SELECT 'w' || n % 3 AS website_id, make_timestamptz(1700000000000000 + n * 7919000) AS ts,
           n % 4 AS kafka_partition, n AS kafka_offset, 0 AS seq, 0 AS epoch,
           hash(n // 5) >> 1 AS session_hash, 's' || n // 5 AS session_id,
           hash(n // 9) >> 1 AS visitor_hash, 'v' || n // 9 AS anonymous_id,
           CASE WHEN n % 5 < 4 THEN 'screen_view' ELSE 'signup' END AS name,
           n // 9 % 7 = 0 AS is_bot,
           '/' || n % 11 AS path, CAST(n % 13 AS DECIMAL(18, 4)) AS time_on_page
      FROM range({rows}) AS numbers (n)
"""


def a_data_file(folder: Path, rows: int) -> Path:
    """Events of sessions with five events each, of visitors with nine; other columns are absent."""
    file = folder / "events.parquet"
    duckdb.execute("SET TimeZone = 'UTC'")
    hashes = "CAST(session_hash AS BIGINT) AS session_hash, CAST(visitor_hash AS BIGINT)"
    duckdb.execute(
        f"COPY (SELECT * REPLACE ({hashes} AS visitor_hash) FROM ({EVENTS_SQL.format(rows=rows)}))"
        f" TO '{file}' (FORMAT parquet)"
    )
    return file


def derived_rows(derived: DerivedTable, file: Path, **options: Any) -> list[dict[str, Any]]:
    result = file.with_name("derived.parquet")
    write_derived(derived, file, result, **options)
    rows: list[dict[str, Any]] = pq.read_table(result).to_pylist()
    return rows


def by_the_statement(derived: DerivedTable, file: Path) -> list[tuple[Any, ...]]:
    """What the table's statement says of the whole file, sorted."""
    present = pq.read_schema(file).names
    columns = ", ".join(
        c.name if c.name in present else f"CAST(NULL AS {DUCKDB_TYPES[c.type]}) AS {c.name}"
        for c in derived.source.columns
        if c.name != DAY_COLUMN
    )
    source = f"WITH source_rows AS (SELECT {columns} FROM '{file}')"
    order = ", ".join(derived.table.sort_order)
    names = ", ".join(arrow_schema(derived.table).names)
    return duckdb.execute(
        f"{source} SELECT {names} FROM ({derived.sql}) ORDER BY {order}"
    ).fetchall()


@pytest.mark.parametrize("derived", DERIVED_TABLES, ids=lambda derived: derived.table.name)
@pytest.mark.parametrize("computed_rows", [100_000, 700])
def test_portions_have_the_rows_of_the_whole_file_in_order(
    tmp_path: Path, derived: DerivedTable, computed_rows: int
) -> None:
    file = a_data_file(tmp_path, 5_000)

    rows = derived_rows(derived, file, computed_rows=computed_rows)

    assert len(rows) >= 5_000 // 9
    assert [tuple(row.values()) for row in rows] == by_the_statement(derived, file)


@pytest.mark.parametrize("derived", DERIVED_TABLES, ids=lambda derived: derived.table.name)
def test_a_file_has_the_columns_of_its_table_also_without_rows(
    tmp_path: Path, derived: DerivedTable
) -> None:
    assert derived_rows(derived, a_data_file(tmp_path, 0)) == []
    assert pq.read_schema(tmp_path / "derived.parquet") == arrow_schema(derived.table)

    assert derived_rows(derived, a_data_file(tmp_path, 10)) != []
    assert pq.read_schema(tmp_path / "derived.parquet") == arrow_schema(derived.table)


def test_nothing_but_the_result_is_left(tmp_path: Path) -> None:
    file = a_data_file(tmp_path, 1_000)

    derived_rows(DERIVED_TABLES[0], file, computed_rows=100)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["derived.parquet", file.name]


def test_columns_that_a_file_does_not_have_are_null_of_their_type(tmp_path: Path) -> None:
    columns = list(column_expressions(EVENTS, {"ts", "path"}))

    assert "day" not in columns
    assert {"ts", "path"} < set(columns)
    with connect_duckdb(tmp_path) as connection:
        found = connection.sql(
            f"SELECT {', '.join(columns)} FROM (SELECT now() AS ts, '/' AS path)"
        )
        types = dict(zip(found.columns, map(str, found.types), strict=True))
        (row,) = found.fetchall()
    assert {name for name, value in zip(types, row, strict=True) if value is not None} == {
        *("ts", "path")
    }
    names = {str(kind).upper(): str(kind) for kind in types.values()}
    for column in EVENTS.columns:
        if column.name in types:
            expected = DUCKDB_TYPES[column.type].replace(", ", ",")
            assert types[column.name].replace(", ", ",") == expected, names


def test_a_connection_has_one_thread_and_little_memory(tmp_path: Path) -> None:
    with connect_duckdb(tmp_path) as connection:
        settings = connection.execute(
            "SELECT current_setting('threads'), current_setting('TimeZone'),"
            " current_setting('temp_directory')"
        ).fetchone()

    assert settings == (1, "UTC", str(tmp_path))
