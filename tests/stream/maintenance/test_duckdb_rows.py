"""DuckDB reads data files with the columns of the table."""

from pathlib import Path

from schemas.tables import EVENTS
from stream.maintenance.duckdb_rows import DUCKDB_TYPES, column_expressions, connect_duckdb


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
