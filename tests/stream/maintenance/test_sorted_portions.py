"""Rows that are sorted in portions are the rows of a full sort, in the same order."""

from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

from stream.maintenance.compaction import connect_duckdb
from stream.maintenance.sorted_portions import SortedRows, portion_bounds, sorted_reader

ROWS = 1_000


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with connect_duckdb(tmp_path) as opened:
        yield opened


@pytest.fixture
def files(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> list[str]:
    """Rows of five websites, one of which has half of them, and of none; few distinct times."""
    paths = [str(tmp_path / f"{number}.parquet") for number in range(3)]
    for number, path in enumerate(paths):
        connection.execute(
            f"""
            COPY (SELECT CASE WHEN id % 50 = 7 THEN NULL
                              WHEN id % 2 = 0 THEN 'wé' ELSE 'w' || id % 10 END        AS website,
                         CASE WHEN id % 31 <> 3
                              THEN CAST('2026-11-21' AS TIMESTAMPTZ)
                                   + to_seconds(hash(id) % 40) END                     AS ts,
                         id,
                         CAST(id AS DECIMAL(18, 4)) / 8                                AS price
                    FROM (SELECT unnest(range({ROWS})) AS id)
                   WHERE id % 3 = {number}
                   ORDER BY hash(id))
              TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 128)
            """
        )
    return paths


def rows_of(files: list[str], condition: str = "TRUE") -> SortedRows:
    return SortedRows(
        ("website", "ts", "id", "price"), condition, ("website", "ts", "id"), {"files": files}
    )


def by_visitor(files: list[str], condition: str) -> SortedRows:
    """As tables of visitors are sorted; every third row has no visitor."""
    visitor = "CASE WHEN id % 3 > 0 THEN hash(id // 7) >> 1 END"
    return SortedRows(
        ("website", "ts", "id", "price"),
        condition,
        (
            "website",
            "time_bucket(INTERVAL 30 MINUTE, ts)",
            f"COALESCE({visitor}, epoch_ms(ts))",
            "id",
        ),
        {"files": files},
        key_count=3,
    )


@pytest.mark.parametrize("order", [rows_of, by_visitor])
@pytest.mark.parametrize("portion", [1, 7, 100, 333, ROWS - 1])
@pytest.mark.parametrize("condition", ["TRUE", "id % 4 = 1", "website = 'wé'", "FALSE"])
def test_portions_after_each_other_are_the_sorted_rows(
    connection: duckdb.DuckDBPyConnection,
    files: list[str],
    order: Callable[[list[str], str], SortedRows],
    portion: int,
    condition: str,
) -> None:
    rows = order(files, condition)
    whole = connection.sql(rows.text(), params=dict(rows.values)).to_arrow_table()

    found = sorted_reader(connection, rows, portion_bounds(connection, rows, portion)).read_all()

    assert found.schema == whole.schema
    assert found.to_pylist() == whole.to_pylist()


def test_portions_have_about_the_same_number_of_rows(
    connection: duckdb.DuckDBPyConnection, files: list[str]
) -> None:
    rows = rows_of(files)

    bounds = portion_bounds(connection, rows, 250)

    assert len(bounds) == 3
    assert bounds == sorted(bounds)
    # All rows lie in one half hour: the visitors bound the portions.
    assert len(portion_bounds(connection, by_visitor(files, "website = 'wé'"), 100)) == 4
    assert not portion_bounds(connection, rows, ROWS)
    assert not portion_bounds(connection, rows_of(files, "FALSE"), 250)
