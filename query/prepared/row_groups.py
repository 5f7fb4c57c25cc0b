"""Groups of events with their counts: what custom and metrics queries count.

Groups are columns of rows, attributes of their session, facts of their visit, buckets of time and
date parts. Counted are rows, and distinct visitors, sessions or texts.
"""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, ClassVar, TypeAlias

import msgspec
import numpy as np
from msgspec import Struct, structs

from query.engine.column_rows import Numbers
from query.engine.engine import Row
from query.prepared.array_rows import ArrayRows, Key
from query.prepared.groups_index import distinct_values, number_combinations, sums
from query.prepared.not_prepared import TOO_MANY_GROUPS, NotPrepared
from query.prepared.quarter_hours import (
    QuarterHours,
    by_bucket,
    date_parts,
    whole_range,
    with_local_time,
)
from query.prepared.rollup import QUARTER_COLUMN, SESSION_COLUMN, VISITOR_COLUMN, smallest
from query.prepared.rollup_tables import VISITS
from query.prepared.rollup_view import RollupView
from query.prepared.row_columns import (
    VISIT_FIELDS,
    EventRows,
    FieldTexts,
    RowSource,
    RowValues,
    field_texts,
    in_order,
)
from query.prepared.rows_index import RowIndex, row_index
from query.prepared.shared_ids import TEXT_BYTES
from query.prepared.text_filters import RowFilter, check_evaluations, rows_kept
from query.request.buckets import Granularity
from query.request.date_parts import DatePart
from query.request.filter_struct import Filter, fields_named
from query.request.time_range import TimeRange

MAX_SPACE = 2**17
"""Possible groups up to which each has sums from the start: what is added to stays in the cache."""
MAX_NUMBERS = 24_000_000
"""Rows of more possible groups than that, times their columns and what is counted: they are sorted,
and take 10 to 20 bytes for each."""
MAX_VALUES = 96_000_000
"""The same of fewer groups, of what is counted once in each: 4 bytes for each."""


class RowSums:
    """Sums, and columns of which distinct values are counted, of each group of rows."""

    def __init__(self, sizes: Sequence[int], sum_count: int, value_count: int) -> None:
        """With the number that those of each column are below; without columns is one group."""
        self._sizes = sizes
        self._space = prod(sizes)
        self._is_dense = self._space <= MAX_SPACE
        self._sums = np.zeros((sum_count, self._space if self._is_dense else 0), np.int64)
        self._kept_numbers = 0
        self._keys: list[Numbers] = []
        self._columns: Sequence[list[Numbers]] = [[] for _ in sizes]
        self._summed: Sequence[list[Numbers]] = [[] for _ in range(sum_count)]
        self._values: Sequence[list[Numbers]] = [[] for _ in range(value_count)]

    def add(
        self, columns: Sequence[Numbers], summed: Sequence[Numbers], values: Sequence[Numbers]
    ) -> None:
        """Add the rows of a rollup; NotPrepared when they and the possible groups are too many."""
        of_row = len(values) if self._is_dense else len(columns) + len(summed) + len(values)
        self._kept_numbers += len(summed[0]) * of_row
        if self._kept_numbers > (MAX_VALUES if self._is_dense else MAX_NUMBERS):
            raise NotPrepared(TOO_MANY_GROUPS)
        for kept, own in zip(self._values, values, strict=True):
            kept.append(own)
        if self._is_dense:
            self._add_to_sums(columns, summed)
            return
        for kept, own in zip((*self._columns, *self._summed), (*columns, *summed), strict=True):
            kept.append(own)

    def _add_to_sums(self, columns: Sequence[Numbers], summed: Sequence[Numbers]) -> None:
        keys = columns[0].astype(np.int64) if columns else np.zeros(len(summed[0]), np.int64)
        for own, size in zip(columns[1:], self._sizes[1:], strict=True):
            keys *= size
            keys += own
        if self._values:
            self._keys.append(smallest(keys))
        for i, own in enumerate(summed):
            weights = own if own.max(initial=0) > 1 or not own.all() else None
            self._sums[i] += np.bincount(keys, weights, self._space).astype(np.int64)

    def groups(self) -> "SummedGroups":
        """The groups that have rows, in the order of their columns; of no columns there is one."""
        if not self._is_dense:
            columns = [np.concatenate(each) for each in self._columns]
            sized = list(zip(columns, self._sizes, strict=True))
            found, of_rows = number_combinations(sized, len(columns[0]))
            count = len(found[0])
            added = [sums(of_rows, np.concatenate(each), count) for each in self._summed]
            return SummedGroups(found, added, of_rows, count, self._values)
        at = np.flatnonzero(self._sums[0]) if self._sizes else np.zeros(1, np.int64)
        found = np.unravel_index(at, self._sizes) if self._sizes else ()
        of_rows = np.concatenate(self._keys) if self._keys else np.empty(0, np.int32)
        return SummedGroups(found, list(self._sums[:, at]), of_rows, self._space, self._values, at)


