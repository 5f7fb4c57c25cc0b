"""Index of events by one field: number and distinct visitors between any two quarter-hours."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.prepared.groups_index import GroupIndex, index_groups, number_keys
from query.prepared.not_prepared import NotPrepared
from query.prepared.rollup import QUARTER_COLUMN, VISITOR_COLUMN
from query.prepared.rollup_view import RollupView
from query.prepared.row_columns import (
    VISIT_FIELDS,
    EventRows,
    RowSource,
    RowValues,
    field_texts,
    in_order,
)
from query.prepared.visits_index import unprepared_sessions, visits_are_complete


class RowIndex(Struct, frozen=True, eq=False):
    """The values of the field that rows have, in ascending order after NULL, and their rows."""

    values: Sequence[Any]
    groups: GroupIndex
    is_complete: bool = True
    """False when rollups do not have the field of all rows; then there are no groups."""

    @property
    def size(self) -> int:
        """Bytes in memory, about."""
        return self.groups.size + sum(len(value or "") + 60 for value in self.values)


NO_ROWS = RowIndex((), index_groups(*(np.empty(0, np.int64) for _ in range(4))), is_complete=False)


def row_index(joined: RollupView, source: RowSource, field: str) -> RowIndex | None:
    """The index of a field; None where rows have to be read."""
    if not source.has(field) and not _is_same_in_range(joined, field):
        return None
    tables = [table.table.name for table in source.tables]
    counted = [(*table.added, *table.subtracted) for table in source.tables]
    name = ("rows by", field, *tables, *counted)
    index = joined.index(name, lambda whole: index_rows(whole, source, field))
    return index if index is not None and index.is_complete else None


def _is_same_in_range(joined: RollupView, field: str) -> bool:
    """Whether a field of the session or visit of each row is the one that all rows have."""
    if field not in VISIT_FIELDS:
        return not joined.has_unprepared
    return unprepared_sessions(joined) is None and visits_are_complete(joined)


def index_rows(whole: RollupView, source: RowSource, field: str) -> RowIndex:
    """The index of all rows of a source."""
    tables = [table.table.name for table in source.tables]
    quarters = [whole.columns(table, QUARTER_COLUMN)[QUARTER_COLUMN] for table in tables]
    first = min(int(each.min(initial=2**31 - 1)) for each in quarters)
    end = 1 + max(int(each.max(initial=0)) for each in quarters)
    rows_of_all = whole.between(first, max(first, end))
    rows_of_all.visits = whole.visits
    try:
        values, numbers = in_order(field_texts(rows_of_all, source, field))
        portions = [_columns(rollup, source, numbers) for rollup in rows_of_all.by_rollup()]
    except NotPrepared:
        return NO_ROWS
    of_values, *columns = (np.concatenate(column) for column in zip(*portions, strict=True))
    used, groups = number_keys(of_values.astype(np.int64), len(values))
    return RowIndex([values[i] for i in used.tolist()], index_groups(groups, *columns))


def _columns(rollup: RollupView, source: RowSource, numbers: RowValues) -> Sequence[Numbers]:
    """The number of the value of each row, its visitor, its quarter and its number of events."""
    rows = EventRows(rollup, source)
    return numbers(rows), rows.column(VISITOR_COLUMN), rows.column(QUARTER_COLUMN), rows.counts
