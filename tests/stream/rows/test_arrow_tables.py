"""Columns of rows as Arrow tables: with dictionaries, by day, and some of the rows."""

from array import array
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemas.tables import EVENTS
from stream.rows.arrow_tables import COMPARED, arrow_table, kept_rows, split_by_day
from stream.rows.repeated_column import RepeatedColumn
from stream.rows.row_batch import Column
from stream.storage.table_schema import arrow_schema

DAY_MS = 24 * 3_600_000
PATHS = ["/a", "/b", "/a", None]


def columns(**more: Column) -> dict[str, Column]:
    """Two rows of one day and two of the next one."""
    day = int(datetime(2026, 11, 27, tzinfo=UTC).timestamp()) * 1_000_000
    received = [day, day + 1, day + 1_000 * DAY_MS, day + 1_000 * DAY_MS + 1]
    return {"website_id": ["w"] * 4, "received_at": array("q", received), **more}


def repeated(*texts: str | None) -> RepeatedColumn:
    return RepeatedColumn(texts, np.arange(len(texts), dtype=np.int32))


def with_paths() -> pa.Table:
    return arrow_table(EVENTS, columns(path=repeated(*PATHS)), with_dictionaries=True)


def dictionary(rows: pa.Table, name: str) -> Any:
    return rows[name].combine_chunks().dictionary.to_pylist()


def test_repeated_strings_are_dictionaries_unless_rows_are_compared_by_them() -> None:
    names = ("website_id", "path", "title", *COMPARED)
    rows = arrow_table(
        EVENTS, columns(**dict.fromkeys(names, repeated(*PATHS))), with_dictionaries=True
    )

    found = {name for name in names if pa.types.is_dictionary(rows[name].type)}
    assert found == {"path", "title"}
    assert all(rows[name].to_pylist() == PATHS for name in names)


def test_without_dictionaries_a_table_has_its_own_schema() -> None:
    rows = arrow_table(EVENTS, columns(path=repeated(*PATHS), event_hash=array("q", [4, 3, 2, 1])))

    assert rows.schema.types == arrow_schema(EVENTS).types
    assert rows["path"].to_pylist() == PATHS
    assert rows["event_hash"].to_pylist() == [4, 3, 2, 1]
    assert rows["title"].null_count == 4


def test_rows_that_are_kept_leave_no_string_of_the_others() -> None:
    rows = with_paths()

    kept = kept_rows(rows, pc.not_equal(rows["path"].cast(pa.string()), "/b"))

    assert kept["path"].to_pylist() == ["/a", "/a"]
    assert dictionary(kept, "path") == ["/a"]
    assert kept.schema == rows.schema
    assert kept_rows(rows, pa.array([False] * 4)).num_rows == 0


def test_rows_of_a_day_have_no_string_of_another_one() -> None:
    by_day = dict(split_by_day(with_paths(), "received_at"))

    assert list(by_day) == ["2026-11-27", "2026-11-28"]
    assert {day: rows["path"].to_pylist() for day, rows in by_day.items()} == {
        "2026-11-27": ["/a", "/b"],
        "2026-11-28": ["/a", None],
    }
    assert [dictionary(rows, "path") for rows in by_day.values()] == [["/a", "/b"], ["/a"]]