class SummedGroups:
    """The groups of rows that were summed up."""

    def __init__(
        self,
        columns: Sequence[Numbers],
        added: Sequence[Numbers],
        of_rows: Numbers,
        number_count: int,
        values: Sequence[Sequence[Numbers]],
        kept: Numbers | None = None,
    ) -> None:
        self.columns = columns
        """The numbers of each group."""
        self.sums = added
        """By column that was summed: those of each group, which has a row if the first is not 0."""
        self._of_rows = of_rows
        self._number_count = number_count
        self._values = values
        self._kept = kept

    def distinct(self, i: int, value_count: int) -> Numbers:
        """The distinct values of a column in each group, all below `value_count`; 0 is none."""
        values = np.concatenate(self._values[i])
        counts = distinct_values(self._of_rows, values, self._number_count, value_count)
        return counts if self._kept is None else counts[self._kept]


HASHED = {"anonymous_id": VISITOR_COLUMN, "session_id": SESSION_COLUMN}
"""Columns of events that rollups have as numbers."""


Group: TypeAlias = str | Granularity | DatePart
"""A field of rows, or what is told from their time."""


class CountedField(Struct, frozen=True):
    """What is counted: rows, those in which a field has a value, or its distinct values."""

    field: str | None = None
    is_distinct: bool = False


DISTINCT_VISITORS = CountedField("anonymous_id", is_distinct=True)
INDEXED = frozenset((CountedField(), DISTINCT_VISITORS))
"""What an index of rows counts."""


class _Dimension(Struct, frozen=True, eq=False):
    """Values by which rows are grouped, in ascending order with NULL first."""

    values: Sequence[Any]
    numbers: RowValues
    """The number of the value of each row."""


class FoundGroups(Struct, frozen=True, eq=False):
    """Groups of rows, in their order but that NULL comes first."""

    values: Sequence[Sequence[Any]]
    """Of each column of groups, in ascending order."""
    columns: Sequence[Numbers]
    """The number of the value of each group."""
    counts: Sequence[Numbers]
    """What is counted of each."""

    def plus(self, other: "FoundGroups", sign: int = 1) -> "FoundGroups":
        """The sums, or the differences, of groups by one column."""
        values = self.values[0]
        if not {*other.values[0]} <= {*values}:
            texts = {*values, *other.values[0]} - {None}
            values = [None, *sorted(texts)]
        number = {value: i for i, value in enumerate(values)}
        counts = np.zeros((len(self.counts), len(values)), np.int64)
        for groups, factor in ((self, 1), (other, sign)):
            own = [number[groups.values[0][i]] for i in groups.columns[0].tolist()]
            for total, count in zip(counts, groups.counts, strict=True):
                total[own] += factor * count
        return FoundGroups([values], [np.arange(len(values))], [*counts])


