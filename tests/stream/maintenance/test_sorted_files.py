"""Row groups end where a website ends, and files hold the rows that they were given."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from schemas.tables import CLICKS, EVENTS, LEDGER
from stream.maintenance.sorted_files import (
    ROW_GROUP,
    SMALL_ROW_GROUP,
    row_group_sizes,
    visitor_order,
    write_files,
)


@pytest.mark.parametrize(
    ("rows_by_subject", "sizes"),
    [
        ([], []),
        ([7], [7]),
        ([ROW_GROUP], [ROW_GROUP]),
        ([ROW_GROUP + 1], [ROW_GROUP // 2, ROW_GROUP // 2 + 1]),
        # Few rows of many subjects share a small row group; a large subject has its own.
        ([4_000, 8_000, 8_000], [12_000, 8_000]),
        ([10, 50_000, 10, 10], [10, 50_000, 20]),
        ([5, 3 * ROW_GROUP, 5], [5, *[ROW_GROUP] * 3, 5]),
        # Subjects of similar size share a larger one, never the fifth part of it.
        ([20_000, 20_000, 30_000], [70_000]),
        ([20_000, 60_000], [80_000]),
        ([20_000, 60_001], [20_000, 60_001]),
        ([60_000, 60_000, 60_000], [120_000, 60_000]),
        ([10] * 4_000, [SMALL_ROW_GROUP // 10 * 10, SMALL_ROW_GROUP // 10 * 10, 7_240]),
    ],
)
def test_row_groups_end_where_a_subject_ends(
    rows_by_subject: Sequence[int], sizes: Sequence[int]
) -> None:
    assert row_group_sizes(rows_by_subject) == sizes


def test_tables_of_visitors_are_sorted_by_visitor_within_half_an_hour() -> None:
    slot, visitor = "time_bucket(INTERVAL 30 MINUTE, ts)", "COALESCE(visitor_hash, epoch_ms(ts))"
    key = ("epoch", "kafka_partition", "kafka_offset", "seq")

    assert visitor_order(EVENTS) == ("website_id", slot, visitor, "session_hash", *key)
    assert visitor_order(CLICKS) is None  # a click has no session
    assert visitor_order(LEDGER) is None


def reader(rows: int) -> pa.RecordBatchReader:
    """Batches of 100 rows; the event ids are the numbers from 0 on."""
    table = pa.table(
        {
            "website_id": pa.array([f"w{number // 250}" for number in range(rows)]),
            "ts": pa.array(range(rows), pa.timestamp("us", "UTC")),
            "event_id": pa.array(map(str, range(rows))),
            "visitor_hash": pa.array(range(rows), pa.int64()),
            "session_id": pa.array([f"s{number // 5}" for number in range(rows)]),
            "time_on_page": pa.array([None] * rows, pa.decimal128(18, 4)),
        }
    )
    batches: Iterator[pa.RecordBatch] = iter(table.to_batches(100))
    return pa.RecordBatchReader.from_batches(table.schema, batches)


def test_a_file_has_row_groups_of_the_sizes_and_the_rest_in_one_more(tmp_path: Path) -> None:
    write_files(EVENTS, reader(1_000), [250, 500], tmp_path / "one", 0)

    with pq.ParquetFile(tmp_path / "one") as file:
        groups = [file.read_row_group(n) for n in range(file.num_row_groups)]
        chunks = [file.metadata.row_group(0).column(n) for n in range(6)]
    assert [group.num_rows for group in groups] == [250, 500, 250]
    assert [set(group["website_id"].to_pylist()) for group in groups] == [
        {"w0"},
        {"w1", "w2"},
        {"w3"},
    ]
    assert pa.concat_tables(groups).equals(reader(1_000).read_all())
    assert [chunk.has_dictionary_page for chunk in chunks] == [
        *(True, False, False, False, True, True)
    ]
    assert [chunk.path_in_schema for chunk in chunks if chunk.statistics] == ["website_id", "ts"]


def test_a_folder_has_files_that_end_with_a_row_group(tmp_path: Path) -> None:
    write_files(EVENTS, reader(1_000), [250, 250, 250, 250], tmp_path / "many", 1)

    files = sorted((tmp_path / "many").iterdir())
    rows = pa.concat_tables(pq.read_table(file) for file in files)
    assert [pq.read_metadata(file).num_rows for file in files] == [250, 250, 250, 250, 0]
    assert rows.equals(reader(1_000).read_all())


def test_no_rows_are_a_file_without_rows(tmp_path: Path) -> None:
    write_files(EVENTS, reader(0), [], tmp_path / "none", 0)

    assert pq.read_metadata(tmp_path / "none").num_rows == 0
