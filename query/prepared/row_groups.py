"""Groups of rows with their numbers, from parts: what custom queries count.

Groups are texts of rows, of the places of their session, facts of their visit, buckets of time and
date parts. Counted are rows, and distinct visitors, sessions or texts.
"""

from collections.abc import Mapping, Sequence
from math import prod
from typing import ClassVar, TypeAlias

import msgspec
import numpy as np
from msgspec import Struct

from query.engine.column_rows import NO_TEXT, Numbers
from query.engine.engine import Row
from query.prepared.array_rows import ArrayRows, Key
from query.prepared.group_numbers import distinct_values, number_combinations, sums
from query.prepared.joined_parts import JoinedParts
from query.prepared.numbering import WITHOUT
from query.prepared.part import QUARTER_COLUMN, SESSION_COLUMN, VISITOR_COLUMN
from query.prepared.part_tables import VISITS
from query.prepared.quarters import Quarters, by_bucket, date_parts, whole_range, with_local_time
from query.prepared.row_columns import SourceRows, UntoldTexts
from query.prepared.row_sources import VISIT_FIELDS, RowSource
from query.prepared.text_filters import rows_kept
from query.request.buckets import Granularity
from query.request.date_parts import DatePart
from query.request.filter_struct import Filter, fields_named
from query.request.time_range import TimeRange

HASHED = {"anonymous_id": VISITOR_COLUMN, "session_id": SESSION_COLUMN}
"""Columns of events that parts have as numbers."""
MAX_SPACE = 2**21
"""Possible groups up to which each has a number, whether it has rows or not."""


Group: TypeAlias = str | Granularity | DatePart
"""A field of rows, or what is told from their time."""


class Counted(Struct, frozen=True):
    """What is counted: rows, those in which a field has a value, or its distinct values."""

    field: str | None = None
    is_distinct: bool = False


class _Group(Struct, frozen=True, eq=False):
    """A group of rows: the number of each among all values, in ascending order, NULL first."""

    numbers: Numbers
    values: Sequence[object]

    @property
    def size(self) -> int:
        """Bytes in memory, about."""
        return self.numbers.nbytes + 60 * len(self.values)

    def is_absent(self, at: Numbers) -> Numbers:
        """Which rows have no value."""
        has_null = bool(self.values) and self.values[0] is None
        absent: Numbers = (self.numbers[at] == 0) & has_null
        return absent

    def at(self, at: Numbers) -> list[object]:
        """The values of some rows."""
        return [self.values[i] for i in self.numbers[at].tolist()]