class RowGroups(Struct, frozen=True):
    """A row for each group: its values, then what is counted; fields are named by position."""

    source: RowSource
    groups: tuple[Group, ...]
    counted: tuple[CountedField, ...]
    filters: bytes = b"[]"
    """As JSON, so that forms can be compared."""
    having: bytes = b"[]"
    """Filters on what is counted, as JSON."""
    time_range: TimeRange | None = None
    """That of date parts, where groups have any."""
    filter_fields: ClassVar[Mapping[str, int]] = {}
    text_count: ClassVar[int] = 0

    @property
    def fields(self) -> Sequence[str]:
        """The fields of rows that are read."""
        texts = [each for each in self.groups if not isinstance(each, Granularity | DatePart)]
        counted = [each.field for each in self.counted if each.field and each.field not in HASHED]
        filters = [name for each in self._filters for name in fields_named(each)]
        return [*dict.fromkeys((*texts, *counted, *filters))]

    @property
    def tables(self) -> Sequence[str]:
        return self.source.tables_read(self.fields)

    @property
    def visit_tables(self) -> Sequence[str]:
        return [VISITS.name] if any(field in VISIT_FIELDS for field in self.fields) else []

    @property
    def nothing(self) -> Row | None:
        """The row of no rows, where there is one."""
        counts = [np.zeros(1, np.int64) for _ in self.counted]
        return (0,) * len(counts) if not self.groups and self._having(counts).all() else None

    def quarters(self, time_range: TimeRange, granularity: Granularity) -> QuarterHours | None:  # noqa: ARG002
        own = next((each for each in self.groups if isinstance(each, Granularity)), None)
        if own is not None:
            return by_bucket(time_range, own)
        has_part = any(isinstance(each, DatePart) for each in self.groups)
        return with_local_time(time_range) if has_part else whole_range(time_range)

    @property
    def _filters(self) -> Sequence[Filter]:
        return msgspec.json.decode(self.filters, type=list[Filter])

    def rows(self, joined: RollupView, quarters: QuarterHours) -> Sequence[Row]:
        found = self.found(joined, quarters)
        at = np.flatnonzero(self._having(found.counts))
        columns = [each[at] for each in found.columns]
        return array_rows(found.values, columns, [each[at] for each in found.counts])

    def found(self, joined: RollupView, quarters: QuarterHours) -> "FoundGroups":
        """The groups that have rows; NotPrepared when rollups do not determine them."""
        index = self._index(joined)
        return (
            self._read(joined, quarters)
            if index is None
            else self._of_index(joined, index, quarters)
        )

    def _index(self, joined: RollupView) -> RowIndex | None:
        """The index that has all that is counted; None when rows have to be read."""
        if len(self.groups) != 1 or self._filters or not {*self.counted} <= INDEXED:
            return None
        [group] = self.groups
        if isinstance(group, Granularity | DatePart):
            return None
        return row_index(joined, self.source, group)

    def _of_index(
        self, joined: RollupView, index: RowIndex, quarters: QuarterHours
    ) -> "FoundGroups":
        """The groups of an index; visitors with rows without a stored rollup are counted again."""
        plain = structs.replace(self, counted=(CountedField(), DISTINCT_VISITORS))
        counts = index.groups.between(joined.first, joined.end)
        groups = FoundGroups([index.values], [np.arange(len(index.values))], counts)
        if joined.has_unprepared:
            tables = [table.table.name for table in self.source.tables]
            flags = joined.unprepared_flags(tables, VISITOR_COLUMN)
            rows = joined.of_ids(VISITOR_COLUMN, flags, with_rest=True)
            groups = groups.plus(plain._read(rows.stored_only(), quarters), -1)
            groups = groups.plus(plain._read(rows, quarters))
        having = np.flatnonzero(groups.counts[0])
        counted = [groups.counts[each.is_distinct][having] for each in self.counted]
        return FoundGroups(groups.values, [groups.columns[0][having]], counted)

    def _read(self, joined: RollupView, quarters: QuarterHours) -> "FoundGroups":
        """The groups of the rows themselves."""
        texts = {field: field_texts(joined, self.source, field) for field in self.fields}
        dimensions = [self._dimension(each, texts, quarters) for each in self.groups]
        groups = self._summed(joined, texts, dimensions)
        counts = self._counts(joined, texts, groups)
        return FoundGroups([each.values for each in dimensions], groups.columns, counts)

    def _dimension(
        self, group: Group, texts: Mapping[str, FieldTexts], quarters: QuarterHours
    ) -> _Dimension:
        if not isinstance(group, Granularity | DatePart):
            return _Dimension(*in_order(texts[group]))
        values, of_quarters = quarters.numbers, quarters.buckets
        if isinstance(group, DatePart) and self.time_range is not None:
            parts = date_parts(quarters, self.time_range, group)
            found, of_quarters = np.unique(parts, return_inverse=True)
            values = found.tolist()

        def numbers(rows: EventRows) -> Numbers:
            own: Numbers = of_quarters[
                rows.column(QUARTER_COLUMN).astype(np.int64) - quarters.first
            ]
            return own

        return _Dimension(values, numbers)

    def _summed(
        self,
        joined: RollupView,
        texts: Mapping[str, FieldTexts],
        dimensions: Sequence[_Dimension],
    ) -> SummedGroups:
        """The rows of events in each group, and what else is counted."""
        check_evaluations(self._filters, {name: each.texts for name, each in texts.items()})
        conditions = [_Condition(each, texts) for each in self._filters_of_rows_first]
        sums = RowSums(
            [len(each.values) for each in dimensions],
            1 + len(self._of(is_distinct=False)),
            len(self._of(is_distinct=True)),
        )
        having = [_values(each, texts) for each in self._of(is_distinct=False)]
        distinct = [_values(each, texts) for each in self._of(is_distinct=True)]
        for rollup in joined.by_rollup():
            rows = EventRows(rollup, self.source)
            for condition in conditions:
                rows.keep(condition.met(rows))
            columns = [each.numbers(rows) for each in dimensions]
            summed = [rows.counts, *(np.where(of(rows) == 0, 0, rows.counts) for of in having)]
            sums.add(columns, summed, [of(rows) for of in distinct])
        return sums.groups()

    def _of(self, *, is_distinct: bool) -> Sequence[str]:
        """The fields whose distinct values are counted, or the rows that have a value."""
        return [e.field for e in self.counted if e.field and e.is_distinct == is_distinct]

    def _counts(
        self,
        joined: RollupView,
        texts: Mapping[str, FieldTexts],
        groups: SummedGroups,
    ) -> Sequence[Numbers]:
        """What is counted of each group."""
        of_all, *having = groups.sums
        places = iter(range(len(self.counted)))
        sums = iter(having)
        counts = []
        for each in self.counted:
            if each.field is None:
                counts.append(of_all)
            elif each.is_distinct:
                column = HASHED.get(each.field)
                value_count = joined.count(column) if column else len(texts[each.field].texts)
                counts.append(groups.distinct(next(places), value_count))
            else:
                counts.append(next(sums))
        return counts

    @property
    def _filters_of_rows_first(self) -> Sequence[Filter]:
        """The filters, first those on fields that the source itself has."""
        return sorted(
            self._filters, key=lambda each: not all(map(self.source.has, fields_named(each)))
        )

    def _having(self, counts: Sequence[Numbers]) -> Numbers:
        """Which groups meet the filters on what is counted."""
        filters = msgspec.json.decode(self.having, type=list[Filter])
        columns = {}
        for name in set[str]().union(*map(fields_named, filters)):
            values, numbers = np.unique(counts[int(name) - len(self.groups)], return_inverse=True)
            columns[name] = numbers, values.tolist()
        return rows_kept(columns, len(counts[0]), filters)


