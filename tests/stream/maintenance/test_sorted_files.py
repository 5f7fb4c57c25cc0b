"""Row groups end where a website ends, and files hold the rows that they were given."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from schemas.tables import EVENTS
from stream.maintenance.sorted_files import (
    ROW_GROUP,
    SMALL_ROW_GROUP,
    row_group_sizes,
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


def events(rows: int) -> pa.Table:
    """The event ids are the numbers from 0 on; `session_id` is a dictionary, as in a merge."""
    return pa.table(
        {
            "website_id": pa.array([f"w{number // 250}" for number in range(rows)]),
            "ts": pa.array(range(rows), pa.timestamp("us", "UTC")),
            "event_id": pa.array(map(str, range(rows))),
            "visitor_hash": pa.array(range(rows), pa.int64()),
            "session_id": pa.array([f"s{n // 5}" for n in range(rows)]).dictionary_encode(),
            "time_on_page": pa.array([None] * rows, pa.decimal128(18, 4)),
        }
    )


def groups(rows: int, sizes: Sequence[int]) -> Iterator[pa.Table]:
    begin = 0
    for size in sizes:
        yield events(rows).slice(begin, size)
        begin += size


def plain(rows: int) -> pa.Table:
    """As a reader sees them."""
    table = events(rows)
    place = table.schema.get_field_index("session_id")
    return table.set_column(place, "session_id", table["session_id"].cast(pa.string()))


def test_a_file_has_row_groups_of_the_sizes(tmp_path: Path) -> None:
    sizes = [250, 500, 250]

    assert write_files(EVENTS, groups(1_000, sizes), sizes, tmp_path / "one", 0) == [
        tmp_path / "one"
    ]

    with pq.ParquetFile(tmp_path / "one") as file:
        found = [file.read_row_group(n) for n in range(file.num_row_groups)]
        chunks = [file.metadata.row_group(0).column(n) for n in range(6)]
    assert [group.num_rows for group in found] == sizes
    assert [set(group["website_id"].to_pylist()) for group in found] == [
        {"w0"},
        {"w1", "w2"},
        {"w3"},
    ]
    assert pa.concat_tables(found).equals(plain(1_000))
    assert [chunk.has_dictionary_page for chunk in chunks] == [
        *(True, False, False, False, True, True)
    ]
    assert [chunk.path_in_schema for chunk in chunks if chunk.statistics] == ["website_id", "ts"]


def test_a_folder_has_files_that_end_with_a_row_group(tmp_path: Path) -> None:
    sizes = [250, 250, 250, 250]

    files = write_files(EVENTS, groups(1_000, sizes), sizes, tmp_path / "many", 1)

    assert files == sorted((tmp_path / "many").iterdir())
    assert [pq.read_metadata(file).num_rows for file in files] == sizes
    assert pa.concat_tables(pq.read_table(file) for file in files).equals(plain(1_000))


def test_more_values_than_a_dictionary_may_have_are_stored(tmp_path: Path) -> None:
    values = [f"{number:0200}" for number in range(30_000)]
    rows = pa.table({"path": pa.array(values).dictionary_encode()})

    write_files(EVENTS, [rows], [30_000], tmp_path / "large", 0)

    assert pq.read_table(tmp_path / "large")["path"].to_pylist() == values


def test_no_rows_are_no_file(tmp_path: Path) -> None:
    assert write_files(EVENTS, [], [], tmp_path / "none", 0) == []
    assert not (tmp_path / "none").exists()