class RowGroups(Struct, frozen=True):
    """A row for each group: its values, then what is counted; fields are named by position."""

    source: RowSource
    groups: tuple[Group, ...]
    counted: tuple[Counted, ...]
    time_range: TimeRange
    filters: bytes = b"[]"
    """As JSON, so that forms can be compared."""
    having: bytes = b"[]"
    """Filters on what is counted, as JSON."""
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

    def quarters(self, time_range: TimeRange, granularity: Granularity) -> Quarters | None:  # noqa: ARG002
        own = next((each for each in self.groups if isinstance(each, Granularity)), None)
        if own is not None:
            return by_bucket(time_range, own)
        has_part = any(isinstance(each, DatePart) for each in self.groups)
        return with_local_time(time_range) if has_part else whole_range(time_range)

    @property
    def _filters(self) -> Sequence[Filter]:
        return msgspec.json.decode(self.filters, type=list[Filter])

    def rows(self, joined: JoinedParts, quarters: Quarters) -> Sequence[Row] | None:
        try:
            rows = SourceRows(joined, self.source, self._filters)
            groups = [self._group(rows, each, quarters) for each in self.groups]
            numbers, of_rows, count = _numbered(groups, rows.row_count)
            counts = [_count(joined, rows, each, of_rows, count) for each in self.counted]
        except UntoldTexts:
            return None
        kept = self._having(counts)
        if groups:
            kept &= np.bincount(of_rows, minlength=count) > 0
        at = np.flatnonzero(kept)
        named = [_Group(own[at], each.values) for own, each in zip(numbers, groups, strict=True)]
        return _array_rows(named, [each[at] for each in counts])

    def _having(self, counts: Sequence[Numbers]) -> Numbers:
        """Which groups meet the filters on what is counted."""
        filters = msgspec.json.decode(self.having, type=list[Filter])
        columns = {}
        for name in set[str]().union(*map(fields_named, filters)):
            values, numbers = np.unique(counts[int(name) - len(self.groups)], return_inverse=True)
            columns[name] = numbers, values.tolist()
        return rows_kept(columns, len(counts[0]), filters)

    def _group(self, rows: SourceRows, field: Group, quarters: Quarters) -> _Group:
        if isinstance(field, Granularity):
            of_rows = rows.numbers(QUARTER_COLUMN).astype(np.int64) - quarters.first
            return _Group(quarters.buckets[of_rows], quarters.numbers)
        if isinstance(field, DatePart):
            of_quarters = date_parts(quarters, self.time_range, field)
            values, numbers = np.unique(of_quarters, return_inverse=True)
            of_rows = rows.numbers(QUARTER_COLUMN).astype(np.int64) - quarters.first
            return _Group(numbers[of_rows], values.tolist())
        numbers, texts = rows.texts(field)
        ordered = [None, *sorted(text for text in texts if text is not None)]
        place = {text: i for i, text in enumerate(ordered)}
        mapping = np.array([place[text] for text in texts], np.min_scalar_type(len(texts)))
        return _Group(mapping[numbers], ordered)


def _numbered(groups: Sequence[_Group], row_count: int) -> tuple[Sequence[Numbers], Numbers, int]:
    """The numbers of the values of each group, the group of each row, and the number of groups."""
    sizes = [len(each.values) for each in groups]
    space = prod(sizes)
    if space > MAX_SPACE or space > max(1, row_count):
        columns = [(each.numbers, size) for each, size in zip(groups, sizes, strict=True)]
        found, of_rows = number_combinations(columns, row_count)
        return found, of_rows, len(found[0])
    of_rows = np.zeros(row_count, np.int32)
    for each, size in zip(groups, sizes, strict=True):
        of_rows *= size
        of_rows += each.numbers.astype(np.int32)
    return np.unravel_index(np.arange(space), sizes) if groups else (), of_rows, space


def _count(
    joined: JoinedParts, rows: SourceRows, counted: Counted, groups: Numbers, count: int
) -> Numbers:
    """What is counted of each group."""
    if counted.field is None:
        return sums(groups, rows.counts, count)
    column = HASHED.get(counted.field)
    if column is not None:
        values, value_count, none = rows.numbers(column), joined.count(column), WITHOUT
    else:
        values, texts = rows.texts(counted.field)
        value_count, none = len(texts), NO_TEXT
    if counted.is_distinct:
        return distinct_values(groups, values, count, value_count)
    return sums(groups, np.where(values == none, 0, rows.counts), count)


def _array_rows(groups: Sequence[_Group], counts: Sequence[Numbers]) -> ArrayRows:
    """The rows, whose own order is that of their groups, NULL last."""
    count = len(counts[0])

    def make(at: Numbers) -> Sequence[Row]:
        own = [each.at(at) for each in groups]
        return list(zip(*own, *(each[at].tolist() for each in counts), strict=True))

    columns = [*(each.numbers for each in groups), *counts]
    own_order: list[Key] = [key for g in groups for key in (g.is_absent, g.numbers.__getitem__)]
    return ArrayRows(
        count,
        own_order or [np.zeros(count).__getitem__],
        make,
        {str(i): (values.__getitem__,) for i, values in enumerate(columns)},
        sum(each.size for each in groups) + sum(each.nbytes for each in counts),
        {str(i): each.is_absent for i, each in enumerate(groups)},
    )