class _Condition:
    """A filter on rows of any rollup."""

    def __init__(self, filter_: Filter, texts: Mapping[str, FieldTexts]) -> None:
        self._texts = texts
        own = {name: texts[name].texts for name in fields_named(filter_)}
        self._filter = RowFilter([filter_], own)
        self._values: dict[int, RowValues] = {}

    def met(self, rows: EventRows) -> Numbers:
        """Which rows meet it."""

        def of_rows(field: str, flags: Numbers) -> Numbers:
            if id(flags) not in self._values:  # the filter has the same ones for all rows
                self._values[id(flags)] = self._texts[field].values(flags)
            return self._values[id(flags)](rows)

        return self._filter.kept(len(rows.counts), of_rows)


def _values(field: str, texts: Mapping[str, FieldTexts]) -> RowValues:
    """The number of a field of each row; 0 is none."""
    column = HASHED.get(field)
    return texts[field].values() if column is None else lambda rows: rows.column(column)


def array_rows(
    values: Sequence[Sequence[Any]], columns: Sequence[Numbers], counts: Sequence[Numbers]
) -> ArrayRows:
    """The rows, whose own order is that of their groups, NULL last; fields are their positions."""
    row_count = len(counts[0])

    def make(at: Numbers) -> Sequence[Row]:
        own = [
            [each[i] for i in numbers[at].tolist()]
            for each, numbers in zip(values, columns, strict=True)
        ]
        return list(zip(*own, *(each[at].tolist() for each in counts), strict=True))

    absent = {str(i): _is_zero(columns[i]) for i, each in enumerate(values) if each[:1] == [None]}
    own_order = [
        key
        for i, numbers in enumerate(columns)
        for key in (*filter(None, [absent.get(str(i))]), numbers.__getitem__)
    ]
    everything = (*columns, *counts)
    return ArrayRows(
        row_count,
        own_order or [np.zeros(row_count).__getitem__],
        make,
        {str(i): (numbers.__getitem__,) for i, numbers in enumerate(everything)},
        TEXT_BYTES * sum(map(len, values)) + sum(each.nbytes for each in everything),
        absent,
    )


def _is_zero(numbers: Numbers) -> Key:
    def key(at: Numbers) -> Numbers:
        zero: Numbers = numbers[at] == 0
        return zero

    return key
