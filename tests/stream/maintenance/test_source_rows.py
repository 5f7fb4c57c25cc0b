"""Rows of data files are read within bounds of time, with the columns of the table."""

from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from schemas.tables import EVENTS
from stream.maintenance.source_rows import (
    STRINGS,
    SourceRows,
    joined,
    row_schema,
    without_derived_hashes,
)
from tests.stream.maintenance.rows_to_merge import COLUMNS, MIDNIGHT, Row, made_rows, written

HOUR = timedelta(hours=1)


@pytest.fixture
def rows() -> list[Row]:
    return [*made_rows(400), made_rows(1)[0] | {"ts": None, "event_id": "never"}]


@pytest.mark.parametrize(
    ("since", "until"), [(None, None), (MIDNIGHT, None), (None, MIDNIGHT), (MIDNIGHT, MIDNIGHT)]
)
def test_rows_are_within_the_bounds(
    tmp_path: Path, rows: list[Row], since: datetime | None, until: datetime | None
) -> None:
    source = SourceRows(EVENTS, written(tmp_path, rows), since, until)

    found = [row for batch in source.batches() for row in batch.to_pylist()]

    expected = [
        row["event_id"]
        for row in rows
        if (since is None or (row["ts"] and row["ts"] >= since))
        and (until is None or (row["ts"] and row["ts"] < until))
    ]
    assert sorted(row["event_id"] for row in found) == sorted(expected)
    by_id = {row["event_id"]: row for row in rows}
    assert all({n: row[n] for n in COLUMNS} == by_id[row["event_id"]] for row in found)


def test_row_groups_beyond_the_bounds_are_not_read(tmp_path: Path) -> None:
    rows = sorted(made_rows(400), key=lambda row: row["ts"])
    (file,) = written(tmp_path, rows, files=1, row_group=50)
    data = bytearray(file.read_bytes())
    group = pq.read_metadata(file).row_group(0)
    for column in range(group.num_columns):
        place = group.column(column).data_page_offset
        data[place : place + 8] = b"\xff" * 8  # of rows before midnight
    file.write_bytes(data)

    assert list(SourceRows(EVENTS, [file], since=MIDNIGHT + HOUR / 2).batches())
    with pytest.raises((OSError, pa.ArrowException)):
        list(SourceRows(EVENTS, [file]).batches())


def test_columns_have_the_types_of_the_table_and_are_null_when_not_stored(
    tmp_path: Path, rows: list[Row]
) -> None:
    old = pa.table({"ts": pa.array([MIDNIGHT], pa.timestamp("us", "UTC")), "seq": [3]})
    pq.write_table(old.append_column("path", pa.array(["/old"])), tmp_path / "old")

    source = SourceRows(EVENTS, [*written(tmp_path, rows), tmp_path / "old"])
    *_, last = source.batches()

    assert last.schema == source.schema
    assert last.schema.field("country").type == STRINGS
    assert last.select(["seq", "path", "country", "event_id"]).to_pylist() == [
        {"seq": 3, "path": "/old", "country": None, "event_id": None}
    ]
    names = [batch.schema.names for batch in source.batches(["website_id", "ts"])]
    assert names
    assert all(found == ["website_id", "ts"] for found in names)
    assert source.size[0] == len(rows) + 1


def test_deduplication_keys_are_left_out_where_they_follow_from_the_row() -> None:
    rows = pa.table(
        {
            "event_id": ["a", "", None, "b", "c"],
            "trusted": [True, True, False, None, False],
            "event_hash": [1, 2, 3, 4, 5],
        }
    )

    found = without_derived_hashes(rows)

    assert found["event_hash"].to_pylist() == [None, 2, 3, 4, None]
    assert found.drop_columns("event_hash").equals(rows.drop_columns("event_hash"))


def test_imported_rows_keep_their_deduplication_keys() -> None:
    rows = pa.table(
        {
            "event_id": ["a", "b"],
            "trusted": [True, True],
            "import_id": [None, "i1"],
            "event_hash": [1, 2],
        }
    )

    assert without_derived_hashes(rows)["event_hash"].to_pylist() == [None, 2]


PARTS: list[list[str | None]] = [["b", None, "a", "b"], [None, None], ["c", "a", "é"]]


def tables() -> list[pa.Table]:
    return [
        pa.table({"s": pa.array(part, STRINGS), "n": range(len(part))})
        for part in PARTS
    ]  # fmt: skip


@pytest.mark.parametrize("only_used", [False, True])
def test_joined_rows_are_those_of_the_parts_and_the_parts_are_given_up(only_used: bool) -> None:
    parts = tables()

    found = joined(parts, only_used=only_used)

    assert parts == []
    assert found["s"].to_pylist() == [value for part in PARTS for value in part]
    assert found["n"].to_pylist() == [0, 1, 2, 3, 0, 1, 0, 1, 2]
    assert [column.num_chunks for column in found.columns] == [1, 1]
    found.validate(full=True)


def test_dictionaries_have_only_values_that_occur_in_that_order() -> None:
    whole = joined(tables())

    found = joined([whole.take([8, 0, 1, 0, 8, 4])], only_used=True)

    values = found["s"].chunk(0)
    assert values.dictionary.to_pylist() == ["é", "b"]
    assert values.to_pylist() == ["é", "b", None, "b", "é", None]
    # A slice that begins with NULL, and columns of NULL only.
    assert joined([whole.slice(1, 2)], only_used=True)["s"].to_pylist() == [None, "a"]
    assert joined([whole.slice(4, 2)], only_used=True)["s"].to_pylist() == [None, None]
    empty = pa.table({"s": pa.nulls(2, STRINGS)})
    assert joined([empty], only_used=True)["s"].to_pylist() == [None, None]


def test_strings_have_dictionaries_but_for_ids_that_all_differ() -> None:
    names = pa.schema([("event_id", pa.string()), ("path", pa.string()), ("seq", pa.int32())])

    assert row_schema(names).types == [pa.string(), STRINGS, pa.int32()]
