"""Merged rows are in the order of the table, in portions and row groups of the right sizes."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec import structs

from schemas.tables import CLICKS, EVENTS, LEDGER, QUARANTINE, Table
from stream.maintenance import sorted_rows
from stream.maintenance.sorted_rows import (
    MAX_PORTIONS,
    ROW_GROUP,
    SMALL_ROW_GROUP,
    fitting_rows,
    portion_rows,
    row_group_sizes,
    row_groups,
    row_order,
    sorted_portions,
    survey,
    write_files,
)
from stream.maintenance.source_rows import SourceRows, row_schema
from stream.storage.table_schema import arrow_schema
from tests.stream.maintenance.rows_to_merge import (
    COLUMNS,
    MIDNIGHT,
    Row,
    in_order,
    made_rows,
    written,
)

VIEWS = structs.replace(
    EVENTS, columns=tuple(c for c in EVENTS.columns if c.name != "session_hash")
)
"""Without sessions, so that it is sorted by time."""


def test_tables_of_visitors_are_sorted_by_visitor_and_others_by_time() -> None:
    key = ("epoch", "kafka_partition", "kafka_offset", "seq")

    assert [row_order(table).is_by_visitor for table in (EVENTS, CLICKS, LEDGER)] == [
        *(True, False, False)  # a click has no session
    ]
    assert tuple(row_order(EVENTS).key) == key
    assert row_order(EVENTS).bound_columns == ("website_id", "ts", "visitor_hash")
    assert row_order(CLICKS).bound_columns == ("link_id", "ts")
    assert row_order(QUARANTINE).subject == "topic"


@pytest.mark.parametrize("table", [EVENTS, VIEWS])
def test_places_are_those_of_a_sort_by_values(table: Table) -> None:
    rows = made_rows(500)
    types = arrow_schema(EVENTS)
    schema = row_schema(pa.schema([types.field(name) for name in COLUMNS]))
    found = pa.Table.from_pylist(rows, schema)
    subjects = pa.array(sorted({row["website_id"] for row in rows if row["website_id"]}))

    places = row_order(table).places(found, subjects)

    assert [rows[place]["event_id"] for place in places] == [
        row["event_id"] for row in in_order(rows, table)
    ]


def test_strings_of_the_key_are_compared_as_strings() -> None:
    order = row_order(LEDGER)
    rows = pa.table(
        {
            name: pa.array([0, 0, 0, 0]).cast(arrow_schema(LEDGER).field(name).type)
            for name in (order.time, *order.key)
            if name != "topic"
        }
    )
    strings = [["s", "s", None, "a"], ["b", "a", "a", "c"]]
    for name, values in zip((order.subject, "topic"), strings, strict=True):
        rows = rows.append_column(name, pa.array(values).dictionary_encode())

    assert order.places(rows, pa.array(["a", "s"])).tolist() == [3, 1, 0, 2]


def test_rows_are_counted_by_subject_in_order_and_those_of_none_last(tmp_path: Path) -> None:
    rows = made_rows(600)
    source = SourceRows(EVENTS, written(tmp_path, rows))

    known = survey(source, row_order(EVENTS), 1_000)

    counts = Counter(row["website_id"] for row in rows)
    names = [*sorted(name for name in counts if name), None]
    assert known.subjects.to_pylist() == names[:-1]
    assert list(known.rows_by_subject) == [counts[name] for name in names]
    assert not known.bounds


@pytest.mark.parametrize("sample", [20_000, 150])
def test_bounds_divide_the_rows_into_similar_portions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sample: int
) -> None:
    monkeypatch.setattr(sorted_rows, "SAMPLE_ROWS", sample)
    rows = made_rows(600)
    order, source = row_order(EVENTS), SourceRows(EVENTS, written(tmp_path, rows))

    known = survey(source, order, 150)

    assert len(known.bounds) == 3
    found: Counter[int] = Counter()
    for batch in source.batches():
        numbers = np.stack(order.bound_numbers(batch, known.subjects), axis=1)
        found.update(sum(tuple(b) <= tuple(row) for b in known.bounds) for row in numbers.tolist())
    assert sum(found.values()) == 600
    assert all(75 <= count <= 225 for count in found.values())


def test_no_rows_have_no_subjects_and_no_bounds(tmp_path: Path) -> None:
    source = SourceRows(EVENTS, written(tmp_path, made_rows(9)), MIDNIGHT, MIDNIGHT)

    known = survey(source, row_order(EVENTS), 1)

    assert (len(known.subjects), known.rows_by_subject, known.bounds) == (0, [], [])


ROWS = 700
"""Without sessions, so that it is sorted by time."""


def merged(
    source: SourceRows, table: Table, portion: int, sizes: Sequence[int], folder: Path
) -> list[list[Row]]:
    order = row_order(table)
    known = survey(source, order, portion)
    portions = sorted_portions(source, order, known, portion, folder)
    return [group.to_pylist() for group in row_groups(portions, sizes)]


@pytest.mark.parametrize("table", [EVENTS, VIEWS])
@pytest.mark.parametrize(
    "portion",
    [*(pytest.param(n, marks=pytest.mark.long) for n in (1, 7)), 100, 333, ROWS - 1, ROWS],
)
@pytest.mark.parametrize("sizes", [[ROWS], [1, 99, 250, 350]])
def test_portions_after_each_other_are_the_sorted_rows(
    tmp_path: Path, table: Table, portion: int, sizes: Sequence[int]
) -> None:
    rows = made_rows(ROWS)
    source = SourceRows(table, written(tmp_path, rows))
    (tmp_path / "portions").mkdir()

    groups = merged(source, table, portion, sizes, tmp_path / "portions")

    assert [len(group) for group in groups] == sizes
    found = [row for group in groups for row in group]
    names = [name for name in COLUMNS if table.column(name)]
    expected = in_order(rows, table)
    assert [[row[n] for n in names] for row in found] == [
        [row[n] for n in names] for row in expected
    ]
    assert not list((tmp_path / "portions").iterdir())


def test_portions_have_only_the_rows_within_the_bounds(tmp_path: Path) -> None:
    rows = made_rows(ROWS)
    late = [row for row in rows if row["ts"] < MIDNIGHT]
    source = SourceRows(EVENTS, written(tmp_path, rows), until=MIDNIGHT)

    (found,) = merged(source, EVENTS, 20, [len(late)], tmp_path)

    assert [row["event_id"] for row in found] == [row["event_id"] for row in in_order(late, EVENTS)]
    nothing = SourceRows(EVENTS, written(tmp_path, rows), MIDNIGHT, MIDNIGHT)
    assert merged(nothing, EVENTS, 20, [], tmp_path) == []


def test_large_rows_are_fewer_in_a_portion(tmp_path: Path) -> None:
    small, large = made_rows(100), [row | {"path": "/" + "x" * 999} for row in made_rows(100)]
    for row in large:
        row["path"] += row["event_id"]
    (tmp_path / "large").mkdir()

    assert fitting_rows(SourceRows(EVENTS, written(tmp_path, small)), 60, 30_000) == 60
    found = fitting_rows(SourceRows(EVENTS, written(tmp_path / "large", large)), 60, 30_000)
    assert 20 < found < 30
    assert fitting_rows(SourceRows(EVENTS, []), 60, 30_000) == 1


def test_a_merge_has_no_more_portions_than_files_that_may_be_open(tmp_path: Path) -> None:
    rows = made_rows(3 * MAX_PORTIONS)
    source = SourceRows(EVENTS, written(tmp_path, rows))

    assert portion_rows(source, 100) == 100
    assert portion_rows(source, 1) == 3
    known = survey(source, row_order(EVENTS), portion_rows(source, 1))
    assert MAX_PORTIONS / 2 < len(known.bounds) + 1 <= MAX_PORTIONS


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
