"""Rows that are sorted in portions are the rows of a full sort, in the same order."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec import structs

from schemas.tables import EVENTS, Table
from stream.maintenance.row_order import row_order
from stream.maintenance.row_survey import survey
from stream.maintenance.sorted_portions import (
    MAX_PORTIONS,
    fitting_rows,
    portion_rows,
    row_groups,
    sorted_portions,
)
from stream.maintenance.source_rows import SourceRows
from tests.stream.maintenance.rows_to_merge import (
    COLUMNS,
    MIDNIGHT,
    Row,
    in_order,
    made_rows,
    written,
)

ROWS = 700
VIEWS = structs.replace(
    EVENTS, columns=tuple(c for c in EVENTS.columns if c.name != "session_hash")
)
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
    "portion", [pytest.param(1, marks=pytest.mark.long), 7, 100, 333, ROWS - 1, ROWS]
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
